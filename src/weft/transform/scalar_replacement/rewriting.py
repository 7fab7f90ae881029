"""Putting the answers into the program: φs for states, loads where they are missing, values in the place of loads.

A state that a replaced load needs becomes a φ at the beginning of its block, whose operands are the answers of the
predecessors. Around a loop these φs rotate over the distance: the value of ``a[i + 2]`` becomes that of ``a[i + 1]``
and then of ``a[i]``. φs of one value go, but those that close a loop stay: the program is loop-closed before and
behind. Loads that only the threads of a condition do stand in an arm of their own::

    source ─▶ target         source ──condition──▶ masked ─▶ mask ─▶ target
                                └───────────────────────────▶ ↑
"""

from __future__ import annotations

from math import gcd

from msgspec import Struct, field

from weft.analysis.questions.assumptions import AnyOf
from weft.analysis.questions.graph import Asked, Found, Source, State, Unreached
from weft.analysis.questions.places import Place
from weft.analysis.questions.solution import Insertion, Solution
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import Argument, BasicBlock, Builder, Function, GlobalVariable, Instruction, Poison, Value
from weft.ir.cfg_edit import replace_and_erase, split_edge
from weft.ir.cfg_view import cfg_of
from weft.ir.types import VOID
from weft.transform.scalar_replacement.addresses import build_address, build_condition
from weft.transform.scalar_replacement.loop_entry import guard_entry

_CLAIMS = ("range", "nonnull", "noundef", "align", "invariant.group")
"""What a load may say of its value: behind other loads nobody said so."""

Edge = tuple[BasicBlock, BasicBlock]


class Rewriting(Struct):
    """One replacement of loads.

    Parameters
    ----------
    solution
        The answers.

    Attributes
    ----------
    inserted
        The loads that were inserted.
    phis
        The φs that were made and stayed.
    """

    solution: Solution
    inserted: list[Instruction] = field(default_factory=list)
    phis: dict[Instruction, None] = field(default_factory=dict)
    _of_state: dict[State, Instruction] = field(default_factory=dict)
    _on_edge: dict[Insertion, Value] = field(default_factory=dict)
    _room: dict[tuple[Edge, bool, AnyOf], BasicBlock] = field(default_factory=dict)
    _begun: dict[Edge, BasicBlock] = field(default_factory=dict)
    _joins: dict[Edge, BasicBlock] = field(default_factory=dict)
    _comes_from: dict[Edge, BasicBlock] = field(default_factory=dict)

    def apply(self) -> list[Instruction]:
        """Replace the loads; return them, erased."""
        solution = self.solution
        loads = solution.replaced
        if not loads:
            return []
        function = loads[0].function
        examples = self._examples(loads)
        missing = solution.insertions(solution.demanded())
        new: dict[Insertion, Instruction] = {}
        for state, insertions in missing.items():
            for insertion in insertions.values():
                like = new.setdefault(insertion, examples[state])
                new[insertion] = min(like, examples[state], key=lambda load: load.alignment)
        for insertion in new:
            self._make_room(insertion)
        for insertion in new:
            if insertion.tested:
                self._make_arm(insertion)
        for state in missing:
            name = f"{examples[state].name}.known" if examples[state].name else ""
            phi = Instruction("phi", state.place.type, name=name, loc=examples[state].loc)
            self._of_state[state] = state.block.insert(0, phi)
        for insertion, like in new.items():
            self._on_edge[insertion] = self._loaded(insertion, like)
        for state, insertions in missing.items():
            self._fill(state, insertions)
        values = {load: self._value(solution.graph.origins[load]) for load in loads}
        for load in loads:
            load.replace_all_uses(_final(load, values))
        for load in loads:
            load.erase()
        self.phis = dict.fromkeys(self._of_state.values())
        _simplify(function, self.phis)
        return loads

    def _examples(self, loads: list[Instruction]) -> dict[State, Instruction]:
        """For each state the load of least alignment that needs it: what is inserted looks like it."""
        found: dict[State, Instruction] = {}
        for load in loads:
            for state in self.solution.demanded((load,)):
                if state not in found or load.alignment < found[state].alignment:
                    found[state] = load
        return found

    def _make_room(self, insertion: Insertion) -> None:
        """Have a block for loads on the edge, before anything else changes."""
        edge = insertion.source, insertion.target
        key = edge, insertion.guarded, ()
        if key in self._room:
            return
        if insertion.guarded:
            first = self.solution.rules.entered(*edge)
            assert first is not None
            self._room[key], join = guard_entry(*edge, first)
            self._begun[edge], self._joins[edge], self._comes_from[edge] = self._room[key], join, join
        elif len(insertion.source.successors) == 1 or edge in self._joins:
            self._room[key] = insertion.source
        else:
            self._room[key] = self._comes_from[edge] = split_edge(*edge)

    def _make_arm(self, insertion: Insertion) -> None:
        """Have a block for the loads of a condition on the edge, behind those that are done without one."""
        edge = insertion.source, insertion.target
        key = edge, insertion.guarded, insertion.tested
        if key in self._room:
            return
        if insertion.guarded:
            before = self._begun[edge]
            join = self._begun[edge] = split_edge(before, self._joins[edge], f"{before.name}.mask")
        else:
            before = self._comes_from.get(edge, insertion.source)
            join = self._comes_from[edge] = split_edge(before, insertion.target, f"{before.name}.mask")
        function, loc = before.function, before.terminator.loc
        assert function is not None
        arm = self._room[key] = function.add_block(f"{before.name}.masked", after=before)
        arm.append(Instruction("br", VOID, blocks=(join,), loc=loc))
        condition = build_condition(insertion.tested, Builder(before=before.terminator))
        before.terminator.erase()
        before.append(Instruction("br", VOID, (condition,), blocks=(arm, join), loc=loc))

    def _fill(self, state: State, insertions: dict[BasicBlock, Insertion]) -> None:
        phi = self._of_state[state]
        for source, answer in self.solution.graph.sources[state]:
            insertion = insertions.get(source)
            if isinstance(answer, Unreached):
                value: Value = Poison(phi.type)
            else:
                value = self._value(answer) if insertion is None else self._on_edge[insertion]
            at = self._comes_from.get((source, state.block), source)
            for target in at.terminator.successors:
                if target is state.block:
                    phi.add_incoming(value, at)

    def _value(self, source: Source) -> Value:
        if isinstance(source, Found):
            if source.by.op == "load":
                for claim in _CLAIMS:
                    source.by.set_metadata(claim, None)
            return source.value
        assert isinstance(source, Asked)
        return self._of_state[source.state]

    def _loaded(self, insertion: Insertion, like: Instruction) -> Value:
        """What is read on an edge, as it is known at the end of it."""
        edge = insertion.source, insertion.target
        room = self._room[edge, insertion.guarded, insertion.tested]
        known = load = insert_load(insertion.place, room, like, like.alignment)
        self.inserted.append(load)
        if insertion.tested:
            known = _joined(known, room, room.successors[0], f"{load.name}.masked")
        if insertion.guarded:
            known = _joined(known, self._begun[edge], self._joins[edge], f"{load.name}.entered")
        return known


def _joined(value: Instruction, source: BasicBlock, join: BasicBlock, name: str) -> Instruction:
    """A value that only threads from `source` have, where these meet others."""
    phi = join.insert(0, Instruction("phi", value.type, name=name, loc=value.loc))
    for block in join.predecessors:
        phi.add_incoming(value if block is source else Poison(value.type), block)
    return phi


def insert_load(
    place: Place, block: BasicBlock, like: Instruction, align: int, suffix: str = "read"
) -> Instruction:
    """Read a place at the end of a block, before its branch, as `like` reads it, by whose name it is called."""
    builder = Builder(before=block.terminator)
    builder.loc = like.loc
    address = build_address(place, builder)
    return builder.load(place.type, address, align, name=f"{like.name}.{suffix}" if like.name else "")


def known_alignment(place: Place, function: Function, most: int) -> int:
    """The alignment, at most `most`, of a place that other threads than before read."""
    align = most
    for _, coefficient in place.terms:
        align = gcd(align, coefficient)
    return gcd(align, place.offset, _base_alignment(place.base, function))


def _base_alignment(base: Value, function: Function) -> int:
    if isinstance(base, Instruction) and base.op == "alloca":
        return base.attrs.get("align") or function.layout.align(base.allocated_type)
    if isinstance(base, GlobalVariable):
        return base.linkage.align or function.layout.align(base.value_type)
    if isinstance(base, Argument):
        return max((int(text.split()[1]) for text in base.attributes if text.startswith("align ")), default=1)
    return 1


def _final(load: Instruction, values: dict[Instruction, Value]) -> Value:
    value: Value = values[load]
    while isinstance(value, Instruction) and value in values:
        value = values[value]
    return value


def _simplify(function: Function, phis: dict[Instruction, None]) -> None:
    """Remove φs of one value, but those behind a loop that the value comes from.

    Where no thread that asks comes from, any value will do that is there.
    """
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    loops = loop_forest(view.cfg)
    pending = dict(phis)
    while pending:
        phi, _ = pending.popitem()
        values = {v: None for v in phi.operands if v is not phi and not isinstance(v, Poison)}
        if phi not in phis or len(values) != 1:
            continue
        value = next(iter(values))
        if isinstance(value, Instruction):
            assert value.block is not None and phi.block is not None
            here, there = view.index[value.block], view.index[phi.block]
            if any(isinstance(v, Poison) for v in phi.operands) and (
                here == there or not dominators.dominates(here, there)
            ):
                continue
            loop = loops.innermost[view.index[value.block]]
            if loop is not None and view.index[phi.block] not in loop.blocks:
                continue
        pending.update((u, None) for u in phi.instruction_users() if u in phis and u is not phi)
        del phis[phi]
        replace_and_erase(phi, value)

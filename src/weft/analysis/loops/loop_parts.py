"""What an innermost loop's body consists of, and what of it has to be done before what (loop distribution).

The program dependence graph of one loop (Ferrante, Ottenstein and Warren), over its *nodes*: what it stores, loads of
objects that it writes, φs that hand something on, and all that is worth handing from one loop to another. Everything
else is *spare*: counters, addresses, loads of what the loop does not write, short integer arithmetic. It is computed
again wherever it is needed. An edge leads from a node to another one that needs its value, that runs under a condition
which it decides, or that has to come behind it because both touch memory, in the same iteration or in a later one.

Nodes that depend on each other in a circle are a *component* (Kennedy and Allen, *Optimizing Compilers for Modern
Architectures*, §2.4): if something is handed on in it, its iterations run in order. `LoopBody` states the graph;
`LoopBody.slice` says what a loop over some of the nodes has to keep (Weiser's slice), and what it is to be given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counters_of
from weft.graph.cfg import strongly_connected_components
from weft.graph.control_dependence import control_dependence
from weft.graph.dominators import DominatorTree, dominator_tree, post_dominator_tree
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, may_read, may_write
from weft.ir.types import FloatType, IntType

MOST_NODES = 200
"""Greater bodies are not looked at."""

_SPARE = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "shl", "lshr", "ashr", "icmp"), 1),
    **dict.fromkeys(("sext", "zext", "trunc", "getelementptr", "freeze"), 0),
    "load": 1,
    "mul": 2,
}
_MOST_SPARE = 4
"""So much work at most is done again rather than handed on."""


class Component(Struct, frozen=True):
    """Nodes that depend on each other.

    Parameters
    ----------
    nodes
        The instructions, in the order of the body.
    in_order
        Whether iterations hand something on in it.
    """

    nodes: tuple[Instruction, ...]
    in_order: bool


class Slice(Struct, frozen=True):
    """What a loop over some of the nodes holds.

    Parameters
    ----------
    kept
        Instructions, the nodes among them.
    given
        Nodes of other loops whose values it uses.
    branches
        Blocks whose branches it keeps.
    """

    kept: frozenset[Instruction]
    given: tuple[Instruction, ...]
    branches: frozenset[BasicBlock]


@dataclass(slots=True)
class LoopBody:
    """The dependence graph of a loop.

    Parameters
    ----------
    view, loop
        The loop, in a loop-closed function.
    combined
        φs of its header that may be combined in any order.
    before
        Pairs of accesses of which the first has to come first.
    again
        Those of them of which the second comes in a later iteration, and lanes in lock step would not keep that.
    """

    view: CFGView
    loop: CountedLoop
    combined: Collection[Instruction]
    before: Collection[tuple[Instruction, Instruction]]
    again: Collection[tuple[Instruction, Instruction]]
    order: dict[Instruction, int] = field(default_factory=dict, init=False)
    edges: dict[Instruction, set[Instruction]] = field(default_factory=dict, init=False)
    _inside: set[BasicBlock] = field(init=False)
    _spare: dict[Instruction, int] = field(default_factory=dict, init=False)
    _deciding: dict[BasicBlock, tuple[BasicBlock, ...]] = field(default_factory=dict, init=False)
    _after: DominatorTree = field(init=False)
    _dominators: DominatorTree = field(init=False)

    def __post_init__(self) -> None:
        self._inside = set(self.loop.blocks)
        self._after = post_dominator_tree(self.view.cfg)
        self._dominators = dominator_tree(self.view.cfg)

    def build(self) -> bool:
        """Build the graph; False for a body that is not of this kind."""
        loop = self.loop
        if not self._is_plain():
            return False
        self._decide()
        ordered = self.blocks_in_order()
        self.order = {i: n for n, i in enumerate(i for b in ordered for i in b.instructions)}
        counters = {c.phi for c in counters_of(loop.header, loop.preheader, loop.latch)}
        accessed = {i for pair in self.before for i in pair}
        for instruction in self.order:
            if instruction.is_terminator or (
                instruction.block is loop.header and (not instruction.is_phi or instruction in counters)
            ):
                self._spare[instruction] = 0
            elif not instruction.is_phi and instruction.op != "store" and instruction not in accessed:
                work = self._spare_work(instruction)
                if work <= _MOST_SPARE:
                    self._spare[instruction] = work
        nodes = [i for i in self.order if i not in self._spare]
        if len(nodes) > MOST_NODES or not all(i.op == "store" or _can_be_handed_on(i) for i in nodes):
            return False
        self.edges = {node: set(self._reached(node)) for node in nodes}
        for first, second in self.before:
            self.edges[second].add(first)
        return True

    def components(self) -> list[Component]:
        """The components, each behind those that it depends on."""
        nodes = list(self.edges)
        number = {node: n for n, node in enumerate(nodes)}
        following: list[list[int]] = [[] for _ in nodes]
        for node, needed in self.edges.items():
            for other in needed:
                following[number[other]].append(number[node])
        carried = set(self.again)
        found: list[Component] = []
        for members in reversed(strongly_connected_components(following, range(len(nodes)))):
            mine = {nodes[n] for n in members}
            phis = [i for i in mine if i.is_phi and i.block is self.loop.header]
            circle = len(mine) > 1 or any(node in self.edges[node] for node in mine)
            if phis:
                in_order = not all(phi in self.combined for phi in phis)
                in_order |= any(i.op in ("load", "store") for i in mine)
            else:
                in_order = circle
            in_order |= any(first in mine and second in mine for first, second in carried)
            found.append(Component(tuple(sorted(mine, key=self.order.__getitem__)), in_order))
        return found

    def slice(self, nodes: Collection[Instruction]) -> Slice:
        """What a loop over these nodes has to keep, and what other loops give it."""
        loop, mine = self.loop, set(nodes)
        kept: dict[Instruction, None] = {}
        given: dict[Instruction, None] = {}
        branches: set[BasicBlock] = set()
        work: list[Instruction] = list(mine)
        while work:
            instruction = work.pop()
            if instruction in kept or instruction in given:
                continue
            if instruction in self._spare or instruction in mine:
                kept[instruction] = None
                work += self._operands(instruction)
                deciding = self._decided_by(instruction)
            else:
                given[instruction] = None
                assert instruction.block is not None
                deciding = self._deciding[instruction.block]
            for block in deciding:
                branches.add(block)
                work += self._operands(block.terminator)
        assert loop.header not in branches
        return Slice(frozenset(kept), tuple(sorted(given, key=self.order.__getitem__)), frozenset(branches))

    def blocks_in_order(self) -> list[BasicBlock]:
        """The blocks of the body, each behind those that come to it."""
        done: list[BasicBlock] = []
        seen: set[BasicBlock] = set()
        stack: list[tuple[BasicBlock, int]] = [(self.loop.header, 0)]
        seen.add(self.loop.header)
        while stack:
            block, place = stack.pop()
            following = block.successors
            while place < len(following) and (
                following[place] in seen or following[place] not in self._inside
            ):
                place += 1
            if place == len(following):
                done.append(block)
                continue
            stack.append((block, place + 1))
            seen.add(following[place])
            stack.append((following[place], 0))
        return done[::-1]

    def behind(self, block: BasicBlock) -> BasicBlock:
        """Where all ways from a block meet again."""
        return self.view.blocks[self._after.idom[self.view.index[block]]]

    def _is_plain(self) -> bool:
        """Whether the header only counts and tests, what comes behind uses only φs, and all can be copied."""
        loop = self.loop
        if not loop.top_tested or loop.tests_next:
            return False
        header, branch = loop.header, loop.header.terminator
        (test,) = branch.operands
        if [i for i in header.non_phis() if i is not loop.counter.following] != [test, branch]:
            return False
        if not isinstance(test, Instruction) or list(test.instruction_users()) != [branch]:
            return False
        phis = set(header.phis())
        for block in loop.blocks:
            for i in block.instructions:
                if i not in phis and any(u.block not in self._inside for u in i.instruction_users()):
                    return False
                if i.is_terminator:
                    if i.op not in ("br", "switch"):
                        return False
                elif i.op == "alloca" or is_convergent(i) or _does_more(i):
                    return False
        return True

    def _spare_work(self, instruction: Instruction) -> int:
        """What it takes to compute a value again; much where that is none of its kind."""
        work = _SPARE.get(instruction.op)
        if work is None:
            return _MOST_SPARE + 1
        for operand in instruction.operands:
            if self._is_own(operand):
                assert isinstance(operand, Instruction)
                work += self._spare.get(operand, _MOST_SPARE + 1)
        return work

    def _decide(self) -> None:
        """Find which branches decide whether blocks run, and which way is taken to where ways meet."""
        view, header = self.view, self.loop.header
        on = control_dependence(view.cfg, self._after).on
        for block in self.loop.blocks:
            found: dict[BasicBlock, None] = {}
            work = [block]
            while work:
                for number in on[view.index[work.pop()]]:
                    other = view.blocks[number]
                    if other is not header and other in self._inside and other not in found:
                        found[other] = None
                        work.append(other)
            self._deciding[block] = tuple(found)

    def _decided_by(self, instruction: Instruction) -> Iterable[BasicBlock]:
        """Blocks whose branches decide whether an instruction runs, and which value a φ has."""
        block = instruction.block
        assert block is not None
        if not instruction.is_phi or block is self.loop.header:
            return self._deciding[block]
        found = dict.fromkeys(self._deciding[block])
        first = self.view.blocks[self._dominators.idom[self.view.index[block]]]
        work, seen = list(block.predecessors), {block}
        while work:
            other = work.pop()
            if other in seen:
                continue
            seen.add(other)
            if len(other.successors) > 1:
                found[other] = None
            found.update(dict.fromkeys(self._deciding[other]))
            if other is not first:
                work += other.predecessors
        found.pop(self.loop.header, None)
        return found

    def _is_own(self, value: Value) -> bool:
        return isinstance(value, Instruction) and value.block in self._inside

    def _operands(self, instruction: Instruction) -> list[Instruction]:
        return [v for v in instruction.operands if isinstance(v, Instruction) and v.block in self._inside]

    def _asked(self, instruction: Instruction) -> list[Instruction]:
        """What an instruction needs first: its operands, and what decides whether it runs."""
        needed = self._operands(instruction)
        for block in self._decided_by(instruction):
            needed += self._operands(block.terminator)
        return needed

    def _reached(self, node: Instruction) -> frozenset[Instruction]:
        """The nodes that a node needs, through what is spare."""
        found: set[Instruction] = set()
        seen: set[Instruction] = set()
        work = self._asked(node)
        while work:
            other = work.pop()
            if other in seen:
                continue
            seen.add(other)
            if other in self._spare:
                work += self._asked(other)
            else:
                found.add(other)
        return frozenset(found)


def _does_more(instruction: Instruction) -> bool:
    """Whether an instruction does something to memory that is not described."""
    return (may_read(instruction) or may_write(instruction)) and not instruction.is_plain_access


def _can_be_handed_on(value: Instruction) -> bool:
    type = value.type
    return isinstance(type, FloatType) or (isinstance(type, IntType) and type.bits in (1, 8, 16, 32, 64))


Assignment = dict[Component, int]
"""Which loop each component is in: even ones run in lanes, odd ones in order."""


def assign(
    body: LoopBody, components: Iterable[Component], is_in_order: Callable[[Component], bool]
) -> Assignment:
    """Put each component into the first loop that it may be in."""
    home: dict[Instruction, Component] = {}
    placed: Assignment = {}
    backward: dict[Instruction, set[Instruction]] = {}
    for first, second in body.again:
        backward.setdefault(second, set()).add(first)
    for component in components:
        home.update(dict.fromkeys(component.nodes, component))
    for component in components:
        in_order = is_in_order(component)
        least = 1 if in_order else 0
        for node in component.nodes:
            for other in body.edges[node]:
                if home[other] is component:
                    continue
                needed = placed[home[other]]
                if needed % 2 == 0 and not in_order and other in backward.get(node, ()):
                    # Lanes of one loop would turn them around.
                    needed += 2
                least = max(least, needed)
        placed[component] = least + (least % 2 != in_order)
    return placed


def last_place(body: LoopBody, placed: Assignment, component: Component) -> int:
    """The last loop that what lanes run may be in, before all that needs it."""
    last = max(placed.values())
    mine = set(component.nodes)
    turned = {second: first for first, second in body.again if first in mine}
    for other, number in placed.items():
        if other is component:
            continue
        for node in other.nodes:
            if mine & body.edges[node]:
                last = min(last, number - 2 if number % 2 == 0 and node in turned else number)
    return last - last % 2

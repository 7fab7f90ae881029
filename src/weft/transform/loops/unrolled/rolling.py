"""The loop that is made of an unrolled one: a head with the test, and a body with one round."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.constants import Poison
from weft.ir.effects import is_speculatable
from weft.ir.types import I32, I64, Type
from weft.transform.loops.head_tests import drop_guard
from weft.transform.loops.unrolled.rounds import Line, Parts, line_steps
from weft.transform.loops.unrolled.sums import Sum, each_round, plus, quotient, scaled
from weft.transform.loops.unrolled.terms import Terms

_COMPUTED = ("add", "sub", "mul", "shl", "sext", "zext", "or")
_LONGEST = 8
_INTEGER_FLAGS = frozenset(("nsw", "nuw", "exact", "disjoint", "nneg", "inbounds", "nusw", "samesign"))
_VALUE_PROMISES = frozenset(
    ("range", "nonnull", "noundef", "align", "dereferenceable", "dereferenceable_or_null")
)


class Counter(Struct, frozen=True):
    """What counts the rounds.

    Parameters
    ----------
    first, bound, step
        It goes from `first` to below `bound`, by `step`; of 32 bits each, or of 64 with a step of one.
    """

    first: Value
    bound: Value
    step: Value


def roll(function: Function, parts: Parts, counter: Counter) -> BasicBlock | None:
    """Put a loop in the place of those that do the same; its head, None where that cannot be."""
    made = _Rolling(function, parts, counter)
    if not made.is_possible():
        return None
    made.build()
    return made.head


class _Rolling:
    """The blocks of the loop."""

    def __init__(self, function: Function, parts: Parts, counter: Counter) -> None:
        self.function, self.parts, self.counter = function, parts, counter
        pair = self.pair = parts.pair
        self.rolled = pair.second if parts.unrolled_first else pair.first
        self.phis = list(pair.middle.phis()) if self.rolled is None else self.rolled.phis
        self.lines = self._lines()
        self.ahead = self._ahead()
        self.leaves = self._leaves()
        self.again = self._again()
        self.copied: dict[Value, Value] = {}
        self.aligns = least_aligns(pair.blocks)

    def _lines(self) -> dict[Instruction, Line]:
        """The φs of the body that grow by the same."""
        pair, parts = self.pair, self.parts
        if self.rolled is None or self.rolled is pair.first:
            return {p: parts.lines[p] for p in self.phis if p in parts.lines}
        steps = line_steps(self.rolled, parts.plain())
        return {p: Line(self.rolled.first(p), s) for p, s in steps.items() if parts.line_of(p) is not None}

    def _ahead(self) -> list[Instruction]:
        """What is computed before the body's loop for it."""
        if self.rolled is None:
            return []
        blocks = [self.rolled.preheader]
        if self.rolled is self.pair.second:
            blocks.insert(0, self.pair.middle)
        return [i for b in blocks for i in b.non_phis() if not i.is_terminator]

    def _leaves(self) -> list[Value]:
        """What is the counter at first."""
        first = self.counter.first
        if isinstance(first, ConstInt):
            first = Poison(first.type)
        found = [
            phi
            for phi, line in self.parts.lines.items()
            if line.first is first and phi.block is self.pair.middle
        ]
        if isinstance(first, Instruction) and first.op == "trunc" and "nuw" in first.flags:
            found += [v for v in first.operands if v.type == I64]
        return [*found, first]

    def _counted(self, builder: Builder, type: Type, count: Instruction) -> Value:
        """The counter as a number of 32 or 64 bits."""
        flags = ("nsw",) if self.counter.first.type == I32 else ()
        return count if type == I64 else builder.cast("trunc", count, I32, flags)

    def _again(self) -> dict[Instruction, list[Instruction]]:
        """Addresses that are no multiples of the counter, and what computes them of it in each round.

        So it is seen how they depend on the thread.
        """
        parts, plain, counter = self.parts, self.parts.plain(), self.counter
        found: dict[Instruction, list[Instruction]] = {}
        sums: dict[Value, Sum] = {}
        known: dict[Value, Sum] = {}
        for leaf in self.leaves:
            bits = 64 if leaf.type == I64 else 32
            step = each_round(Sum(plain.of(counter.step).products, bits))
            known[leaf] = plus(Sum(plain.of(counter.first).products, bits), step)
        for phi, line in self.lines.items():
            code = _code_of(line.first, set(self.leaves))
            if self._of_counter(phi, line) is not None or phi.type != I64 or not code:
                continue
            made = Terms(self.function, parts.atoms, dict(known)).of(line.first)
            before = parts.line_of(phi)
            if before is not None and plain.place_in(made, 0).key == plain.place_in(before, 0).key:
                found[phi], sums[phi] = code, made
        return found if found and parts.is_same_with(sums) else {}

    def is_possible(self) -> bool:
        """Whether all that is used behind the loops can be had from the new one."""
        pair, parts = self.pair, self.parts
        if not all(is_speculatable(i) for i in self.ahead):
            return False
        if self.rolled is None and not all(self._of_counter(p, line) for p, line in self.lines.items()):
            return False
        second = pair.second
        for phi in pair.after.phis():
            value = phi.incoming_value(pair.middle)
            if second is None:
                ends = [phi.incoming_value(b) for b in pair.chain]
            else:
                ends = [second.handed_on(phi.incoming_value(second.exit))]
            if not isinstance(value, Instruction) or value.block is not pair.middle or not value.is_phi:
                same = not isinstance(value, Instruction) or value.block not in pair.blocks
                if not same or any(e is not value and e != value for e in ends):
                    return False
            elif value in parts.state:
                if second is not None and not any(
                    parts.state.get(p) == parts.state[value] and second.following(p) is ends[0]
                    for p in second.phis
                ):
                    return False
            else:
                return False
        return True

    def build(self) -> None:
        """Make the blocks, and take the others away."""
        pair, function, counter = self.pair, self.function, self.counter
        before = function.add_block(f"{pair.before.name}.rounds", pair.before)
        self.head = function.add_block(f"{pair.before.name}.head", before)
        body = function.add_block(f"{pair.before.name}.round", self.head)
        loc = pair.before.terminator.loc
        ahead, test, round = Builder(before), Builder(self.head), Builder(body)
        ahead.loc = test.loc = round.loc = loc
        starts: dict[Value, Value] = {p: p.incoming_value(pair.before) for p in pair.middle.phis()}
        for i in self.ahead:
            starts[i] = copied(i, ahead, starts)
        first, bound = wide(counter.first, ahead, "sext"), wide(counter.bound, ahead, "sext")
        step = wide(counter.step, ahead, "zext")
        count = test.phi(I64, "count")
        self.copied = {i: starts[i] for i in self.ahead}
        here: dict[Value, Value] = dict(self.copied)
        kept: list[tuple[Instruction, Instruction]] = []
        for phi in self.phis:
            line = self.lines.get(phi)
            if line is not None:
                here[phi] = self._on_line(round, phi, line, count) or Poison(phi.type)
                if not isinstance(here[phi], Poison):
                    continue
            elif phi not in self.parts.state:
                here[phi] = Poison(phi.type)
                continue
            copy = here[phi] = test.phi(phi.type, phi.name)
            kept.append((phi, copy))
        test.cond_br(test.icmp("slt", count, bound), body, pair.after)
        for i in self.parts.code():
            copy = here[i] = copied(i, round, here)
            if i in self.aligns:
                copy.attrs["align"] = self.aligns[i]
        following = round.binary("add", count, step, ("nsw",))
        round.br(self.head)
        count.add_incoming(first, before)
        count.add_incoming(following, body)
        nexts = self._nexts()
        for phi, copy in kept:
            start = self.rolled.first(phi) if self.rolled is not None else phi
            copy.add_incoming(starts.get(start, start), before)
            copy.add_incoming(here.get(nexts[phi], nexts[phi]), body)
        ahead.br(self.head)
        self._lead_on({self.parts.state[phi]: copy for phi, copy in kept if phi in self.parts.state})
        pair.before.terminator.erase()
        Builder(pair.before).br(before)
        pair.before.terminator.loc = loc
        remove_unreachable_blocks(function)
        remove_dead_instructions(function)
        drop_guard(self.head, before, pair.after, (counter.first, "slt", counter.bound))
        remove_dead_instructions(function)

    def _nexts(self) -> dict[Instruction, Value]:
        """What the φs of the body are in the next round."""
        if self.rolled is not None:
            return {p: self.rolled.following(p) for p in self.phis}
        ends = self.parts.next_states()
        return {p: ends[k] for p, k in self.parts.state.items() if p in self.phis}

    def _of_counter(self, phi: Instruction, line: Line) -> tuple[int, int] | None:
        """How often the counter, and how much more, something that grows by the same is; None where it is not."""
        plain, known = self.parts.plain(), self.parts.line_of(phi)
        by = Sum(plain.of(self.counter.step).products, line.step.bits)
        times = quotient(line.step, by)
        if times is None or known is None or phi.type not in (I32, I64):
            return None
        start = self.parts.start_of(known)
        at_first = scaled(Sum(plain.of(self.counter.first).products, start.bits), times)
        more = plus(start, at_first, -1).constant
        return None if more is None else (times, more)

    def _on_line(self, builder: Builder, phi: Instruction, line: Line, count: Instruction) -> Value | None:
        if phi in self.again:
            values = self.copied | {leaf: self._counted(builder, leaf.type, count) for leaf in self.leaves}
            for i in self.again[phi]:
                values[i] = copied(i, builder, values)
            return values[line.first]
        found = self._of_counter(phi, line)
        if found is None:
            return None
        times, more = found
        value = self._counted(builder, phi.type, count)
        if times != 1:
            is_power = times > 0 and times.bit_count() == 1
            amount = const_int(times.bit_length() - 1 if is_power else times, phi.type)
            value = builder.binary("shl" if is_power else "mul", value, amount)
        return builder.binary("add", value, const_int(more, phi.type)) if more else value

    def _lead_on(self, states: dict[int, Instruction]) -> None:
        """Let what is behind the loops take what the new one hands on."""
        pair = self.pair
        for phi in pair.after.phis():
            value = phi.incoming_value(pair.middle)
            if isinstance(value, Instruction) and value in self.parts.state:
                value = states[self.parts.state[value]]
            for source in [b for b in phi.blocks if b in pair.blocks]:
                phi.remove_incoming(phi.blocks.index(source))
            phi.add_incoming(value, self.head)


def _code_of(value: Value, leaves: set[Value]) -> list[Instruction]:
    """What computes a value of leaves, in order; empty if that is not all of it."""
    found: list[Instruction] = []
    seen: set[Value] = set()
    uses_leaf = False

    def visit(at: Value) -> bool:
        nonlocal uses_leaf
        if at in leaves:
            uses_leaf = True
            return True
        if not isinstance(at, Instruction) or at in seen or at.op not in _COMPUTED or len(found) > _LONGEST:
            return True
        seen.add(at)
        if not all(map(visit, at.operands)):
            return False
        if any(o in leaves or o in found for o in at.operands):
            found.append(at)
        return True

    return found if visit(value) and uses_leaf and len(found) <= _LONGEST else []


def wide(value: Value, builder: Builder, op: str) -> Value:
    """A number in 64 bits."""
    if isinstance(value, ConstInt):
        return const_int(value.signed if op == "sext" else value.value)
    if value.type == I64:
        return value
    flag = "nsw" if op == "sext" else "nuw"
    if (
        isinstance(value, Instruction)
        and value.op == "trunc"
        and flag in value.flags
        and value.operands[0].type == I64
    ):
        return value.operands[0]
    return builder.cast(op, value, I64)


def least_aligns(blocks: Iterable[BasicBlock]) -> dict[Instruction, int]:
    """Of accesses the least alignment of any of their type: that of one copy need not be that of all rounds."""
    accesses = [i for block in blocks for i in block.instructions if i.op in ("load", "store")]
    least: dict[Type, int] = {}
    for i in accesses:
        least[i.accessed_type] = min(i.alignment, least.get(i.accessed_type, i.alignment))
    return {i: least[i.accessed_type] for i in accesses}


def copied(i: Instruction, builder: Builder, values: dict[Value, Value]) -> Instruction:
    """A copy that promises nothing of integers: what held in some rounds need not hold in others."""
    if i.op == "or" and "disjoint" in i.flags:
        copy = Instruction("add", i.type, i.operands, name=i.name, loc=i.loc)
    else:
        copy = i.clone()
    copy.flags = tuple(f for f in copy.flags if f not in _INTEGER_FLAGS)
    for kind in _VALUE_PROMISES & copy.metadata.keys():
        copy.set_metadata(kind, None)
    for k, operand in enumerate(copy.operands):
        if operand in values:
            copy.set_operand(k, values[operand])
    return builder.insert(copy)

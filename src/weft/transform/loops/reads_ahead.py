"""Loops that read an array only where they have not written it yet run in lanes: LLVM is told so, behind a test.

    for c in cap .. w, down: best[c] = max(best[c], best[c - w] + v)

How far apart both places are is not known before the program runs, and LLVM asks only whether what the whole loop reads
is apart from all it writes. Yet each iteration may read what it reads at once if no iteration before it has written
there: where the first place that is read lies at or ahead of the first one that is written, seen in the direction in
which both go on, as far for all iterations. Lanes read all before they write. In a loop that counts down, or from a
number that is not known, an index might count from the end (``a[i]`` with i < 0), so both ends of its way are asked.

    if place that is read ahead of that written, no index < 0: the loop, marked        else: the loop as it was

The mark is ``llvm.loop.parallel_accesses``. It says more than is so, as iterations may not run in any order, but LLVM
takes it for what is known here: it asks nothing of memory before it makes vectors, in which what stands first in an
iteration stands first for all of its lanes. As LLVM also takes it for leave to load what only some iterations load, all
loads have to be in each.

Precondition: plain code of one thread. Postcondition: the same, loop-closed; such small innermost loops with one store,
which no load follows, have two versions. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.analysis.memory.addresses import decompose
from weft.analysis.memory.alias import Location, are_apart, locate
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import may_read, may_write
from weft.ir.layout import DataLayout
from weft.ir.loop_metadata import is_scalar, mark_independent
from weft.ir.types import I64, IntType, VectorType
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.version_loop import version_loop
from weft.transform.numbers.known_numbers import answer, number_asked_for_sign

LARGEST = 60
"""Instructions of a loop of which there are two versions."""

_FEW = 1 << 62
"""Numbers below this do not wrap around by going on by fewer steps than this."""

_LAST = {"slt": -1, "sle": 0, "sgt": 1, "sge": 0}
"""How far behind its bound the last number of a counter lies that goes by ones."""


class _Ahead(Struct, frozen=True):
    """A loop whose reads are ahead of its writes, if a test holds.

    Parameters
    ----------
    own, counted
        The loop.
    store, loads
        What it writes, and what it reads that may be written.
    step
        By how many bytes these places go on in an iteration.
    indices
        Numbers that are asked whether they count from the end.
    known
        Loads of the loop, which what it writes is apart from, with what was loaded from there before it.
    """

    own: Loop
    counted: CountedLoop
    store: Instruction
    loads: tuple[Instruction, ...]
    step: int
    indices: tuple[Instruction, ...]
    known: dict[Instruction, Instruction]


def mark_reads_ahead(function: Function) -> int:
    """Make versions of such loops for LLVM; return how many."""
    done: set[BasicBlock] = set()
    if _next(function, done) is None:
        return 0
    close_loops(function)
    open_needless(function)
    count = 0
    while (found := _next(function, done)) is not None:
        view, ahead = found
        loop = ahead.counted
        copies = version_loop(function, view, ahead.own, lambda b, a=ahead: _test(b, a))
        done |= {loop.header, copies[loop.header]}
        for index in ahead.indices:
            for question in list(index.instruction_users()):
                if question.op == "icmp" and number_asked_for_sign(question) is index:
                    answer(question)
        accesses = [i for b in loop.blocks for i in b.instructions if i.op in ("load", "store")]
        mark_independent(loop.latch.terminator, accesses)
        count += 1
    if count:
        remove_dead_instructions(function)
    return count


def _next(function: Function, done: set[BasicBlock]) -> tuple[CFGView, _Ahead] | None:
    view = cfg_of(function)
    for own in loop_forest(view.cfg).loops:
        if own.children or view.blocks[own.header] in done:
            continue
        ahead = _ahead(own, view, function.layout)
        if ahead is not None:
            return view, ahead
    return None


def _ahead(own: Loop, view: CFGView, layout: DataLayout) -> _Ahead | None:
    counted = counted_loop(view, own)
    if isinstance(counted, str) or not is_left_by_itself(counted) or is_scalar(counted.latch.terminator):
        return None
    instructions = [i for block in counted.blocks for i in block.instructions]
    if len(instructions) > LARGEST or list(counted.header.phis()) != [counted.counter.phi]:
        return None
    memory = [i for i in instructions if may_read(i) or may_write(i)]
    stores = [i for i in memory if i.op == "store"]
    if len(stores) != 1 or not all(i.is_plain_access for i in memory):
        return None
    if any(isinstance(i.accessed_type, VectorType) for i in memory):
        return None
    (store,) = stores
    loads = _compared(store, [i for i in memory if i is not store], layout)
    if not all(_comes_before(load, store, view) for load in loads):
        return None
    if not all(_is_always_done(i, counted, view) for i in memory if i is not store):
        return None
    others = [i for i in memory if i is not store and i not in loads]
    way = _Way(counted, layout, _loaded_before(counted, others))
    step = way.step(store.pointer)
    if step is None or abs(step) != layout.size(store.accessed_type):
        return None
    for load in loads:
        if way.step(load.pointer) != step or layout.size(load.accessed_type) > abs(step):
            return None
    for load in others:
        way.step(load.pointer)
    if way.indices and not _ends_are_known(counted):
        return None
    ahead = _Ahead(own, counted, store, loads, step, tuple(way.indices), way.known)
    return ahead if _gains(ahead, layout) else None


def _compared(store: Instruction, loads: list[Instruction], layout: DataLayout) -> tuple[Instruction, ...]:
    """The loads of what a store may write."""
    written = locate(store.pointer, layout).base
    return tuple(load for load in loads if not are_apart(locate(load.pointer, layout).base, written))


def _comes_before(load: Instruction, store: Instruction, view: CFGView) -> bool:
    """Whether an iteration that stores has loaded before."""
    block = load.block
    assert block is not None and store.block is not None
    if block is store.block:
        return block.instructions.index(load) < block.instructions.index(store)
    return dominator_tree(view.cfg).dominates(view.index[block], view.index[store.block])


def _is_always_done(load: Instruction, loop: CountedLoop, view: CFGView) -> bool:
    """Whether each iteration loads: in loops so marked LLVM has lanes load what they do not get to, too."""
    assert load.block is not None
    return dominator_tree(view.cfg).dominates(view.index[load.block], view.index[loop.latch])


def _loaded_before(loop: CountedLoop, loads: list[Instruction]) -> dict[Instruction, Instruction]:
    """What has been loaded before a loop from where `loads` of it load, which do not meet what it stores."""
    wanted = {(load.pointer, load.type): load for load in loads}
    found: dict[Instruction, Instruction] = {}
    block, seen = loop.preheader, set(loop.blocks)
    while wanted and block not in seen:
        seen.add(block)
        for i in reversed(block.instructions):
            if may_write(i):
                return found
            load = wanted.pop((i.pointer, i.type), None) if i.op == "load" and i.is_plain_access else None
            if load is not None:
                found |= {other: i for other in loads if (other.pointer, other.type) == (i.pointer, i.type)}
        if len(block.predecessors) != 1:
            return found
        (block,) = block.predecessors
    return found


def _ends_are_known(loop: CountedLoop) -> bool:
    """Whether a counter goes by ones, and its last number may be said before the loop."""
    return abs(loop.counter.step) == 1 and loop.predicate in _LAST


def _gains(ahead: _Ahead, layout: DataLayout) -> bool:
    """Whether a place that is read may be ahead, and LLVM does not see that, or that no index is negative.

    Other rows are apart, which it sees: elimination, whose rows are short, took twice as long in two versions.
    """
    written = linear_location(ahead.store.pointer, layout)
    unknown = False
    for load in ahead.loads:
        read = linear_location(load.pointer, layout)
        if read.base is not written.base:
            continue
        if _is_behind(read, written, ahead.step) or _is_other_row(read, written, ahead.step):
            return False
        unknown = unknown or read.terms != written.terms
    return unknown or bool(ahead.indices)


def _is_behind(read: Location, written: Location, step: int) -> bool:
    """Whether a place that is read is known to have been written by an iteration before."""
    return read.terms == written.terms and (read.offset - written.offset) * step < 0


def _is_other_row(read: Location, written: Location, step: int) -> bool:
    """Whether places differ by something else than numbers of elements: by multiples of a row, or of a number."""
    for index in {**read.terms, **written.terms}:
        scales = [location.terms.get(index, 0) for location in (read, written)]
        is_product = isinstance(index, Instruction) and index.op == "mul"
        if scales[0] != scales[1] and (
            is_product or any(abs(scale) not in (0, abs(step)) for scale in scales)
        ):
            return True
    return False


class _Way:
    """By how much numbers and addresses grow in each iteration, the same whatever wraps around.

    Parameters
    ----------
    loop, layout
        The loop, and the layout of its module.
    known
        What has been loaded before.
    """

    __slots__ = ("_layout", "_loop", "indices", "known")

    def __init__(self, loop: CountedLoop, layout: DataLayout, known: dict[Instruction, Instruction]) -> None:
        self._loop, self._layout, self.known = loop, layout, known
        self.indices: dict[Instruction, None] = {}
        """What is taken not to be negative."""

    def step(self, value: Value) -> int | None:
        """By how much a value grows; None if that is not known, or not the same in each iteration."""
        counter = self._loop.counter
        if value is counter.phi:
            return counter.step
        if not isinstance(value, Instruction) or value.block not in self._loop.blocks:
            return 0
        if value in self.known:
            return 0
        match value.op:
            case "add" | "sub":
                first, second = (self.step(v) for v in value.operands)
                if first is None or second is None:
                    return None
                return first + second if value.op == "add" else first - second
            case "mul" | "shl" if isinstance(factor := value.operands[1], ConstInt):
                first = self.step(value.operands[0])
                return None if first is None else first * _factor(value, factor)
            case "sext":
                return self.step(value.operands[0]) if self._never_wraps(value.operands[0]) else None
            case "select":
                return self._chosen(value)
            case "getelementptr" if not value.type.is_vector:
                return self._address(value)
            case _:
                return None

    def _address(self, address: Instruction) -> int | None:
        parts = decompose(address.operands, address.source_type, self._layout)
        total = self.step(parts.base)
        for index, scale in zip(parts.indices, parts.scales, strict=True):
            step = self.step(index)
            if total is None or step is None or (step and index.type is not I64):
                return None
            total += step * scale
        return total

    def _chosen(self, choice: Instruction) -> int | None:
        """That of what is chosen where a number is not negative."""
        question = choice.operands[0]
        if not isinstance(question, Instruction) or question.op != "icmp":
            return None
        number = number_asked_for_sign(question)
        if not isinstance(number, Instruction) or number.type is not I64:
            return None
        if self.step(number) not in (1, -1):
            return None
        self.indices[number] = None
        return self.step(choice.operands[2])

    def _never_wraps(self, value: Value) -> bool:
        """Whether a number of fewer bits than an address grows as its extension by sign does."""
        counter = self._loop.counter
        if value is counter.phi:
            return self._loop.predicate in _LAST or "nsw" in counter.following.flags
        if not isinstance(value, Instruction) or value.block not in self._loop.blocks or value in self.known:
            return True
        if value.op not in ("add", "sub") or "nsw" not in value.flags:
            return False
        return all(map(self._never_wraps, value.operands))


def _factor(product: Instruction, factor: ConstInt) -> int:
    return factor.signed if product.op == "mul" else 1 << factor.value


def _test(builder: Builder, ahead: _Ahead) -> Value:
    """Whether what is read is ahead of what is written, and no index counts from the end."""
    loop = ahead.counted
    start = loop.counter.start
    first: dict[Value, Value] = {loop.counter.phi: start, **ahead.known}
    written = _before(builder, ahead.store.pointer, loop, first)
    tests: list[Value] = []
    for load in ahead.loads:
        read = _before(builder, load.pointer, loop, first)
        if read is written:
            continue
        there, here = (builder.cast("ptrtoint", p, I64) for p in (read, written))
        # Where the loop is not entered an address may be poison, which decides nothing.
        distance = builder.unary("freeze", builder.binary("sub", there, here))
        tests.append(builder.icmp("sge" if ahead.step > 0 else "sle", distance, const_int(0, I64)))
    if ahead.indices:
        end = builder.binary("add", loop.bound, const_int(_LAST[loop.predicate], loop.counter.type))
        last: dict[Value, Value] = {loop.counter.phi: end, **ahead.known}
        ends = (start, end) if loop.counter.step > 0 else (end, start)
        low, high = (_wide(builder, v) for v in ends)
        few = [builder.binary("sub", high, low)]
        few += [_before(builder, i, loop, values) for i in ahead.indices for values in (first, last)]
        frozen = [builder.unary("freeze", number) for number in few]
        tests += [builder.icmp("ult", number, ConstInt(I64, _FEW)) for number in frozen]
    test = tests[0]
    for other in tests[1:]:
        test = builder.select(test, other, FALSE)
    return test


def _wide(builder: Builder, value: Value) -> Value:
    assert isinstance(value.type, IntType)
    return value if value.type is I64 else builder.cast("sext", value, I64)


def _before(builder: Builder, value: Value, loop: CountedLoop, values: dict[Value, Value]) -> Value:
    """A value of the loop computed before it, where the counter has a number, and no index is negative."""
    if value in values:
        return values[value]
    if not isinstance(value, Instruction) or value.block not in loop.blocks:
        return value
    if value.op == "select":
        made = _before(builder, value.operands[2], loop, values)
    else:
        copy = value.clone()
        # What is so in an iteration may not be so where there is none.
        copy.flags = ()
        for index, operand in enumerate(value.operands):
            copy.set_operand(index, _before(builder, operand, loop, values))
        made = builder.insert(copy)
    values[value] = made
    return made

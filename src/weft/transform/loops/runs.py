"""Loops over runs: consecutive elements, from a place and of a number that are found out.

What filling and copying at once share: whether all that a loop does is to count and to access such elements; how many
there are; and values as they are before the first iteration and behind the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from weft.analysis.loops.counted_loops import CountedLoop, Counter, counters_of, known_iterations
from weft.analysis.memory.linear_locations import linear_location
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.slices import slice_of
from weft.ir.types import I64
from weft.transform.loops.replace_loop import open_preheader, replace_loop

_ARITHMETIC = frozenset(
    ("getelementptr", "add", "sub", "mul", "shl", "or", "and", "lshr", "zext", "sext", "trunc")
)
_MOST_VALUES = 100
"""So many are looked at to find out what a place rests on."""

_LIBRARY = frozenset(("memset", "memcpy", "memmove", "mempcpy", "bzero", "bcopy", "explicit_bzero"))


def may_call_library(function: Function) -> bool:
    """Whether a function may call what the C library has for runs, and is not that, or told to do without it."""
    if function.name.partition(".")[0] in _LIBRARY:
        return False
    withheld = {'"no-builtins"', *(f'"no-builtin-{name}"' for name in _LIBRARY)}
    return not any(text.partition("=")[0] in withheld for text in function.attributes)


def counters_in(loop: CountedLoop) -> dict[Value, Counter]:
    """What a loop counts, by its φs: the counter that it tests, and others."""
    return {each.phi: each for each in counters_of(loop.header, loop.preheader, loop.latch)}


def is_over_run(loop: CountedLoop) -> bool:
    """Whether a loop counts up one by one as far as its bound, which is asked before each iteration."""
    if loop.counter.step != 1 or loop.tests_next or not loop.top_tested:
        return False
    return loop.predicate in ("slt", "ult", "ne")


def only_counts(instruction: Instruction, loop: CountedLoop) -> bool:
    """Whether an instruction of a loop is part of a counter, of its test, or arithmetic for an address."""
    if instruction.is_phi:
        return instruction in counters_in(loop)
    return instruction.op in _ARITHMETIC or instruction.op in ("icmp", "br")


def is_known_behind(loop: CountedLoop) -> bool:
    """Whether all that is used behind a loop is computed at its test of what it counts."""
    inside = set(loop.blocks)
    for block in loop.blocks:
        for i in block:
            for user in i.instruction_users():
                if user.block in inside:
                    continue
                if not user.is_phi or user.block is not loop.exit or i.block is not loop.header:
                    return False
                if _reads(i, inside) or any(
                    user.incoming_value(p) is i for p in user.blocks if p not in inside
                ):
                    return False
    return True


def _reads(value: Value, inside: set[BasicBlock]) -> bool:
    """Whether what a loop has loaded is part of a value."""

    def goes_into(part: Instruction) -> bool:
        return part.block in inside and not part.is_phi

    parts = slice_of(value, goes_into)
    return any(isinstance(part, Instruction) and goes_into(part) and part.op == "load" for part in parts)


def is_looked_up(loop: CountedLoop, accesses: Iterable[Instruction]) -> bool:
    """Whether where a run begins, or how long it is, rests on what has been loaded from a place that changes.

    Rows of arrays are left to lanes, which go along them.
    """
    if known_iterations(loop) is not None:
        return False
    inside = set(loop.blocks)
    work: list[Value] = [*(access.pointer for access in accesses), loop.bound, loop.counter.start]
    seen: set[Value] = set()
    while work and len(seen) < _MOST_VALUES:
        value = work.pop()
        if not isinstance(value, Instruction) or value in seen:
            continue
        seen.add(value)
        if value.op == "load" and value.block not in inside:
            if _changes_place(value.pointer):
                return True
        else:
            work += value.operands
    return False


def _changes_place(pointer: Value) -> bool:
    """Whether a pointer is at a number that is no constant behind another one, or is itself looked up."""
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        if any(not isinstance(index, ConstInt) for index in pointer.operands[1:]):
            return True
        pointer = pointer.operands[0]
    return isinstance(pointer, Instruction) and (pointer.is_phi or pointer.op == "load")


def is_same_load(value: Value, loop: CountedLoop) -> bool:
    """Whether it loads from one place in all iterations of a loop."""
    return (
        isinstance(value, Instruction)
        and value.op == "load"
        and value.is_plain_access
        and not changes(value.pointer, set(loop.blocks))
    )


def changes(value: Value, inside: set[BasicBlock]) -> bool:
    """Whether a value that arithmetic makes may differ between iterations."""
    # What is loaded may be what was stored.
    return any(
        isinstance(part, Instruction) and part.block in inside and (part.is_phi or part.op == "load")
        for part in slice_of(value, lambda i: i.block in inside and not i.is_phi)
    )


def is_consecutive(access: Instruction, loop: CountedLoop, size: int) -> bool:
    """Whether each iteration accesses memory right behind the one before, and not a stack object."""
    block = access.block
    assert block is not None and block.function is not None
    layout = block.function.layout
    location, inside = linear_location(access.pointer, layout), set(loop.blocks)
    if isinstance(location.base, Instruction) and (
        location.base.op == "alloca" or location.base.block in inside
    ):
        return False
    if layout.bit_size(access.accessed_type) != 8 * size:
        return False
    counters, moved = counters_in(loop), 0
    for index, scale in location.terms.items():
        counter = _counted(index, loop, counters)
        if counter is not None:
            moved += scale * counter.step
        elif changes(index, inside):
            return False
    return moved == size


def _counted(index: Value, loop: CountedLoop, counters: Mapping[Value, Counter]) -> Counter | None:
    """The counter that an index of 64 bits is in all iterations, without having wrapped around.

    One of fewer bits is extended by sign (`weft.analysis.memory.linear_locations`).
    """
    signed = not (isinstance(index, Instruction) and index.op == "zext")
    counter = counters.get(index if signed or not isinstance(index, Instruction) else index.operands[0])
    if counter is None:
        return None
    tested = counter.phi is loop.counter.phi and not loop.tests_next
    if (
        counter.type == I64
        or ("nsw" if signed else "nuw") in counter.following.flags
        or (tested and loop.predicate in (("slt", "sle") if signed else ("ult", "ule")))
        or (tested and known_iterations(loop) is not None and (signed or _starts_at_natural(loop)))
    ):
        return counter
    return None


def _starts_at_natural(loop: CountedLoop) -> bool:
    return isinstance(loop.counter.start, ConstInt) and loop.counter.start.signed >= 0


def length_of(loop: CountedLoop, builder: Builder) -> Value:
    """The number of iterations of a loop over a run that is entered, with 64 bits."""
    length = builder.binary("sub", loop.bound, loop.counter.start)
    return length if length.type == I64 else builder.cast("zext", length, I64)


def at_start(loop: CountedLoop) -> dict[Value, Value]:
    """What a loop counts as the first iteration has it; for `computed`."""
    return {phi: counter.start for phi, counter in counters_in(loop).items()}


def behind(loop: CountedLoop, builder: Builder, length: Value) -> dict[Value, Value]:
    """What a loop over a run counts behind it, where it has so many iterations."""
    known: dict[Value, Value] = {}
    for phi, counter in counters_in(loop).items():
        if phi is loop.counter.phi:
            known[phi] = loop.bound
            continue
        moved = length
        if counter.type != I64:
            moved = builder.cast("trunc" if counter.type.bits < I64.bits else "zext", length, counter.type)
        if counter.step != 1:
            moved = builder.binary("mul", moved, ConstInt(counter.type, counter.step))
        known[phi] = builder.binary("add", counter.start, moved)
    return known


def computed(value: Value, loop: CountedLoop, builder: Builder, known: dict[Value, Value]) -> Value:
    """A value of a loop, computed before it, where some values are known; more are then."""
    if value in known:
        return known[value]
    if not isinstance(value, Instruction) or value.block not in loop.blocks:
        return value
    operands = [computed(operand, loop, builder, known) for operand in value.operands]
    known[value] = builder.insert(Instruction(value.op, value.type, operands, attrs=value.attrs))
    return known[value]


def run_at_once(
    loop: CountedLoop,
    access: Instruction,
    build: Callable[[Builder, dict[Value, Value], Value], None],
    *,
    iterations: int | None = None,
    entered: bool = False,
) -> None:
    """Put something else in the place of a loop.

    Parameters
    ----------
    loop
        A loop over a run, of which `is_known_behind` holds; or one of which nothing is used behind it.
    access
        Where it stands in the source.
    build
        Does what all iterations do, by what the first counts, for so many.
    iterations
        How many there are, if that is a number.
    entered
        Whether there is one at least.
    """
    before, function = loop.preheader, loop.preheader.function
    assert function is not None
    taken = [phi.incoming_value(loop.exiting) for phi in loop.exit.phis()]
    builder = open_preheader(loop)
    builder.loc = access.loc or builder.loc
    if iterations is None and not entered:
        known = at_start(loop)
        for phi, value in zip(loop.exit.phis(), taken, strict=True):
            phi.add_incoming(computed(value, loop, builder, known), before)
        test = builder.icmp(loop.predicate, loop.counter.start, loop.bound)
        once = function.add_block(f"{loop.header.name}.once", before)
        builder.cond_br(test, once, loop.exit)
        builder.at_end(once)
    length = length_of(loop, builder) if iterations is None else ConstInt(I64, iterations)
    build(builder, at_start(loop), length)
    known = behind(loop, builder, length) if taken else {}
    replace_loop(loop, builder, {value: computed(value, loop, builder, known) for value in taken})

"""Memory that iterations of a loop share: which pairs of accesses keep them from running in any order.

Two accesses, one of them a write, in different iterations of a loop may touch the same bytes. Their addresses are taken
apart (`weft.analysis.memory.linear_locations`) into a base, a constant, multiples of the loop's counters and of values
that do not change in the loop, and of others. With the same base and the same multiples of what does not change, the
distance of the addresses in iterations ``n`` and ``n + m`` is ``c·m + k``, plus what the others contribute, of which
only the ranges are known. A dependence is *certain* when some ``m`` other than 0 makes the accesses overlap whenever
both happen, *possible* when that cannot be excluded. Where it is known how many iterations there are, none are further
apart.

Iterations allocate in frames of their own, where they run at the same time (`weft.transform.loops.private_frames`).

What this test does not see through counts as possible: different bases that are no objects of their own, calls that
write, atomics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, Counter
from weft.analysis.loops.loop_agreement import LoopAgreement
from weft.analysis.loops.triangles import counts, triangles_in
from weft.analysis.memory.alias import are_apart
from weft.analysis.memory.linear_locations import ADDRESS_BITS, linear_location
from weft.analysis.memory.stack_objects import is_block_write
from weft.graph.control_dependence import control_dependence
from weft.ir import BasicBlock, GlobalVariable, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_read, may_write
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout
from weft.ir.types import PointerType


class LoopDependence(Struct, frozen=True):
    """Two accesses that may touch the same bytes in different iterations.

    Parameters
    ----------
    write, other
        The accesses; the same instruction where it meets itself.
    certain
        Whether they do.
    distance
        How many iterations `other` runs later than `write`; None where it is unknown or any number.
    harmless
        Whether each iteration writes what the others write there.
    each
        Whether all iterations do the accesses, not only two of them or more.
    guarded
        Whether they meet if two iterations come to them, which is decided by what nobody knows.
    """

    write: Instruction
    other: Instruction
    certain: bool
    distance: int | None = None
    harmless: bool = False
    each: bool = True
    guarded: bool = False


class _Access(Struct, frozen=True):
    """An access of a loop: bytes from ``base + Σ`` on.

    The address is made of `base` and `terms` otherwise. `per_iteration` is how far it moves from one iteration to the
    next, `fixed` what does not change, and `spread` the interval of the rest; None where the rest may be anything.
    Where the addresses are alike in each iteration, `alike` is all that is added to base and offset, else None.
    """

    instruction: Instruction
    base: Value
    size: int
    offset: int
    per_iteration: int
    fixed: Mapping[Value, int]
    spread: tuple[int, int] | None
    alike: Mapping[Value, int] | None
    terms: Mapping[Value, int]


def loop_dependences(
    view: CFGView,
    loop: CountedLoop,
    counters: list[Counter],
    ranges: Ranges,
    layout: DataLayout,
    private: tuple[Value, ...] = (),
    most: int | None = None,
) -> Iterator[LoopDependence]:
    """The pairs of accesses in the way of running the iterations of `loop` in any order.

    Parameters
    ----------
    view
        The control flow of the loop's function.
    counters
        The loop's counters.
    ranges
        Ranges of the function.
    private
        Stack objects of which each iteration has its own.
    most
        How many iterations there are at most, where that is known.
    """
    inside = [i for block in loop.blocks for i in block.instructions if may_read(i) or may_write(i)]
    agreement = LoopAgreement(view, loop)
    accesses: list[_Access] = []
    for instruction in inside:
        if (instruction.callee_name or "").startswith("llvm.lifetime") or heap_call(instruction):
            continue
        if instruction.op not in ("load", "store") or instruction.attrs.get("ordering"):
            if may_write(instruction) and not _stays_within(instruction, private, layout):
                yield LoopDependence(instruction, instruction, False)
            continue
        access = _access(instruction, loop, counters, ranges, layout, agreement)
        if access.base not in private:
            accesses.append(access)
    triangles = triangles_in(view, loop)
    partly = LoopAgreement(view, loop, triangles) if triangles else None
    for a, b in combinations_with_replacement(accesses, 2):
        if a.instruction.op == "load":
            a, b = b, a
        if a.instruction.op == "store" and (found := _dependence(a, b, most)) is not None:
            alike = agreement
            if found.certain and not all(agreement.runs_in_each(i) for i in (found.write, found.other)):
                guarded = found.distance is None and not _is_chosen(a.instruction, view, loop)
                found = replace(found, certain=False, distance=None, guarded=guarded)
            if partly is not None and not found.certain and _meet_in_triangle(a, b, partly):
                found, alike = replace(found, certain=True, each=False, guarded=False), partly
            same_address = a.alike is not None or not found.each
            is_same = a is b and same_address and alike.is_alike(a.instruction.stored_value)
            yield replace(found, harmless=True) if is_same else found


def _meet_in_triangle(write: _Access, other: _Access, partly: LoopAgreement) -> bool:
    """Whether two accesses in one triangle meet in what two iterations have in common of it."""
    pair = write.instruction, other.instruction
    distance = other.offset - write.offset
    return (
        write.base is other.base
        and write.terms == other.terms
        and -other.size < distance < write.size
        and all(map(partly.is_alike, (write.base, *write.terms)))
        and all(map(partly.runs_in_a_triangle, pair))
        and partly.run_together(*pair)
    )


def _is_chosen(instruction: Instruction, view: CFGView, loop: CountedLoop) -> bool:
    """Whether one iteration is picked out, by its number, to run an instruction."""
    assert instruction.block is not None
    on = control_dependence(view.cfg).on[view.index[instruction.block]]
    conditions = [v for b in on for v in view.blocks[b].terminator.operands[:1]]
    return any(
        isinstance(c, Instruction)
        and c.op == "icmp"
        and c.predicate in ("eq", "ne")
        and any(counts(loop, v) for v in c.operands)
        for c in conditions
    )


def _stays_within(instruction: Instruction, private: tuple[Value, ...], layout: DataLayout) -> bool:
    """Whether it is a block write to an iteration's own object, from another one or a constant."""
    if not is_block_write(instruction):
        return False
    target, *sources = (
        linear_location(v, layout).base for v in instruction.args if isinstance(v.type, PointerType)
    )
    return target in private and all(
        s in private or (isinstance(s, GlobalVariable) and s.is_constant) for s in sources
    )


def _access(
    instruction: Instruction,
    loop: CountedLoop,
    counters: list[Counter],
    ranges: Ranges,
    layout: DataLayout,
    agreement: LoopAgreement,
) -> _Access:
    location = linear_location(instruction.pointer, layout)
    inside = set(loop.blocks)
    known = not _changes(location.base, inside)
    per_iteration = low = high = 0
    fixed: dict[Value, int] = {}
    for value, scale in location.terms.items():
        counter = _counting(value, loop, counters)
        if counter is not None:
            per_iteration += scale * counter.step
            fixed[value] = scale
        elif not _changes(value, inside):
            fixed[value] = scale
        elif (interval := ranges.at(value, instruction.block)) is not None:
            ends = sorted((scale * interval[0], scale * interval[1]))
            low, high = low + ends[0], high + ends[1]
        else:
            known = False
    size = layout.store_size(instruction.accessed_type)
    spread = (low, high) if known else None
    is_alike = all(map(agreement.is_alike, (location.base, *location.terms)))
    alike = location.terms if is_alike else None
    return _Access(
        instruction, location.base, size, location.offset, per_iteration, fixed, spread, alike, location.terms
    )


def _counting(value: Value, loop: CountedLoop, counters: list[Counter]) -> Counter | None:
    """The counter whose value, extended to the width of an address without wrapping around, `value` is."""
    unsigned = isinstance(value, Instruction) and value.op == "zext"
    source = value.operands[0] if isinstance(value, Instruction) and unsigned else value
    counter = next((c for c in counters if c.phi is source), None)
    if counter is None or (counter.type.bits == ADDRESS_BITS and not unsigned):
        return counter
    tested = loop.top_tested and counter.phi is loop.counter.phi and not loop.tests_next
    kept = loop.predicate.startswith("u" if unsigned else "s") and tested
    flag = "nuw" if unsigned else "nsw"
    return counter if kept or flag in counter.following.flags else None


def _changes(value: Value, inside: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block in inside


def _dependence(write: _Access, other: _Access, most: int | None) -> LoopDependence | None:
    pair = (write.instruction, other.instruction)
    if write.base is not other.base:
        if are_apart(write.base, other.base):
            return None
        return LoopDependence(*pair, certain=False)
    distance = other.offset - write.offset
    if write.alike is not None and write.alike == other.alike and -other.size < distance < write.size:
        return LoopDependence(*pair, certain=True)
    if write.spread is None or other.spread is None or write.fixed != other.fixed:
        return LoopDependence(*pair, certain=False)
    if write.per_iteration != other.per_iteration:
        return LoopDependence(*pair, certain=False)
    step = write.per_iteration
    # The other access minus the write, m iterations earlier: distance - step·m lies in [low, high] around it.
    low = distance + other.spread[0] - write.spread[1]
    high = distance + other.spread[1] - write.spread[0]
    exact = low == high
    if step == 0:
        meet = low < write.size and high > -other.size
        return LoopDependence(*pair, certain=exact) if meet else None
    distances = _meeting(low, high, step, write.size, other.size)
    if not distances:
        return None
    nearest = min(distances, key=lambda m: (abs(m), m < 0))
    if most is not None and abs(nearest) >= most:
        return None
    return LoopDependence(*pair, certain=exact, distance=nearest if exact else None)


def _meeting(low: int, high: int, step: int, size: int, other_size: int) -> list[int]:
    """The numbers m ≠ 0 nearest to 0 for which ``[low, high] + step·m`` overlaps: it is in (-other_size, size)."""
    bounds = 1 - other_size - high, size - 1 - low
    least, most = bounds if step > 0 else bounds[::-1]
    first, last = -(-least // step), most // step
    if first > last:
        return []
    return [m for m in (1, -1, first, last) if m and first <= m <= last]

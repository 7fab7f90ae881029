"""Loops that walk along the rows of arrays, and those that look up places of their own.

The first kind carries nothing but counters and totals, and accesses neighbours, or one place, iteration after
iteration: LLVM's vectorizer runs it in SIMD, and well. It takes the other kind, too, where it has gathers, and takes it
apart where it has not; both are slower than iteration after iteration where loops have some ten iterations.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.integers.ranges import Ranges
from weft.analysis.memory.alias import Location, locate
from weft.analysis.memory.far_steps import step_of, without_factor
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_read, may_write
from weft.ir.layout import DataLayout
from weft.ir.slices import slice_of

FEW = 7
"""Iterations that do not fill a register."""

FEW_COMPUTED = 16
"""The same of a number that is computed, half of which there are on average: what LLVM takes at a time in loops that
add up are four registers. Decompositions of 16 x 16 floats by Cholesky take 0.4 to 0.6 times as long in lanes."""

FEW_LEFT = 6
"""The same from a number that is computed to a constant, as what is left of a row of a matrix. Of rows of eight LLVM
makes registers: LU of 8 x 8 floats takes 1.5 times as long in lanes on Emerald Rapids."""

_STEPS = ("add", "sub", "mul", "shl", "sext", "zext", "trunc")
"""What is computed from counters and stays a number that steps."""

APART = 4
"""So many iterations between a store and a load of what it stored are enough for vectors."""


def is_short(loop: Loop, view: CFGView, ranges: Ranges | None) -> bool:
    """Whether a loop counts from a number to another one that is no more than `FEW` away.

    Where the second is computed, as along the rows of a triangle, it is known to be no more than `FEW_COMPUTED` away,
    and where the first is, no more than `FEW_LEFT`.
    """
    branch = view.blocks[loop.header].terminator
    test = branch.operands[0] if branch.operands else None
    if not isinstance(test, Instruction) or test.op != "icmp":
        return False
    counter, bound = test.operands
    if not (isinstance(counter, Instruction) and counter.is_phi):
        return False
    inside = {view.blocks[b] for b in loop.blocks}
    starts = [value for value, source in counter.incoming() if source not in inside]
    if isinstance(bound, ConstInt) and all(isinstance(v, ConstInt) for v in starts):
        return all(isinstance(v, ConstInt) and abs(bound.signed - v.signed) <= FEW for v in starts)
    last = ranges.at(bound, view.blocks[loop.header]) if ranges is not None else None
    if ranges is None or last is None:
        return False
    most = FEW_LEFT if isinstance(bound, ConstInt) else FEW_COMPUTED
    firsts = [ranges.of(v) for v in starts]
    return all(first is not None and 0 <= last.hi - first.lo <= most for first in firsts)


def carries_only_totals(loop: Loop, view: CFGView) -> bool:
    """Whether what a loop carries is only counted up, or added up in a way that its iterations do not see.

    What an innermost loop loads a few iterations after it has stored it is carried, too.
    """
    inside = {view.blocks[b] for b in loop.blocks}
    if not loop.children and hands_on_elements(loop, view):
        return False
    latches = {view.blocks[b] for b in loop.latches}
    for phi in view.blocks[loop.header].phis():
        for value, source in phi.incoming():
            if source not in latches or value is phi:
                continue
            if not isinstance(value, Instruction) or phi not in value.operands:
                return False
            others = [v for v in value.operands if v is not phi]
            counts = all(not isinstance(v, Instruction) or v.block not in inside for v in others)
            seen = [u for u in phi.instruction_users() if u is not value and u.block in inside]
            if seen and not counts:
                return False
    return True


def is_along_rows(
    loop: Loop, view: CFGView, layout: DataLayout, *, branches: bool = False, near: int = 1
) -> bool:
    """Whether an innermost loop walks along rows, and carries only totals, which may be added in any order.

    There may be `branches` in it, and its iterations may be up to `near` elements apart.
    """
    inside = {view.blocks[n] for n in loop.blocks}
    exits = {source for source, _ in loop.exit_edges}
    if loop.children or len(exits) != 1 or not carries_only_totals(loop, view):
        return False
    if not branches and any(len(set(b.successors)) > 1 and view.index[b] not in exits for b in inside):
        return False
    branch = view.blocks[exits.pop()].terminator
    if branch.operands and depends_on_data(branch.operands[0], inside):
        return False
    if not adds_in_any_order(loop, view):
        return False
    return all(is_along(i, inside, layout, near) for b in inside for i in b.instructions)


def adds_in_any_order(loop: Loop, view: CFGView) -> bool:
    """Whether the totals that a loop carries may be added up in any order; no vectorizer takes others."""
    inside = {view.blocks[n] for n in loop.blocks}
    return all(_may_be_reordered(phi, inside) for phi in view.blocks[loop.header].phis())


def looks_up(loop: Loop, view: CFGView) -> bool:
    """Whether a loop accesses places that it has loaded where they are."""
    inside = {view.blocks[n] for n in loop.blocks}
    return any(
        i.is_plain_access and _is_found(i.pointer, inside, set()) for b in inside for i in b.instructions
    )


def depends_on_data(condition: Value, inside: set[BasicBlock]) -> bool:
    """Whether a condition is computed from what is loaded or called for in these blocks, but for by way of φs."""
    work, seen = [condition], {condition}
    while work:
        value = work.pop()
        if not isinstance(value, Instruction) or value.block not in inside or value.is_phi:
            continue
        if value.op in ("load", "fcmp"):
            return True
        work += [v for v in value.operands if v not in seen]
        seen.update(value.operands)
    return False


def counts_from_the_end(condition: Value) -> bool:
    """Whether it is asked whether a number is negative."""
    if not isinstance(condition, Instruction) or condition.op != "icmp" or condition.predicate != "slt":
        return False
    zero = condition.operands[1]
    return isinstance(zero, ConstInt) and zero.value == 0


def is_for_the_end(index: Value) -> bool:
    """Whether a number is added to an index where that is negative: a loop whose indices are not has a version."""
    return isinstance(index, Instruction) and index.op == "select" and counts_from_the_end(index.operands[0])


def is_along(instruction: Instruction, inside: set[BasicBlock], layout: DataLayout, near: int = 1) -> bool:
    """Whether an instruction of a loop is no access, or one to neighbours, or to one place, in all iterations.

    Neighbours may be up to `near` elements apart.
    """
    if instruction.op == "call":
        return (instruction.callee_name or "").startswith("llvm.")
    if not instruction.is_plain_access:
        return not (may_read(instruction) or may_write(instruction))
    along = 0
    place = locate(instruction.pointer, layout)
    if changes_in(place.base, inside):
        return False
    for index, scale in place.terms.items():
        if is_for_the_end(index):
            continue
        index, factor = _moving_part(index, inside)
        if isinstance(index, Instruction) and index.is_phi and index.block in inside:
            along += scale * factor
        elif changes_in(index, inside):
            return False
    size = layout.size(instruction.accessed_type)
    if along == 0:
        return instruction.op == "load"
    return along == size or (near > 1 and abs(along) <= near * size)


def is_elsewhere(access: Instruction, inside: set[BasicBlock], layout: DataLayout) -> bool:
    """Whether the place of an access is no sum of counters and what the loop of these blocks does not change."""
    place = linear_location(access.pointer, layout)
    return not all(is_for_the_end(each) or _steps(each, inside) for each in (place.base, *place.terms))


def _steps(value: Value, inside: set[BasicBlock]) -> bool:
    if not isinstance(value, Instruction) or not changes_in(value, inside):
        return True
    if value.is_phi:
        # One where branches meet is a choice of places, as a `select` is.
        return any(block not in inside for _, block in value.incoming())
    if value.op == "select" and not changes_in(value.operands[0], inside):
        # LLVM makes a loop of each choice.
        return all(_steps(v, inside) for v in value.operands[1:])
    return value.op in _STEPS and all(_steps(v, inside) for v in value.operands)


def _moving_part(index: Value, inside: set[BasicBlock]) -> tuple[Value, int]:
    """What of a number the loop of these blocks changes, and how many times that it is, but for what is added to it."""
    value, factor = without_factor(_without_offset(index, inside))
    if value is index:
        return value, factor
    moving, more = _moving_part(value, inside)
    return moving, factor * more


def _without_offset(index: Value, inside: set[BasicBlock]) -> Value:
    """A number to which the loop of these blocks adds what it does not change.

    Or takes that instead of it in all iterations, or in none: LLVM makes a loop of each.
    """
    while isinstance(index, Instruction) and index.op in ("add", "select") and index.block in inside:
        moving = [v for v in index.operands if changes_in(v, inside)]
        if len(moving) != 1 or (index.op == "select" and moving[0] is index.operands[0]):
            break
        (index,) = moving
    return index


def changes_in(value: Value, inside: set[BasicBlock]) -> bool:
    """Whether a value may differ between iterations of the loop of these blocks."""

    def is_within(part: Value) -> bool:
        return isinstance(part, Instruction) and part.block in inside

    return any(
        isinstance(part, Instruction)
        and part.block in inside
        and (part.is_phi or may_read(part) or may_write(part))
        for part in slice_of(value, is_within)
    )


def _is_found(address: Value, inside: set[BasicBlock], seen: set[Value]) -> bool:
    """Whether what is loaded in these blocks takes part in an address."""
    if not isinstance(address, Instruction) or address.block not in inside or address in seen:
        return False
    seen.add(address)
    return address.op == "load" or (
        not address.is_phi and any(_is_found(v, inside, seen) for v in address.operands)
    )


def _may_be_reordered(phi: Instruction, inside: set[BasicBlock]) -> bool:
    """Whether a total, if it is one, is of integers, or its additions may be made in any order."""
    updates = [v for v, source in phi.incoming() if source in inside and isinstance(v, Instruction)]
    return not phi.type.is_float or all({"fast", "reassoc"} & set(u.flags) for u in updates)


def hands_on_elements(loop: Loop, view: CFGView) -> bool:
    """Whether an innermost loop loads what it has stored fewer than `APART` iterations before, as recurrences do.

    ``c[k] = b[k] / (a[k] - c[k - 1])`` hands on nothing in registers, and no vectorizer takes it. What is stored is
    compared with what is loaded where both are the same sum of the same values, a number apart.
    """
    function = view.blocks[loop.header].function
    assert function is not None
    layout = function.layout
    accesses = [i for b in loop.blocks for i in view.blocks[b].instructions if i.is_plain_access]
    stored: dict[tuple[Value, frozenset[tuple[Value, int]]], list[int]] = {}
    for store in (i for i in accesses if i.op == "store"):
        place = linear_location(store.pointer, layout)
        stored.setdefault((place.base, _counted(place)), []).append(place.offset)
    for load in (i for i in accesses if i.op == "load"):
        place = linear_location(load.pointer, layout)
        offsets = stored.get((place.base, _counted(place)))
        step = _step(place.terms, loop, view) if offsets else 0
        if step and any(0 < (offset - place.offset) / step < APART for offset in offsets or ()):
            return True
    return False


def _counted(place: Location) -> frozenset[tuple[Value, int]]:
    """The terms of a place but for those that are there for negative indices."""
    return frozenset(each for each in place.terms.items() if not is_for_the_end(each[0]))


def _step(terms: Mapping[Value, int], loop: Loop, view: CFGView) -> int:
    """By how many bytes a place moves from one iteration to the next; 0 where that is not known."""
    if len(loop.latches) != 1:
        return 0
    header, latch, total = view.blocks[loop.header], view.blocks[loop.latches[0]], 0
    for value, scale in terms.items():
        while isinstance(value, Instruction) and value.op in ("sext", "zext"):
            value = value.operands[0]
        if isinstance(value, Instruction) and value.is_phi and value.block is header:
            step = step_of(value, latch)
            if not isinstance(step, ConstInt):
                return 0
            total += scale * step.signed
    return total

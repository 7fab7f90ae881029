"""Which operands of nests that add up are copied before lanes read them (``parallel="auto"``, ``--loop auto``).

In ``for i: for j <= i: for k: c[i, j] += a[i, k] * b[j, k]`` lanes run along j, so that `b` is read across its rows: a
gather in each iteration. Where nests go through their sums in tiles, such operands are copied, for as many columns as
make 8 registers (`weft.transform.loops.pack_columns`); all iterations of i then read neighbours, from the first cache.

Each copied element is one that the nest reads: its first or its last row has all columns.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.scope import LoopContext
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.transform.loops.tile_loop import goes_up

BYTES = 24 << 10
"""Of all copies: most of a first-level cache."""

REGISTERS = 8
"""That the columns of a copy fill."""

LEAST_DEPTH = 16
"""Numbers that are added up at a time, at least: each element of `c` is loaded and stored for these."""

MOST_COPIES = 4

NEAR = 8
"""Strides up to so many elements are wide accesses and shuffles, not gathers."""

_RISING = {"slt", "sle", "ult", "ule"}

_COMPUTED = {"fadd", "fsub", "fmul", "fdiv", "add", "sub", "mul"}
"""What may be computed of an element before it is copied."""


class Packing(Struct, frozen=True):
    """How operands of a nest are copied.

    Parameters
    ----------
    values
        What is copied.
    at_first
        Whether the first iteration of the outer loop has all columns, not the last.
    columns, depth
        Of a copy.
    """

    values: tuple[Instruction, ...]
    at_first: bool
    columns: int
    depth: int


def packing_of(
    accesses: Accesses,
    loops: tuple[LoopContext, LoopContext, LoopContext],
    shared: list[Access],
    size: int,
    bits: int,
) -> Packing | None:
    """What is copied in a nest; None if nothing is.

    Parameters
    ----------
    loops
        The nest; the two outer ones are parallel, the inner one adds up.
    shared
        What all iterations of the outer loop read.
    size
        So many numbers are added up at a time, at most.
    bits
        Of a register.
    """
    outer, middle, inner = loops
    at_first = _row_with_all(accesses, outer, middle)
    known = accesses.of(outer)
    plain = [a for a in known if isinstance(a, Access) and a.base is not None]
    if at_first is None or len(plain) < len(known):
        return None
    written = {a.base for a in plain if a.is_write}
    if any(_step(a, middle) != a.element for a in plain if a.is_write):
        # Lanes do not run along the middle loop.
        return None
    values: dict[Instruction, None] = {}
    for access in shared:
        step = _step(access, middle)
        if step is not None and abs(step) <= NEAR * access.element:
            continue
        if access.base in written or access.base is None or outer.contains(access.base.loop):
            continue
        if _can_be_copied(access, outer, middle, inner):
            values[_computed_of(access.instruction, outer, inner)] = None
    if not 0 < len(values) <= MOST_COPIES:
        return None
    layout = outer.scope.function.layout
    sizes = [layout.store_size(v.type) for v in values]
    columns = bits * REGISTERS // (8 * max(sizes))
    depth = BYTES // (columns * sum(sizes)) // 8 * 8
    return Packing(tuple(values), at_first, columns, min(size, max(LEAST_DEPTH, depth)))


def _row_with_all(accesses: Accesses, outer: LoopContext, middle: LoopContext) -> bool | None:
    """Whether the first (or the last) iteration of the outer loop runs the middle one for all columns of any."""
    if any(not _rises(c.counted) for c in (outer, middle)):
        return None
    counted = middle.counted
    assert isinstance(counted, CountedLoop)
    made, moves = accesses.reconstruction, []
    for value in (counted.counter.start, counted.bound):
        expression = made.at(middle.scope, value, counted.preheader)
        if any(s is not outer.iteration and outer.contains(s.loop) for s in expression.symbols()):
            return None
        parts = expression.coefficients(outer.iteration)
        if len(parts) > 2 or any(outer.iteration in p.symbols() for p in parts):
            return None
        move = parts[1].constant if len(parts) == 2 else 0
        if move is None or not _is_computed(value, outer, {_phi(outer)}):
            return None
        moves.append(move)
    if moves[0] <= 0 <= moves[1]:
        return False
    return True if moves[1] <= 0 <= moves[0] else None


def _rises(counted: CountedLoop | str) -> bool:
    return not isinstance(counted, str) and counted.predicate in _RISING and goes_up(counted)


def _phi(loop: LoopContext) -> Value:
    assert isinstance(loop.counted, CountedLoop)
    return loop.counted.counter.phi


def _step(access: Access, loop: LoopContext) -> int | None:
    """How many bytes an access moves from iteration to iteration, None for no number."""
    parts = access.offset.coefficients(loop.iteration)
    if any(loop.iteration in p.symbols() for p in parts):
        return None
    if len(parts) == 1:
        return 0
    return parts[1].constant if len(parts) == 2 else None


def _can_be_copied(access: Access, outer: LoopContext, middle: LoopContext, inner: LoopContext) -> bool:
    """Whether an access is a load in each iteration, of a place that depends on the two inner loops alone."""
    load, scope = access.instruction, outer.scope
    if load.op != "load" or not load.is_plain_access or access.scope is not scope:
        return False
    latch = scope.view.blocks[inner.loop.latches[0]]
    return scope.dominates(access.block, latch) and _is_computed(
        load.pointer, outer, {_phi(middle), _phi(inner)}
    )


def _is_computed(value: Value, outer: LoopContext, counters: set[Value]) -> bool:
    """Whether a value is computed without effect from these counters, and what stands outside of a loop."""
    inside: set[BasicBlock] = set(outer.blocks)
    pending, seen = [value], {value}
    while pending:
        found = pending.pop()
        if found in counters or not isinstance(found, Instruction) or found.block not in inside:
            continue
        if not is_speculatable(found):
            return False
        pending += [v for v in found.operands if v not in seen]
        seen.update(found.operands)
    return True


def _computed_of(load: Instruction, outer: LoopContext, inner: LoopContext) -> Instruction:
    """What a loaded element is used for, as long as that is one value, of nothing else that the nest changes."""
    around, body, value = set(outer.blocks), set(inner.blocks), load
    while True:
        users = list(value.instruction_users())
        if len(users) != 1 or users[0].op not in _COMPUTED or users[0].type != load.type:
            return value
        user = users[0]
        others = [v for v in user.operands if v is not value]
        if user.block not in body or not is_speculatable(user):
            return value
        if any(isinstance(v, Instruction) and v.block in around for v in others):
            return value
        value = user

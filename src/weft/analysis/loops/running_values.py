"""Running values of a loop that go on side by side, each by the next element in memory.

    for i, a step of 4 apart: r0 += a[i] * b[i]; r1 += a[i + 1] * b[i + 1]; r2 += ...; r3 += ...

Sums that may not be added up in any order are written with as many running values as an addition takes to be there for
the next (``np.dot``, by hand elsewhere). They are one vector (`weft.target.rewrites.totals_in_lanes`).

Facts about one innermost loop of a header and at most one more block, which writes no memory, closed by φs.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct, field

from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.constants import Constant, ConstInt
from weft.ir.effects import is_speculatable, may_write
from weft.ir.types import FloatType, IntType, Type

LANES = 32, 16, 8, 4
"""How many running values a vector has: two are as fast as LLVM's SLP vectorizer makes them."""

MOST = 16
"""Instructions of an update."""

_UPDATES = frozenset(("fadd", "fsub", "fmul", "add", "sub", "mul", "and", "or", "xor"))
_INSIDE = _UPDATES | frozenset(
    ("fneg", "fpext", "fptrunc", "sext", "zext", "trunc", "sitofp", "uitofp", "shl", "lshr")
)
_SIZES = 8, 16, 32, 64


class Running(Struct):
    """A running value.

    Parameters
    ----------
    phi, update
        The value at the begin of an iteration, and what makes that of the next one.
    kind
        What running values have in common that may be one vector.
    loads
        The loads of the update, in the order in which they are found.
    offsets
        How many bytes each is behind its base.
    """

    phi: Instruction
    update: Instruction
    kind: Hashable
    loads: list[Instruction] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


class SideBySide(Struct, frozen=True):
    """Running values that are one vector, in the order of its lanes, and where they run.

    Parameters
    ----------
    values
        The values.
    before, header, latch
        The block in front of the loop, its header, and its last one.
    """

    values: list[Running]
    before: BasicBlock
    header: BasicBlock
    latch: BasicBlock


def side_by_side(loop: Loop, view: CFGView) -> list[SideBySide]:
    """The running values of a loop that may be vectors."""
    if loop.children or len(loop.entries) > 1 or len(loop.latches) != 1 or len(loop.blocks) > 2:
        return []
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    before = [p for p in header.predecessors if p is not latch]
    inside = {header, latch}
    if len(before) != 1 or any(len(view.blocks[e].predecessors) != 1 for e in loop.exits):
        return []
    if not all(i.is_phi or i.is_terminator or _may_move_over(i) for block in inside for i in block):
        return []
    kinds: dict[Hashable, list[Running]] = {}
    for phi in header.phis():
        running = _running(phi, latch, inside)
        if running is not None:
            kinds.setdefault(running.kind, []).append(running)
    return [SideBySide(run, before[0], header, latch) for each in kinds.values() for run in _runs(each)]


def _may_move_over(i: Instruction) -> bool:
    return (i.op == "load" and i.is_plain_access) or (is_speculatable(i) and not may_write(i))


def _running(phi: Instruction, latch: BasicBlock, inside: set[BasicBlock]) -> Running | None:
    """A φ as a running value, if it is one whose next one is made of what is loaded."""
    update = phi.incoming_value(latch)
    if not _has_size(phi.type) or not isinstance(update, Instruction) or update.block is not latch:
        return None
    if update.op not in _UPDATES or [v is phi for v in update.operands].count(True) != 1:
        return None
    place = int(update.operands[1] is phi)
    if place and update.op in ("fsub", "sub"):
        return None
    if not _is_used_by(phi, update, inside) or not _is_used_by(update, phi, inside):
        return None
    running = Running(phi, update, None)
    term = _kind(update.operands[1 - place], update, latch, running, [MOST])
    if term is None or not running.loads:
        return None
    running.kind = (phi.type, update.op, update.flags, place, term)
    return running


def _has_size(type: Type) -> bool:
    return isinstance(type, FloatType) or (isinstance(type, IntType) and type.bits in _SIZES)


def _is_used_by(value: Instruction, user: Instruction, inside: set[BasicBlock]) -> bool:
    """Whether a value has no other user in the loop, and behind it only φs, which the loop is closed by."""
    return all(u is user or (u.block not in inside and u.is_phi) for u in value.instruction_users())


def _kind(
    value: Value, user: Instruction, latch: BasicBlock, running: Running, left: list[int]
) -> Hashable | None:
    """What a part of an update has in common with others; None where it may not be part of a vector.

    It is a value that is the same in all updates, or instructions of the loop that nothing else uses.
    """
    if isinstance(value, Constant) or not isinstance(value, Instruction) or value.block is not latch:
        # A value of the header may be there for one of the updates alone, but then no other has it.
        return ("same", value) if _has_size(value.type) else None
    left[0] -= 1
    if left[0] < 0 or not _has_size(value.type):
        return None
    if value.op == "load":
        base, offset = place_of(value.pointer)
        running.loads.append(value)
        running.offsets.append(offset)
        return "load", value.type, base
    if value.op not in _INSIDE or list(value.instruction_users()) != [user]:
        return None
    parts = [_kind(v, value, latch, running, left) for v in value.operands]
    return None if None in parts else (value.op, value.type, value.flags, *parts)


def place_of(pointer: Value) -> tuple[Value, int]:
    """An address as another one and a number of bytes behind it."""
    offset = 0
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr" and len(pointer.operands) == 2:
        base, index = pointer.operands
        if not isinstance(index, ConstInt) or base.type != pointer.type:
            break
        offset += index.signed * pointer.function.layout.size(pointer.source_type)
        pointer = base
    return pointer, offset


def _runs(found: list[Running]) -> list[list[Running]]:
    """Of values of one kind, those side by side, as many as vectors have."""
    sizes = [one.phi.function.layout.size(load.type) for one in found[:1] for load in one.loads]
    ordered = sorted(found, key=lambda one: one.offsets)
    runs: list[list[Running]] = []
    for one in ordered:
        if runs and one.offsets == [o + s for o, s in zip(runs[-1][-1].offsets, sizes, strict=True)]:
            runs[-1].append(one)
        else:
            runs.append([one])
    return [part for run in runs for part in _cut(run)]


def _cut(run: list[Running]) -> list[list[Running]]:
    parts: list[list[Running]] = []
    for lanes in LANES:
        while len(run) >= lanes:
            parts.append(run[:lanes])
            run = run[lanes:]
    return parts

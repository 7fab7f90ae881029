"""What an access costs a warp on a GPU and a lane group on a CPU, for a mapping (Juravle, §5.1).

Within a warp all is fixed but the iteration of the loop that is x, so the offset is affine in it or the lanes are
scattered. `requested` is exact for a given warp, in the iterations of all loops (that of x is the one of the first
lane). `transactions` is what a full warp costs, in parameters only; for that it is assumed that an array begins at
the start of a line and that terms with parameters do not move a warp within a line ("rows begin at lines"); of terms
with a number (``4*k``) the worst place is taken. The assumptions are named.
"""

from __future__ import annotations

from enum import Enum
from math import gcd

from msgspec import Struct

from weft.analysis.mapping.banks import turns_of_banks
from weft.analysis.mapping.lines import Lines, touched_lines
from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import (
    Atom,
    Expression,
    Monomial,
    as_expression,
    floor_division,
    minimum,
)
from weft.analysis.symbolic.facts import Facts
from weft.machine.gpus import WARP
from weft.machine.transactions import LINE

CPU_LINE = 64
"""Bytes of a cache line of a CPU."""


class Contiguity(Enum):
    """How the lanes of a group lie in memory."""

    UNIFORM = "uniform"
    CONTIGUOUS = "contiguous"
    REVERSED = "reversed"
    STRIDED = "strided"
    SCATTERED = "scattered"


class LaneCost(Struct, frozen=True, eq=False):
    """What an access costs for a mapping.

    Parameters
    ----------
    transactions
        Lines of 128 bytes that a full warp touches at most, in parameters.
    is_bound
        Whether it may be less, by what is not known of the lanes.
    access, facts
        The access, and what is known where it is.
    lanes
        Those of a full warp.
    stride
        Bytes from lane to lane, None of scattered lanes.
    contiguity
        How lanes lie.
    cpu_lines
        Lines of 64 bytes that a lane group of a CPU touches at most.
    bank_turns
        Turns of the banks of shared memory if the array was there, None where that is not known.
    assumptions
        What `transactions` rests on.
    """

    transactions: Expression
    is_bound: bool
    access: Access
    facts: Facts
    lanes: Expression
    stride: Expression | None
    contiguity: Contiguity
    cpu_lines: Expression
    bank_turns: int | None
    assumptions: tuple[Assumption, ...]

    @property
    def requested(self) -> Lines | None:
        """The lines of the warp that begins at the iterations that are symbols in it; None of scattered lanes."""
        if self.stride is None:
            return None
        access = self.access
        return touched_lines(access.offset, self.stride, access.element, self.lanes, LINE, self.facts)


def stride_along(access: Access, loop: LoopContext) -> Expression | None:
    """The bytes between an access of one iteration and the next; None if that is not one number for a warp."""
    parts = access.offset.coefficients(loop.iteration)
    if len(parts) > 2 or any(
        loop.contains(s.loop) and not isinstance(s.origin, LoopContext) for s in access.offset.symbols()
    ):
        return None
    stride = parts[1] if len(parts) == 2 else as_expression(0)
    if any(loop.iteration in part.symbols() for part in parts):
        return None
    return stride


def cost_of(access: Access, x: LoopContext, facts: Facts, width: int, rounds: int | None) -> LaneCost:
    """The cost of one access for all mappings with the same x.

    Parameters
    ----------
    access
        The access; its size is a number.
    x
        The loop of the grid's x dimension.
    facts
        What holds when it happens.
    width
        Lanes of a lane group on the CPU.
    rounds
        How often the loop x runs, if that is a number.
    """
    size = access.element
    lanes = as_expression(WARP if rounds is None else max(1, min(WARP, rounds)))
    group = as_expression(width if rounds is None else max(1, min(width, rounds)))
    stride = stride_along(access, x)
    if stride is None:
        most = 1 + -(-(size - 1) // LINE) if LINE % size else 1
        scattered = Contiguity.SCATTERED
        return LaneCost(lanes * most, True, access, facts, lanes, None, scattered, group * most, None, ())
    own = facts
    assumptions: dict[Assumption, None] = {}
    if not facts.is_nonnegative(stride) and not facts.is_nonnegative(-stride):
        # The thesis, too, takes symbols of unknown sign for positive.
        assumptions[Assumption("sign", f"{stride} is not negative", access.line, stride)] = None
        facts = facts.also([stride])
    count, exact = _full_group(access, x, stride, lanes, LINE, facts, assumptions)
    lines, _ = _full_group(access, x, stride, group, CPU_LINE, facts, {})
    number = stride.constant
    turns = None if number is None else turns_of_banks(number, size)
    kind = _contiguity(number, size)
    return LaneCost(count, not exact, access, own, lanes, stride, kind, lines, turns, tuple(assumptions))


def _contiguity(stride: int | None, size: int) -> Contiguity:
    if stride == 0:
        return Contiguity.UNIFORM
    if stride == size:
        return Contiguity.CONTIGUOUS
    return Contiguity.REVERSED if stride == -size else Contiguity.STRIDED


def _full_group(
    access: Access,
    x: LoopContext,
    stride: Expression,
    lanes: Expression,
    line: int,
    facts: Facts,
    assumptions: dict[Assumption, None],
) -> tuple[Expression, bool]:
    """The most lines that a full group touches, wherever it begins; and whether all lines are known."""
    place, unit = _place(access, x, lanes, line, assumptions)
    place %= line
    if stride.constant is None:
        # Where a group begins costs one line more at most: it is taken to begin where its number of bytes says.
        known = _by_stride(stride, access.element, place, lanes, line, facts)
        if known is not None:
            return known, True
    else:
        # The count rises with the place of the first byte in its line.
        place = max(range(place % unit, line, unit))
    is_number = stride.constant is not None
    found = touched_lines(as_expression(place), stride, access.element, lanes, line, facts, is_number)
    distance, count = stride.constant, lanes.constant
    if distance is not None and abs(distance) > line and not found.is_exact and count is not None:
        return as_expression(count * (1 + -(-(access.element - 1) // line))), False
    return found.count, found.is_exact


def _place(
    access: Access, x: LoopContext, lanes: Expression, line: int, assumptions: dict[Assumption, None]
) -> tuple[int, int]:
    """Where in a line a group may begin: at a number, and multiples of a unit from it."""
    unit, count = line, lanes.constant or 1
    rows: list[tuple[Monomial, int]] = []
    for monomial, coefficient in access.offset.terms.items():
        sizes = tuple(a for a in monomial if _is_parameter(a))
        if monomial == (x.iteration,):
            # A group begins at a multiple of its lanes.
            unit = gcd(unit, coefficient * count)
        elif monomial and not sizes:
            unit = gcd(unit, coefficient)
        elif len(sizes) < len(monomial):
            rows.append((sizes, abs(coefficient)))
            if coefficient * (count if x.iteration in monomial else 1) % line:
                text = f"{Expression({sizes: abs(coefficient)})} is a multiple of {line}"
                assumptions[Assumption("alignment", text)] = None
    for monomial, coefficient in access.offset.terms.items():
        if monomial and all(map(_is_parameter, monomial)) and not _has_row(monomial, coefficient, rows):
            unit = gcd(unit, coefficient)
    return access.offset.offset, unit


def _has_row(monomial: Monomial, coefficient: int, rows: list[tuple[Monomial, int]]) -> bool:
    """Whether a product is a multiple of a row's size."""
    return any(coefficient % number == 0 and all(a in monomial for a in sizes) for sizes, number in rows)


def _is_parameter(atom: Atom) -> bool:
    """Whether an atom is the same for all iterations."""
    return all(s.loop is None for s in as_expression(atom).symbols())


def _by_stride(
    stride: Expression, size: int, start: int, lanes: Expression, line: int, facts: Facts
) -> Expression | None:
    """``min(lanes, stride·lanes / line)``, for groups that begin at a line.

    With c = stride and L lanes, ``floor(((L - 1)·c + size - 1) / line) + 1`` is ``L·c / line`` if that is whole and
    ``size <= c < line + size``; for greater c both are at least L. The matrix addition of §5.1 costs min(32, N).
    """
    count = lanes.constant
    if count is None or start % line or line % size:
        return None
    total = stride * count
    if any(c % line for c in total.terms.values()) or not facts.is_nonnegative(stride - size):
        return None
    if any(c % size for c in stride.terms.values()):
        return None
    return minimum([lanes, floor_division(total, line)])

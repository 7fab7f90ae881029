"""Which place each spilled value gets (Sampaio et al. Fig. 18), and why.

``local``
    Local memory for all: Tra, the traditional allocator.
``div``
    What is uniform goes to a slot of the warp, all else to local memory: DivRA, with row (ii) alone.
``affine``
    All rows: AffRA.
``hybrid``
    As AffRA, and what would be in local memory gets words in shared memory for each thread, as long as as many warps
    are resident as without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from weft.analysis.gated.polynomial import UNKNOWN, Polynomial
from weft.ptx.regalloc.places import fits
from weft.spill.convergence import Sharing


class Policy(StrEnum):
    """How spilled values are placed."""

    LOCAL = "local"
    DIV = "div"
    AFFINE = "affine"
    HYBRID = "hybrid"
    AUTO = "auto"


class Row(Enum):
    """A row of Fig. 18."""

    CONSTANT = "(0,c)"
    UNIFORM = "(0,⊥)"
    AFFINE = "(c,c')"
    AFFINE_BASE = "(c,⊥)"
    OTHER = "⊥"


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a spilled value goes.

    Parameters
    ----------
    row
        How it is treated.
    why
        In words.
    state
        What it is, whatever is done with it.
    sharing
        Whether threads of a warp may share a slot.
    constant, factors
        Of the rows that need them.
    """

    row: Row
    why: str
    state: Row
    sharing: Sharing
    constant: int = 0
    factors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """A spilled value.

    Parameters
    ----------
    name
        Its register.
    bits
        Its size.
    state
        What holds of it wherever it is written or read; None where nothing is known.
    literal
        The bits of the constant that all instructions that write it move there; None if they do not.
    sharing
        Whether threads of a warp may share a slot.
    """

    name: str
    bits: int
    state: Polynomial | None
    literal: int | None
    sharing: Sharing


def kind_of(value: Value) -> Row:
    """The kind of state of a value."""
    if value.literal is not None:
        return Row.CONSTANT
    state = value.state
    if state is None:
        return Row.OTHER
    if state.is_uniform:
        return Row.UNIFORM if state.constant is None else Row.CONSTANT
    if state.is_affine and state.bits in (32, 64):
        factors = factors_of(state)
        if UNKNOWN not in factors and fits(tuple(f or 0 for f in factors)):
            return Row.AFFINE_BASE if state.coefficients[0] is UNKNOWN else Row.AFFINE
    return Row.OTHER


def factors_of(state: Polynomial) -> tuple[int | None, ...]:
    """The coefficients of the thread ids."""
    return state.coefficients[1 : state.domain.first_of_degree(2)]


def choose(value: Value, policy: Policy) -> Choice:
    """The row of Fig. 18 for a value under a policy; `Row.OTHER` is local memory, or the thread's words."""
    kind, sharing = kind_of(value), value.sharing
    if policy is Policy.LOCAL:
        return Choice(Row.OTHER, "every spilled value is in local memory", kind, sharing)
    if policy is Policy.DIV:
        if kind not in (Row.UNIFORM, Row.CONSTANT):
            return Choice(Row.OTHER, "differs from thread to thread", kind, sharing)
        return _shared(kind, sharing, Row.UNIFORM)
    if kind is Row.CONSTANT and value.bits >= 16:
        number = value.literal if value.literal is not None else _number(value)
        return Choice(Row.CONSTANT, f"is always {number}", kind, sharing, constant=number)
    if kind in (Row.UNIFORM, Row.CONSTANT):
        return _shared(kind, sharing, Row.UNIFORM)
    if kind in (Row.AFFINE, Row.AFFINE_BASE):
        assert value.state is not None
        factors = tuple(f or 0 for f in factors_of(value.state))
        if kind is Row.AFFINE:
            constant = value.state.coefficients[0] or 0
            why = f"is {_text(factors)} + {constant} in each thread"
            return Choice(Row.AFFINE, why, kind, sharing, constant, factors)
        return _shared(kind, sharing, Row.AFFINE_BASE, factors)
    return Choice(Row.OTHER, "differs from thread to thread", kind, sharing)


def _number(value: Value) -> int:
    assert value.state is not None and value.state.constant is not None
    return value.state.constant


def _shared(kind: Row, sharing: Sharing, row: Row, factors: tuple[int, ...] = ()) -> Choice:
    if sharing is Sharing.NO:
        return Choice(Row.OTHER, f"is {_said(kind, factors)}, but {sharing.value}", kind, sharing)
    return Choice(row, f"is {_said(kind, factors)}, {sharing.value}", kind, sharing, factors=factors)


def _said(kind: Row, factors: tuple[int, ...]) -> str:
    return f"{_text(factors)} + what the warp shares" if kind is Row.AFFINE_BASE else "the same in the warp"


def _text(factors: tuple[int, ...]) -> str:
    return " + ".join(
        f"{'' if f == 1 else f'{f}*'}tid.{d}" for f, d in zip(factors, "xyz", strict=False) if f
    )


def distribution(values: Mapping[str, Value]) -> dict[Row, int]:
    """How many values have which kind of state (Fig. 26 a and b)."""
    found = dict.fromkeys(Row, 0)
    for value in values.values():
        found[kind_of(value)] += 1
    return found

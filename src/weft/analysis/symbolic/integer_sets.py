"""Whether integers exist that fulfil affine inequalities: Presburger sets, by isl (through islpy).

Products of symbols, minima and maxima are no affine terms. Each different product becomes a variable of its own of
which only its range is known, which forgets what relates it to others: fewer sets are then seen to be empty, none
wrongly. A floor division by a number is described exactly. The answer for what is affine is exact, where the range
test and the tests of Banerjee and by the greatest common divisor are not; all three are special cases.

islpy comes with ``pip install 'weft[loops]'`` and is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from weft.analysis.symbolic.expression import Atom, Expression, Floor, Maximum, Minimum, Symbol
from weft.analysis.symbolic.numeric_bounds import numeric_range
from weft.diag.errors import UnsupportedError

MAX_VARIABLES = 24
MAX_CONSTRAINTS = 60
"""Larger systems are not tried: they count as solvable."""

MAX_OPERATIONS = 200_000
"""isl gives up after so many, a fraction of a second; the system then counts as solvable."""

_LARGE = 1 << 40
"""Ranges of symbols that reach so far say nothing that matters, and make isl slow."""


@cache
def isl() -> Any:
    """The module islpy.

    Raises
    ------
    UnsupportedError
        It is not installed.
    """
    try:
        return import_module("islpy")
    except ImportError:
        raise UnsupportedError(
            "dependences are tested with integer sets, and islpy is not installed",
            hint="pip install 'weft[loops]'",
        ) from None


@cache
def has_isl() -> bool:
    """Whether islpy is installed."""
    return find_spec("islpy") is not None


def solutions(
    inequalities: Iterable[Expression], of: Symbol | None = None
) -> tuple[bool, int | None, int | None]:
    """Whether integers may exist for which all inequalities ``e >= 0`` hold.

    Parameters
    ----------
    inequalities
        The system.
    of
        A symbol whose least and greatest values are asked for.

    Returns
    -------
    Whether the system may be solvable, and the least and the greatest value of `of` in solutions, None where they are
    open or not known.

    Raises
    ------
    UnsupportedError
        islpy is not installed.
    """
    system = _System()
    rows = [system.row(e) for e in inequalities]
    rows += system.definitions
    count = len(system.columns)
    if count > MAX_VARIABLES or len(rows) > MAX_CONSTRAINTS:
        return True, None, None
    # Loops are looked at again behind each change of a function, of which most change few of them.
    unique = dict.fromkeys((tuple(sorted(c.items())), constant) for c, constant in rows)
    return _solutions(tuple(unique), count, None if of is None else system.columns.get(of))


_Row = tuple[tuple[tuple[int, int], ...], int]


@lru_cache(maxsize=1 << 14)
def _solutions(rows: tuple[_Row, ...], count: int, column: int | None) -> tuple[bool, int | None, int | None]:
    """The same for columns by number: each row has coefficients by column, and a constant."""
    found = isl()
    context = _context()
    context.reset_operations()
    space = found.Space.set_alloc(context, 0, count)
    basic = found.BasicSet.universe(space)
    # Each operation gives another constraint, so all begin with this one.
    nothing = found.Constraint.inequality_alloc(found.LocalSpace.from_space(space))
    kind = found.dim_type.set
    for coefficients, constant in rows:
        constraint = nothing
        for at, coefficient in coefficients:
            constraint = constraint.set_coefficient_val(kind, at, _number(coefficient))
        basic = basic.add_constraint(constraint.set_constant_val(_number(constant)))
    try:
        if basic.is_empty():
            return False, None, None
        if column is None:
            return True, None, None
        line = basic.to_set()
        return True, _end(line, column, upper=False), _end(line, column, upper=True)
    except found.Error:
        return True, None, None


@lru_cache(maxsize=1 << 12)
def _number(value: int) -> Any:
    """A number of isl's; the same ones come again and again."""
    found = isl()
    if abs(value) < _LARGE << 20:
        return found.Val.int_from_si(_context(), value)
    return found.Val.read_from_str(_context(), str(value))


def _end(points: Any, column: int, *, upper: bool) -> int | None:
    value = points.dim_max_val(column) if upper else points.dim_min_val(column)
    return int(value.to_python()) if value.is_int() else None


@cache
def _context() -> Any:
    found = isl()
    context = found.Context()
    context.set_max_operations(MAX_OPERATIONS)
    return context


class _System:
    """Columns of a system, made as expressions are read."""

    __slots__ = ("columns", "definitions")

    def __init__(self) -> None:
        self.columns: dict[Atom | tuple[Atom, ...], int] = {}
        self.definitions: list[tuple[dict[int, int], int]] = []

    def row(self, value: Expression) -> tuple[dict[int, int], int]:
        """An inequality as coefficients of columns, and a constant."""
        coefficients: dict[int, int] = {}
        for monomial, coefficient in value.terms.items():
            if monomial:
                column = self._column(monomial[0] if len(monomial) == 1 else monomial)
                coefficients[column] = coefficients.get(column, 0) + coefficient
        return coefficients, value.offset

    def _column(self, what: Atom | tuple[Atom, ...]) -> int:
        column = self.columns.get(what)
        if column is not None:
            return column
        column = self.columns[what] = len(self.columns)
        if isinstance(what, tuple):
            if all(_starts_at_zero(atom) for atom in what):
                self.definitions.append(({column: 1}, 0))
            return column
        low, high = numeric_range(what)
        if low is not None and low > -_LARGE:
            self.definitions.append(({column: 1}, -low))
        if high is not None and high < _LARGE:
            self.definitions.append(({column: -1}, high))
        if isinstance(what, Floor):
            self._define_floor(what, column)
        elif isinstance(what, Minimum | Maximum):
            way = -1 if isinstance(what, Minimum) else 1
            for value in what.values:
                self._define(value, -way, column, way, 0)
        return column

    def _define_floor(self, floor: Floor, column: int) -> None:
        number = floor.divisor.constant
        if number is None:
            return
        # 0 <= value - number·column <= number - 1.
        self._define(floor.value, 1, column, -number, 0)
        self._define(floor.value, -1, column, number, number - 1)

    def _define(self, value: Expression, factor: int, column: int, times: int, constant: int) -> None:
        coefficients, offset = self.row(value * factor)
        coefficients[column] = coefficients.get(column, 0) + times
        self.definitions.append((coefficients, offset + constant))


def _starts_at_zero(atom: Atom) -> bool:
    low = numeric_range(atom)[0]
    return low is not None and low >= 0


def is_empty(inequalities: Sequence[Expression]) -> bool:
    """Whether no integers fulfil all of the inequalities."""
    return not solutions(inequalities)[0]

"""Rows whose lengths are parameters: which these are, and code for launches that know them, for every door.

=================  ============================================================================================
known parameters   parameters of which the caller has promised the value are numbers (`CompileOptions.known`), and one
                   where two are equal
short rows         loops along short rows are written out; parameters that rows have their lengths from are noted, and
                   extents of arrays that matter if they are equal
=================  ============================================================================================

The general code of a function tells by these notes which numbers to look at; `weft.runtime.row_numbers` does.
"""

from __future__ import annotations

from typing import Protocol

from weft.analysis.integers.equal_extents import equal_extents
from weft.analysis.loops.row_loops import LONGEST_KNOWN, row_loops, straight_rows
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import ConstFloat, ConstInt, Function, Module
from weft.ir.cfg_view import cfg_of
from weft.ir.locations import span_of
from weft.ir.types import FloatType, IntType
from weft.options import Timings
from weft.passes.declared import Pass
from weft.passes.runner import Runner
from weft.passes.scalar import CANONICAL
from weft.runtime.row_numbers import difference_of, slots_of_difference
from weft.target.machine import TargetSpec
from weft.transform.loops.unroll_rows import unroll_rows


class RowUnit(Protocol):
    """A function, what is known of its parameters, and what rows have their lengths from."""

    module: Module
    row_numbers: tuple[tuple[int, int], ...]

    @property
    def function(self) -> Function:
        """The function at hand."""
        ...

    @property
    def known(self) -> tuple[tuple[int, int | float], ...]:
        """Parameters by number, and their values."""
        ...

    @property
    def plain_loops(self) -> bool:
        """Whether loops of which nothing is said may run in parallel."""
        ...

    @property
    def runner(self) -> Runner:
        """Runs passes."""
        ...

    @property
    def remarks(self) -> RemarkLog:
        """What was decided."""
        ...

    @property
    def spec(self) -> TargetSpec:
        """What it is compiled for."""
        ...

    @property
    def timings(self) -> Timings:
        """Seconds in each part of the compilation."""
        ...


def _know_numbers(unit: RowUnit) -> None:
    arguments = list(unit.function.args)
    for index, _ in unit.known:
        two = slots_of_difference(index)
        if two is not None:
            first, second = (arguments[n] for n in two)
            if first is not second:
                second.replace_all_uses(first)
                arguments = [first if a is second else a for a in arguments]
    for index, value in unit.known:
        if slots_of_difference(index) is not None:
            continue
        argument = arguments[index]
        if isinstance(argument.type, FloatType):
            argument.replace_all_uses(ConstFloat.of(argument.type, value))
        else:
            assert isinstance(argument.type, IntType)
            argument.replace_all_uses(ConstInt(argument.type, int(value)))


def _write_out(unit: RowUnit) -> bool:
    asked = [i for function in unit.module.definitions() for i in unroll_rows(function)]
    for span in dict.fromkeys(map(span_of, asked)):
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            "this loop along a short row is written out",
            span,
            pass_name=SHORT_ROWS.name,
        )
    if asked:
        unit.runner.watched_by().run((CANONICAL,), unit)
    function, known = unit.function, dict(unit.known)
    view = cfg_of(function)
    straight = straight_rows(function, view, auto=unit.plain_loops)
    found = {n: longest for n, longest in straight.items() if n not in known}
    for row in row_loops(function, view):
        for number in row.numbers:
            if number not in known:
                found[number] = LONGEST_KNOWN
    pairs = (difference_of(*pair) for pair in equal_extents(function))
    found |= dict.fromkeys((pair for pair in pairs if pair not in known), 0)
    unit.row_numbers = tuple(sorted(found.items()))
    return bool(asked)


KNOWN_PARAMETERS: Pass[RowUnit] = Pass(
    "known parameters",
    "parameters of which the caller has promised the value are numbers",
    _know_numbers,
    applies=lambda unit: bool(unit.known),
)
SHORT_ROWS: Pass[RowUnit] = Pass(
    "short rows",
    "no loop is left along short rows that each thread has for itself",
    _write_out,
    optional=True,
)

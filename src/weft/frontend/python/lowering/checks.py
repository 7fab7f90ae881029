"""Checks that are emitted with ``debug=True`` only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.source import SourceSpan
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.ir.builder import const_int
from weft.ir.types import I1, I32, VOID, FunctionType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

DIVISION_BY_ZERO = 1
ASSERTION = 2
INDEX = 3
EMPTY = 4
UNASSIGNED = 5
RAISED = 6
ZERO_STEP = 7
TUPLE_INDEX = 8


_RAISED = {
    DIVISION_BY_ZERO: ("ZeroDivisionError", "division by zero"),
    ASSERTION: ("AssertionError", ""),
    INDEX: ("IndexError", "an index is outside its dimension"),
    TUPLE_INDEX: ("IndexError", "tuple index out of range"),
    ZERO_STEP: ("ValueError", "range() arg 3 must not be zero"),
    UNASSIGNED: ("UnboundLocalError", "a variable is read before it has a value"),
}
"""What functions raise that are called from Python."""


def check(low: Lowering, kind: int, bad: Value, text: str = "") -> None:
    """With ``debug=True``, report that `bad` is true.

    Kernels tell the sanitizer, by ``weft.check(kind, bad)``; functions called from Python raise an exception, with the
    text given.
    """
    if not low.unit.options.debug:
        return
    if low.stack[0].is_kernel:
        function = low.unit.module.declare(
            "weft.check", FunctionType(VOID, (I32, I1)), ("nounwind", "willreturn")
        )
        low.builder.call(function, (const_int(kind, I32), bad))
        return
    name, message = _RAISED[kind]
    place = low.builder.loc
    assert place is not None
    at = SourceSpan(low.source.file, place.line, place.column)
    low.frame.use(low)
    low.frame.fail_if(low, bad, error_code(low, name, text or message, at))


def note(low: Lowering, name: str, *operands: Value) -> None:
    """With ``debug=True``, tell the sanitizer of a kernel something."""
    if low.unit.options.debug and low.stack[0].is_kernel:
        types = tuple(operand.type for operand in operands)
        function = low.unit.module.declare(name, FunctionType(VOID, types), ("nounwind", "willreturn"))
        low.builder.call(function, operands)

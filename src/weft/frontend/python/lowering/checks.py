"""Checks that the sanitizer reports: emitted with ``debug=True`` only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.ir.builder import const_int
from weft.ir.types import I1, I32, VOID, FunctionType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

DIVISION_BY_ZERO = 1
ASSERTION = 2
INDEX = 3
EMPTY = 4


def check(low: Lowering, kind: int, bad: Value) -> None:
    """Emit ``weft.check(kind, bad)``: a finding when `bad` is true."""
    if low.unit.options.debug:
        function = low.unit.module.declare(
            "weft.check", FunctionType(VOID, (I32, I1)), ("nounwind", "willreturn")
        )
        low.builder.call(function, (const_int(kind, I32), bad))

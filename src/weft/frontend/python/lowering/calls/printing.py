"""``print``: one call of the runtime for each line, with a letter and eight bytes for each value.

A capital letter is for what has no space before it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import ATTRIBUTES, Arguments, call
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, items_of, static
from weft.frontend.python.lowering.context import expression
from weft.frontend.python.lowering.numbers.casts import to_real
from weft.frontend.python.types import NoneType, Scalar, Static, Tuple, float64, pyint, uint64
from weft.ir.builder import const_int
from weft.ir.intrinsics import lifetime_start
from weft.ir.types import I64, PTR, VOID, ArrayType, FunctionType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_SLOT = 8
_TARGETS = {"b": pyint, "i": pyint, "u": uint64, "f": float64}


class Formatted:
    """An f-string: its pieces, texts and values, which `print` writes one after the other."""

    __slots__ = ("pieces",)

    __name__ = "an f-string"

    def __init__(self, pieces: list[Typed]) -> None:
        self.pieces = pieces


@expression(ast.JoinedStr)
def _lower_formatted(low: Lowering, node: ast.JoinedStr) -> Typed:
    pieces: list[Typed] = []
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            pieces.append(low.expr(part))
            continue
        if part.format_spec is not None:
            raise UnsupportedError(
                "a format in an f-string is not supported in kernels",
                hint="print the value as it is, or round it before",
            )
        pieces.append(low.expr(part.value))
    return static(Formatted(pieces))


@call(print)
def _print(low: Lowering, args: Arguments) -> Typed:
    if args.keywords:
        raise TypingError("print() takes no keyword arguments in kernels")
    entries: list[tuple[str, Value]] = []
    for value in args.values:
        _enter(low, value, entries)
    slots = low.alloca(ArrayType(I64, max(1, len(entries))), "print", align=_SLOT)
    if not low.stack[0].is_kernel:
        # Of a loop that runs in parallel each iteration has its own.
        low.builder.call(lifetime_start(low.unit.module), (slots,))
    for number, (_, part) in enumerate(entries):
        place = low.builder.gep(I64, slots, (const_int(number),), ("inbounds",))
        low.builder.store(part, place, _SLOT)
    letters = low.unit.text("".join(letter for letter, _ in entries))
    function = low.unit.module.declare(
        "weft.print", FunctionType(VOID, (PTR, PTR)), ("nounwind", "willreturn")
    )
    low.builder.call(function, (letters, slots))
    low.unit.features.add("print")
    return NONE


def _enter(low: Lowering, value: Typed, entries: list[tuple[str, Value]]) -> None:
    """Add a value's letter and content; a tuple's items follow each other without spaces, with what is between."""
    type = value.type
    if isinstance(type, Static) and isinstance(type.value, str):
        entries.append(("s", low.unit.text(type.value)))
    elif isinstance(type, Static) and (axes := _axes(low, type.value)) is not None:
        _enter(low, axes, entries)
    elif isinstance(type, NoneType):
        entries.append(("s", low.unit.text("None")))
    elif isinstance(type, Static) and isinstance(type.value, Formatted):
        pieces: list[tuple[str, Value]] = [("s", low.unit.text(""))]
        for piece in type.value.pieces:
            _enter(low, piece, pieces)
        _enter_joined(pieces, entries)
    elif isinstance(type, Tuple):
        pieces = []
        _enter_tuple(low, value, type, pieces)
        _enter_joined(pieces, entries)
    elif isinstance(type, Scalar) and type.kind in _TARGETS:
        entries.append((type.kind, to_real(low, value, _TARGETS[type.kind])))
    else:
        raise TypingError(f"{type} cannot be printed", hint="print its elements or parts one by one")


def _axes(low: Lowering, value: object) -> TupleValue | None:
    """``cuda.threadIdx`` and its like as x, y and z; None for other objects."""
    names = [f"{value.path}.{axis}" if isinstance(value, CudaName) else "" for axis in "xyz"]
    return TupleValue(tuple(ATTRIBUTES[name](low) for name in names)) if names[0] in ATTRIBUTES else None


def _enter_joined(pieces: list[tuple[str, Value]], entries: list[tuple[str, Value]]) -> None:
    """Add what is written without spaces between."""
    first, *rest = pieces
    entries += [first, *((letter.upper(), part) for letter, part in rest)]


def _enter_tuple(low: Lowering, value: Typed, type: Tuple, pieces: list[tuple[str, Value]]) -> None:
    """Add a tuple as Python writes it: strings quoted, fields of a named one by name."""
    fields = getattr(type.cls, "_fields", None)
    items = items_of(value)
    before = f"{type.cls.__name__}(" if type.cls is not None and fields else "("
    for number, item in enumerate(items):
        name = f"{fields[number]}=" if fields else ""
        pieces.append(("s", low.unit.text(before + name)))
        text = item.static
        if isinstance(text, str):
            pieces.append(("s", low.unit.text(repr(text))))
        else:
            _enter(low, item, pieces)
        before = ", "
    end = ",)" if len(items) == 1 and not fields else ")"
    pieces.append(("s", low.unit.text(end if items else before + end)))

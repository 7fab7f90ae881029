"""Reading calls."""

from __future__ import annotations

from typing import Any

from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.keywords import PARAMETER_ATTRIBUTES
from weft.ir.opcodes import FAST_MATH
from weft.ir.reader.attributes import read_attributes, read_calling_convention, read_function_attributes
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.operands import read_typed_value, read_value
from weft.ir.reader.types import read_first_class_type, read_type_or_function_type
from weft.ir.types import PTR, FunctionType, Type
from weft.ir.values import Value

TAIL_MARKERS = ("tail", "musttail", "notail")


def read_call(c: Cursor, op: str) -> Instruction:
    """A call; `op` is ``call``, or the marker before it."""
    attrs: dict[str, Any] = {}
    if op != "call":
        c.expect("call")
        attrs["tail"] = op
    tokens = c.tokens
    start = c.pos
    while tokens[c.pos] in FAST_MATH:
        c.pos += 1
    flags = tuple(tokens[start : c.pos])
    if convention := read_calling_convention(c):
        attrs["cc"] = convention
    if ret_attrs := read_attributes(c, PARAMETER_ATTRIBUTES):
        attrs["ret_attrs"] = ret_attrs
    if c.token == "addrspace":
        raise c.error("functions in other address spaces than 0 are not supported")
    type = read_type_or_function_type(c)
    callee = read_value(c, PTR)
    args, arg_attrs = _read_arguments(c)
    attrs["fn_type"] = _function_type(type, callee, args)
    if any(arg_attrs):
        attrs["arg_attrs"] = arg_attrs
    if fn_attrs := read_function_attributes(c):
        attrs["fn_attrs"] = fn_attrs
    if tokens[c.pos] == "[":
        attrs["bundles"] = _read_bundles(c, args)
    args.append(callee)
    return Instruction("call", attrs["fn_type"].result, args, flags=flags, attrs=attrs)


def _read_arguments(c: Cursor) -> tuple[list[Value], tuple[tuple[str, ...], ...]]:
    c.expect("(")
    args: list[Value] = []
    arg_attrs: list[tuple[str, ...]] = []
    while not c.accept(")"):
        if args:
            c.expect(",")
        type = read_first_class_type(c)
        token = c.tokens[c.pos]
        if token in PARAMETER_ATTRIBUTES or token[0] == '"':
            arg_attrs.append(read_attributes(c, PARAMETER_ATTRIBUTES))
        else:
            arg_attrs.append(())
        args.append(read_value(c, type))
    return args, tuple(arg_attrs)


def _function_type(written: Type, callee: Value, args: list[Value]) -> FunctionType:
    """The type called: written in full, that of the callee, or made from result and arguments."""
    if isinstance(written, FunctionType):
        return written
    params = tuple([a.type for a in args])
    if isinstance(callee, Function):
        known = callee.fn_type
        if known.params == params and known.result == written and not known.vararg:
            return known
    return FunctionType(written, params)


def _read_bundles(c: Cursor, operands: list[Value]) -> tuple[tuple[str, int], ...]:
    """Operand bundles; their operands follow the arguments."""
    c.expect("[")
    bundles: list[tuple[str, int]] = []
    while not c.accept("]"):
        if bundles:
            c.expect(",")
        tag = c.string()
        c.expect("(")
        before = len(operands)
        while not c.accept(")"):
            if len(operands) > before:
                c.expect(",")
            operands.append(read_typed_value(c))
        bundles.append((tag, len(operands) - before))
    return tuple(bundles)

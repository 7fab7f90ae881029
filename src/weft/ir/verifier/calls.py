"""The rules of calls."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.instruction import Instruction
from weft.ir.intrinsics import INTRINSICS
from weft.ir.types import FunctionType


def call_problems(i: Instruction) -> Iterator[str]:
    """Arguments, result, bundles, and the signatures of weft's own intrinsics."""
    fn_type = i.attrs.get("fn_type")
    if not isinstance(fn_type, FunctionType):
        yield "the call has no fn_type"
        return
    bundled = sum(count for _, count in i.attrs.get("bundles", ()))
    if len(i.operands) < 1 + bundled:
        yield "the call has fewer operands than its bundles name"
        return
    if not i.callee.type.is_pointer:
        yield f"the callee has type {i.callee.type}"
    args = i.args
    count = len(fn_type.params)
    if len(args) < count or (len(args) > count and not fn_type.vararg):
        yield f"{len(args)} arguments for {count} parameters"
        return
    for number, (argument, param) in enumerate(zip(args, fn_type.params, strict=False), 1):
        if argument.type != param:
            yield f"argument {number} has type {argument.type}, not {param}"
    if i.type != fn_type.result:
        yield f"the result has type {i.type}, not {fn_type.result}"
    arg_attrs = i.attrs.get("arg_attrs", ())
    if arg_attrs and len(arg_attrs) != len(args):
        yield f"attributes for {len(arg_attrs)} of {len(args)} arguments"
    intrinsic = INTRINSICS.get(i.callee_name or "")
    if intrinsic is not None and intrinsic.signature != fn_type:
        yield f"@{intrinsic.name} is {intrinsic.signature}, not {fn_type}"

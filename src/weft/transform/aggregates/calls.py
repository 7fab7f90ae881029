"""Scalar replacement of calls: LLVM's intrinsics on vectors and with composite results (`replacement`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.types import FloatType, FunctionType, IntType
from weft.transform.aggregates.types import components_of, is_composite

if TYPE_CHECKING:
    from weft.transform.aggregates.replacement import Parts

_ELEMENTWISE = frozenset(
    {
        "abs", "bitreverse", "bswap", "canonicalize", "ceil", "copysign", "cos", "ctlz", "ctpop", "cttz", "exp",
        "exp2", "fabs", "floor", "fma", "fmuladd", "fptosi.sat", "fptoui.sat", "fshl", "fshr", "is.fpclass", "log",
        "log10", "log2", "maximum", "maximumnum", "maxnum", "minimum", "minimumnum", "minnum", "nearbyint", "pow",
        "powi", "rint", "round", "roundeven", "sadd.sat", "sin", "smax", "smin", "sqrt", "sshl.sat", "ssub.sat",
        "trunc", "uadd.sat", "umax", "umin", "ushl.sat", "usub.sat",
    }
)  # fmt: skip
_VECTOR_SUFFIX = re.compile(r"\.v\d+(?=[a-z])")
_NAME = re.compile(r"llvm\.([a-z0-9.]+?)(?:\.(?:v\d+)?(?:[ifp]|bf)\d+)+")
_OVERFLOW = re.compile(r"llvm\.([us])(add|sub|mul)\.with\.overflow\.i\d+")
_REDUCTION = re.compile(r"llvm\.vector\.reduce\.(\w+)\.v\d+\w+")
_OPCODES = ("add", "mul", "and", "or", "xor", "fadd", "fmul")
_EXTREMA = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def call_on_components(parts: Parts, call: Instruction) -> list[Value] | None:
    """The components of a call's result; None when the call has to stay whole."""
    name = call.callee_name or ""
    reduction = _REDUCTION.fullmatch(name)
    if reduction is not None:
        return _reduce(parts, call, reduction[1])
    overflow = _OVERFLOW.fullmatch(name)
    if overflow is not None:
        return _with_overflow(call, overflow[1] == "s", overflow[2])
    match = _NAME.fullmatch(name)
    if match is not None and match[1] in _ELEMENTWISE:
        return _each(parts, call, _VECTOR_SUFFIX.sub(".", name))
    return None


def _each(parts: Parts, call: Instruction, name: str) -> list[Value] | None:
    """The scalar intrinsic for each component."""
    components = components_of(call.type)
    args = [parts.of(a) for a in call.args]
    if components is None or any(a is None for a in args):
        return None
    builder = Builder(before=call)
    builder.loc = call.loc
    results: list[Value] = []
    for k, component in enumerate(components):
        here = [
            a[k] if is_composite(v.type) else v for v, a in zip(call.args, args, strict=True) if a is not None
        ]
        fn_type = FunctionType(component.type, tuple(a.type for a in here))
        callee = parts.module.declare(
            name, fn_type, ("nounwind", "speculatable", "willreturn", "memory(none)")
        )
        results.append(builder.call(callee, here, flags=call.flags, name=f"{call.name}.{k}"))
    return results


def _reduce(parts: Parts, call: Instruction, name: str) -> list[Value] | None:
    """The components combined one after the other; float sums and products begin with the first argument."""
    values = [c for a in call.args for c in parts.of(a) or ()]
    if any(parts.of(a) is None for a in call.args):
        return None
    builder = Builder(before=call)
    builder.loc = call.loc
    result = values[0]
    for value in values[1:]:
        if name in _OPCODES:
            result = builder.binary(name, result, value, call.flags)
            continue
        type = value.type
        assert isinstance(type, (IntType, FloatType))
        suffix = f"i{type.bits}" if isinstance(type, IntType) else f"f{type.bits}"
        callee = parts.module.declare(
            f"llvm.{_EXTREMA.get(name, name)}.{suffix}",
            FunctionType(type, (type, type)),
            ("nounwind", "speculatable", "willreturn", "memory(none)"),
        )
        result = builder.call(callee, (result, value), flags=call.flags)
    return [result]


def _with_overflow(call: Instruction, signed: bool, op: str) -> list[Value] | None:
    """The result modulo 2ⁿ, and whether it is another one than over the integers."""
    a, b = call.args
    type = a.type
    if not isinstance(type, IntType):
        return None
    builder = Builder(before=call)
    builder.loc = call.loc
    zero = ConstInt(type, 0)
    if op == "mul":
        if type.bits > 32:
            return None
        wide = IntType(2 * type.bits)
        extend = "sext" if signed else "zext"
        product = builder.binary("mul", builder.cast(extend, a, wide), builder.cast(extend, b, wide))
        result = builder.cast("trunc", product, type)
        return [result, builder.icmp("ne", builder.cast(extend, result, wide), product)]
    result = builder.binary(op, a, b)
    if not signed:
        return [result, builder.icmp("ult", result if op == "add" else a, a if op == "add" else b)]
    # A sum overflows when its sign is neither operand's; a difference when the signs of the operands differ and the
    # result has not that of the first.
    other = builder.binary("xor", b if op == "sub" else result, a if op == "sub" else b)
    changed = builder.binary("and", other, builder.binary("xor", result, a))
    return [result, builder.icmp("slt", changed, zero)]

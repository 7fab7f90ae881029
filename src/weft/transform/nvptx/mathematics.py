"""Functions of mathematics by their names in libdevice, NVIDIA's library of them.

PTX has square roots, FMA and roundings of its own; sines, logarithms and all else that C's library and LLVM's
intrinsics name become calls of ``__nv_*``. Where a call may be approximated (``afn``), it is the fast variant of 32-bit
functions. A remainder of floats is one as well: LLVM's own code for it is inexact for large quotients.
"""

from __future__ import annotations

import re

from weft.diag.errors import UnsupportedError
from weft.ir import Function, Instruction, Module, Value
from weft.ir.builder import Builder
from weft.ir.locations import span_of
from weft.ir.types import F32, F64, I32, I64, FloatType, FunctionType, Type

PREFIX = "__nv_"

_FAST = frozenset(("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow"))
_INTRINSIC = re.compile(
    r"llvm\.(sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|exp|exp2|exp10|log|log2|log10|pow|powi|ldexp)\.(f32|f64)"
)
_NATIVE = frozenset(
    ("sqrt", "fabs", "fma", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "copysign")
)
"""Functions of C that LLVM has an exact intrinsic for, which the machine has."""

_LIBRARY = {
    **dict.fromkeys(
        (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
            "exp10", "exp2", "expm1", "fdim", "fmax", "fmin", "fmod", "hypot", "ilogb", "j0", "j1", "jn", "ldexp",
            "lgamma", "log", "log10", "log1p", "log2", "logb", "nextafter", "pow", "powi", "remainder", "round",
            "scalbn", "sin", "sinh", "tan", "tanh", "tgamma", "y0", "y1", "yn", "rsqrt", "sinpi", "cospi",
        )
    ),
    "lrint": "llrint", "lround": "llround", "llrint": "llrint", "llround": "llround", "drem": "remainder",
}  # fmt: skip
"""Functions of C by their names there; None where it is the same."""


def lower_mathematics(module: Module) -> None:
    """Replace calls of C's mathematics, LLVM's intrinsics of it, and remainders of floats in `module`.

    Postcondition: what is called of mathematics is defined in libdevice, or has instructions.

    Raises
    ------
    UnsupportedError
        A function is called that neither has.
    """
    for function in list(module.definitions()):
        for instruction in list(function.instructions()):
            if instruction.op == "frem":
                _replace(instruction, "fmod", instruction.type, list(instruction.operands))
            elif instruction.op == "call" and isinstance(instruction.callee, Function):
                _lower_call(instruction, instruction.callee)


def _lower_call(call: Instruction, callee: Function) -> None:
    if not callee.is_declaration or callee.name.startswith((PREFIX, "llvm.nvvm.")):
        return
    found = _INTRINSIC.match(callee.name)
    if found is not None:
        _replace(call, found[1], call.type, list(call.args))
        return
    if callee.name.startswith("llvm."):
        return
    name, float_type = _c_function(callee)
    if name in _NATIVE:
        suffix = "f32" if float_type == F32 else "f64"
        intrinsic = call_module(call).declare(f"llvm.{name}.{suffix}", callee.fn_type, callee.attributes)
        builder = Builder(before=call)
        builder.loc = call.loc
        _put(call, builder.call(intrinsic, tuple(call.args), flags=call.flags))
    elif name in _LIBRARY:
        _replace(call, _LIBRARY[name] or name, float_type, list(call.args))
    elif callee.name not in _KNOWN:
        raise UnsupportedError(f"there is no function {callee.name}() on a GPU", span_of(call))


_KNOWN = frozenset(("vprintf", "malloc", "free", "__assertfail", "memcpy", "memset", "memmove", "abort"))
"""What the device runtime has, or other passes see to."""


def _c_function(callee: Function) -> tuple[str, Type]:
    """The double-precision name of a function of C, and the type that it computes in."""
    types = (callee.fn_type.result, *callee.fn_type.params)
    computed = next((t for t in types if isinstance(t, FloatType)), F64)
    return (callee.name.removesuffix("f") if computed == F32 else callee.name), computed


def _replace(old: Instruction, name: str, type: Type, args: list[Value]) -> None:
    """Call libdevice's function in the place of an instruction."""
    if type not in (F32, F64):
        raise UnsupportedError(f"{name}() of {type} is not in libdevice", span_of(old))
    fast = type == F32 and name in _FAST and ("afn" in old.flags or "fast" in old.flags)
    symbol = f"{PREFIX}{'fast_' if fast else ''}{name}{'f' if type == F32 else ''}"
    builder = Builder(before=old)
    builder.loc = old.loc
    # The exponents of its functions are of 32 bits, its rounded numbers of 64.
    args = [builder.cast("trunc", a, I32) if a.type == I64 else a for a in args]
    result = I64 if name in ("llrint", "llround") else old.type
    fn_type = FunctionType(result, tuple(a.type for a in args))
    callee = call_module(old).declare(symbol, fn_type, ("nounwind", "willreturn", "memory(none)"))
    flags = old.flags if isinstance(result, FloatType) else ()
    _put(old, builder.call(callee, args, flags=flags))


def _put(old: Instruction, new: Value) -> None:
    old.replace_all_uses(new)
    old.erase()


def call_module(instruction: Instruction) -> Module:
    """The module that an instruction is in."""
    assert instruction.block is not None and instruction.block.function is not None
    module = instruction.block.function.module
    assert module is not None
    return module

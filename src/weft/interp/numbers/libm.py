"""Functions of the C math library, applied to whole arrays.

Machine code calls ``sinf`` and its like one element at a time; to give bit for bit the same results, so does
the interpreter, through a loop around the call that LLVM compiles once per function.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray

_SPELLING = {"d": "double", "f": "float", "i": "i32", "l": "i64"}
_DTYPES = {"d": np.float64, "f": np.float32, "i": np.int32, "l": np.int64}

UNARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc",
    "lgamma", "tgamma", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven",
    "logb", "j0", "j1", "y0", "y1", "significand",
)  # fmt: skip
BINARY = (
    "pow", "atan2", "hypot", "fmod", "remainder", "copysign", "fmin", "fmax", "fdim", "nextafter", "drem",
)  # fmt: skip
_OTHER = {
    "fma": "d:ddd", "ldexp": "d:di", "scalbn": "d:di", "scalbln": "d:dl", "ilogb": "i:d", "lrint": "l:d",
    "llrint": "l:d", "lround": "l:d", "llround": "l:d", "jn": "d:id", "yn": "d:id",
}  # fmt: skip


def _signatures() -> dict[str, str]:
    table = dict.fromkeys(UNARY, "d:d") | dict.fromkeys(BINARY, "d:dd") | _OTHER
    return table | {f"{name}f": signature.replace("d", "f") for name, signature in table.items()}


SIGNATURES = _signatures()
"""Per symbol its result and parameters: d double, f float, i int, l long."""


def call(symbol: str) -> Callable[..., Array]:
    """The library function `symbol` on arrays that broadcast against each other."""
    result, _, params = SIGNATURES[symbol].partition(":")
    types = tuple(np.dtype(_DTYPES[p]) for p in params)
    dtype = np.dtype(_DTYPES[result])

    def apply(*operands: Array) -> Array:
        loop, _ = _compiled(symbol)
        shape = operands[0].shape
        inputs: Sequence[Array] = operands
        for operand, type in zip(operands, types, strict=True):
            if operand.shape != shape or operand.dtype != type or not operand.flags.c_contiguous:
                shape = np.broadcast_shapes(*(o.shape for o in operands))
                inputs = [
                    np.ascontiguousarray(np.broadcast_to(o, shape), dtype=t)
                    for o, t in zip(operands, types, strict=True)
                ]
                break
        output = np.empty(shape, dtype)
        loop(output.size, output.ctypes.data, *[a.ctypes.data for a in inputs])
        return output

    return apply


@cache
def _compiled(symbol: str) -> tuple[Callable[..., None], Any]:
    """The compiled loop, and the engine that keeps it alive."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("libm.so.6")
    result, _, params = SIGNATURES[symbol].partition(":")
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_loop_text(symbol, result, params)), machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(params) + 1))
    return kind(engine.get_function_address("loop")), engine


def _loop_text(symbol: str, result: str, params: str) -> str:
    types = [_SPELLING[p] for p in params]
    arrays = "".join(f", ptr %a{n}" for n in range(len(types)))
    loads = "\n".join(
        f"  %p{n} = getelementptr {t}, ptr %a{n}, i64 %i\n  %v{n} = load {t}, ptr %p{n}"
        for n, t in enumerate(types)
    )
    values = ", ".join(f"{t} %v{n}" for n, t in enumerate(types))
    to = _SPELLING[result]
    return f"""
declare {to} @{symbol}({", ".join(types)}) nobuiltin
define void @loop(i64 %n, ptr %out{arrays}) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %body, label %end
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
{loads}
  %r = call {to} @{symbol}({values}) nobuiltin
  %q = getelementptr {to}, ptr %out, i64 %i
  store {to} %r, ptr %q
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""

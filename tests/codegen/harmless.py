"""Kernels whose passive lanes hold what traps or is slow: ``python -m codegen.harmless ISA WIDTH...``.

Threads below n divide, or call a math function, on harmless operands; the operands of the others are zero divisors,
least integers over -1, and numbers outside the domains of functions. A trap ends the process; what a function does
with a number outside its domain shows in the processor's exception flags.
"""

from __future__ import annotations

import ctypes
import re
import sys

import numpy as np

from codegen.kernels import guarded, kernel_text, level_for, stored
from codegen.machine_code import compile_kernel
from weft.machine.host import chosen
from weft.machine.targets import isa_named

DIVISIONS = ("udiv", "sdiv", "urem", "srem")
BITS = (8, 32, 64)
CASES = ((32, 32), (32, 17), (48, 33), (40, 0), (3, 1))
"""Threads of a group, and how many of them divide."""

FUNCTIONS = ("acos", "acosh", "asin", "atanh", "exp", "log", "log1p", "log2", "pow", "tan")
DIVIDE_BY_ZERO, OVERFLOW, INVALID = 4, 8, 1
"""Bits of the exception flags on x86."""


def division(op: str, bits: int, uniform: bool) -> str:
    """A kernel that divides what is at ``in[tid]`` by ``in[64 + tid]``, or by `u` where that is zero for no thread."""
    type = f"i{bits}"
    divisor = f"  %d = trunc i64 %n to {type}\n" if bits < 64 else "  %d = add i64 %n, 0\n"
    if not uniform:
        divisor = f"  %q = getelementptr {type}, ptr %in, i64 %far\n  %d = load {type}, ptr %q\n"
    body = (
        f"  %far = add i64 %tid, 64\n  %p = getelementptr {type}, ptr %in, i64 %tid\n"
        f"  %v = load {type}, ptr %p\n{divisor}"
    )
    return kernel_text(body + guarded(f"  %r = {op} {type} %v, %d\n{stored('%r', type)}"))


def run_divisions(isa_name: str, widths: list[int]) -> None:
    """Run every division at each width."""
    for width in widths:
        for op in DIVISIONS:
            for bits in BITS:
                kind = np.dtype(f"{'u' if op[0] == 'u' else 'i'}{bits // 8}")
                for uniform in (False, True)[: 1 + (bits == 32)]:
                    print(isa_name, width, op, bits, uniform, flush=True)
                    isa = isa_named(isa_name)
                    code = compile_kernel(
                        division(op, bits, uniform), width, isa, level=level_for(width, isa)
                    )
                    for threads, n in CASES:
                        _divide(code, op, kind, threads, n, uniform)


def _divide(code, op: str, kind: np.dtype, threads: int, n: int, uniform: bool) -> None:
    words = np.zeros(128, kind)
    words[:64], words[64:] = np.arange(20, 84), np.arange(3, 67)
    words[n:64] = np.iinfo(kind).min
    words[64 + n :: 2] = 0
    words[64 + n + 1 :: 2] = np.array(-1).astype(kind)
    out = np.zeros(64, kind)
    code((words, out, n, 0), threads)
    divisors = np.full(n, n, kind) if uniform else words[64 : 64 + n]
    quotient = words[:n] // divisors if n else words[:0]
    wanted = quotient if op.endswith("div") else words[:n] - quotient * divisors
    np.testing.assert_array_equal(out[:n], wanted)
    assert not out[n:].any()


def math_call(name: str, type: str) -> str:
    """A kernel of one function under a guard."""
    suffix = "f32" if type == "float" else "f64"
    scalar = f"llvm.{name}.{suffix}" if name in _LLVM else name + ("f" if type == "float" else "")
    two = name == "pow"
    body = f"  %p = getelementptr {type}, ptr %in, i64 %tid\n  %v = load {type}, ptr %p\n"
    second = f", {type} %v" if two else ""
    call = f"  %r = call {type} @{scalar}({type} %v{second})\n" + stored("%r", type)
    return kernel_text(
        body + guarded(call),
        f"declare {type} @{scalar}({type}{f', {type}' if two else ''}) nounwind willreturn memory(none)\n",
    )


_LLVM = ("exp", "log", "log2", "pow", "tan", "acos", "asin")


def run_functions(widths: list[int]) -> None:
    """Call every function at each width, with operands of passive lanes that no function takes."""
    libm = ctypes.CDLL("libm.so.6")
    for width in widths:
        for name in FUNCTIONS:
            for type, kind in (("float", np.float32), ("double", np.float64)):
                print(width, name, type, flush=True)
                code = compile_kernel(math_call(name, type), width)
                if re.search(rf"call [^\n]*@(llvm\.)?{name}(f|\.f\d+)?\(", code.lowered.text):
                    continue
                given = np.full(64, -1e30, kind)
                given[::3] = np.finfo(kind).max
                # Of 1 libmvec says on AVX2 that acosh has no value, which is 0.
                given[:21] = 2.0 if name == "acosh" else 0.5
                out = np.zeros(64, kind)
                libm.feclearexcept(INVALID | DIVIDE_BY_ZERO | OVERFLOW)
                code((given, out, 21, 0), 45)
                raised = libm.fetestexcept(INVALID | DIVIDE_BY_ZERO | OVERFLOW)
                assert raised == 0, (width, name, type, raised)
                assert np.isfinite(out).all()


if __name__ == "__main__":
    run_divisions(sys.argv[1], [int(w) for w in sys.argv[2:]])
    if isa_named(sys.argv[1]) == chosen().isa:
        run_functions([int(w) for w in sys.argv[2:]])
    print("harmless")

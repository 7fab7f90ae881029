"""Small kernels as LLVM text: ``@kernel(ptr %in, ptr %out, i64 %n, i32 %u)``, with ``%tid`` and ``%t32``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from codegen.machine_code import compile_kernel
from weft import interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.targets import AVX512, Isa
from weft.options import CompileOptions
from weft.passes.lower_kernel import LoweredKernel, lower_kernel
from weft.target.machine import TargetSpec

THREADS = 64
WORDS = 256
"""32-bit words of the input and of the output."""

DECLARATIONS = """
declare i64 @weft.local.id(i32) memory(none) speculatable willreturn nounwind
declare i32 @weft.lane.id() memory(none) speculatable willreturn nounwind
"""


def kernel_text(body: str, declarations: str = "") -> str:
    """A kernel of these instructions; the body begins in the entry block and ends with ``ret void``."""
    return f"""
define void @kernel(ptr noalias %in, ptr noalias %out, i64 %n, i32 %u) nounwind "weft.kernel" {{
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %t32 = trunc i64 %tid to i32
{body}
  ret void
}}
{DECLARATIONS}
{declarations}
"""


_BELOW_N = "%n32 = trunc i64 %n to i32\n  %c = icmp slt i32 %t32, %n32"


def guarded(body: str, condition: str = _BELOW_N) -> str:
    """A body that runs where ``%c`` holds, with masks: guards on 32-bit numbers do not become bounds."""
    return f"  {condition}\n  br i1 %c, label %then, label %exit\nthen:\n{body}\n  br label %exit\nexit:"


def stored(value: str, type: str = "i32") -> str:
    """Store a value into the thread's element of the output."""
    return f"  %at = getelementptr {type}, ptr %out, i64 %tid\n  store {type} {value}, ptr %at"


def widened(text: str, width: int = 8, isa: Isa | None = AVX512) -> str:
    """The SIMD function of a kernel for whole lane groups, before LLVM's final passes.

    It is made for a level, or for the chosen machine with vector math, whichever these tests run on.
    """
    spec = TargetSpec.chosen() if isa is None else TargetSpec.of_isa(isa)
    lowered = lower_kernel(read_module(text), "kernel", CompileOptions(width=width), spec)
    return vector_function(lowered)


def vector_function(lowered: LoweredKernel) -> str:
    """The text of that function; fails where there is none."""
    found = re.search(r"^define[^\n]*@kernel\.w\d+\(.*?^}", lowered.text, re.M | re.S)
    assert found is not None, "the kernel is not vectorized"
    return found.group(0)


def inputs(seed: int = 0) -> np.ndarray:
    """Input words: small numbers and some of any size."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 50, WORDS).astype(np.uint32)
    words[::5] = rng.integers(0, 1 << 32, words[::5].size)
    return words


@dataclass(frozen=True, slots=True)
class Launch:
    """Threads of the one group, and the scalar arguments."""

    threads: int = THREADS
    n: int = 37
    u: int = 3


LAUNCHES = (Launch(), Launch(45, 64), Launch(64, 0, 0))
"""Full and partial lane groups; masks that hold for some, all and no thread. With none `u` may be zero."""


MOST_REGISTERS = 8


def level_for(width: int, isa: Isa | None) -> int:
    """How hard LLVM's code generator tries: its time is nearly all that vectors of many registers cost."""
    return 0 if isa is not None and 32 * width > MOST_REGISTERS * isa.vector_bits else 3


def agree(text: str, width: int, isa: Isa | None, launches: Sequence[Launch] = LAUNCHES) -> None:
    """Assert that machine code at `width` does what the interpreter does."""
    code = compile_kernel(text, width, isa, level=level_for(width, isa))
    vector_function(code.lowered)
    program = Program(read_module(text))
    for launch in launches:
        given = inputs()
        wanted, got = np.zeros(WORDS, np.uint32), np.zeros(WORDS, np.uint32)
        arguments = (launch.n, launch.u)
        interp.launch(program, "kernel", (given, wanted, *arguments), 1, launch.threads, width=width)
        code((given, got, *arguments), launch.threads)
        np.testing.assert_array_equal(got, wanted, f"width {width}, {launch}")

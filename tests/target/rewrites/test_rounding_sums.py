"""Rounding by sums, where no instruction rounds."""

import numpy as np
import pytest

from codegen.kernels import kernel_text
from codegen.machine_code import compile_kernel
from pairs import pairs
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, SSE2
from weft.target.rewrites.rounding_sums import round_by_sums

TYPES = {"float": np.float32, "double": np.float64}
ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "roundeven": np.rint}
BODY = """
  %p = getelementptr {type}, ptr %in, i64 %tid
  %x = load {type}, ptr %p
  %r = call {type} @llvm.{name}.f{bits}({type} %x)
  %at = getelementptr {type}, ptr %out, i64 %tid
  store {type} %r, ptr %at
"""


def numbers(type: type) -> np.ndarray:
    few = [0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 99.49, 2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**23 + 1, 2.0**31 + 0.5]
    few += [2.0**51 + 0.5, 2.0**52 - 0.5, 2.0**52 + 1, 1e30, np.inf, np.nan]
    few += [np.finfo(type).tiny, np.finfo(type).smallest_subnormal]
    own = np.array(few, type)
    with np.errstate(all="ignore"):
        near = np.concatenate([np.nextafter(own, type(0)), np.nextafter(own, type(np.inf))])
    return np.resize(np.concatenate([own, -own, near, -near]), 128)


@pytest.mark.parametrize(("width", "type", "name"), pairs([1, 4, 32], list(TYPES), list(ROUNDINGS)))
def test_sums_round_as_instructions_do(width: int, type: str, name: str) -> None:
    number, bits = TYPES[type], 8 * np.dtype(TYPES[type]).itemsize
    declared = f"declare {type} @llvm.{name}.f{bits}({type})"
    code = compile_kernel(kernel_text(BODY.format(type=type, name=name, bits=bits), declared), width, SSE2)
    x = numbers(number)
    got = np.zeros_like(x)
    code((x, got, x.size, 0), x.size)
    with np.errstate(all="ignore"):
        wanted = ROUNDINGS[name](x)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_where_there_is_an_instruction_it_stays() -> None:
    text = (
        "declare <4 x float> @llvm.floor.v4f32(<4 x float>)\ndefine <4 x float> @f(<4 x float> %x) {\n"
        "  %r = call <4 x float> @llvm.floor.v4f32(<4 x float> %x)\n  ret <4 x float> %r\n}"
    )
    function = read_module(text).functions["f"]
    assert round_by_sums(function, AVX2) == 0
    assert round_by_sums(function, SSE2) == 1 and function.module is not None
    assert "@llvm.floor" not in write_module(function.module).partition("define")[2]

"""Floats of lanes become the nearest integers that there are, in vectors, and NaN becomes 0."""

import re

import numpy as np
import pytest

from codegen.kernels import kernel_text, stored, widened
from codegen.machine_code import ISAS, compile_kernel
from pairs import pairs
from weft import interp
from weft.interp import Program
from weft.ir.reader import read_module

SIGNED, BITS, FLOATS = (True, False), (8, 16, 32, 64), ("float", "double")


def conversion(signed: bool, bits: int, type: str) -> str:
    """A kernel that converts an element, and extends it to 64 bits."""
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.i{bits}.f{32 if type == 'float' else 64}"
    body = f"  %p = getelementptr {type}, ptr %in, i64 %tid\n  %f = load {type}, ptr %p\n"
    body += f"  %x = call i{bits} @{name}({type} %f)\n"
    body += f"  %r = {'sext' if signed else 'zext'} i{bits} %x to i64\n" if bits < 64 else ""
    declared = f"declare i{bits} @{name}({type}) memory(none) willreturn nounwind\n"
    return kernel_text(body + stored("%r" if bits < 64 else "%x", "i64"), declared)


def floats(bits: int, type: np.dtype) -> np.ndarray:
    """Numbers at and around the ends of integers of so many bits, and those that are none; 64 of them."""
    ends = np.array([0, *(s * 2.0**b for s in (1, -1) for b in (bits - 1, bits))], type)
    around = [np.nextafter(ends, type.type(s)) for s in (np.inf, -np.inf)]
    near = [ends + type.type(d) for d in (1, -1, 0.5, -0.5, -1.5)]
    strange = [np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38, -3.4e38, 7.9, -7.9], type)]
    found = np.concatenate([ends, *around, *near, *strange])
    return np.resize(found, 64)


@pytest.mark.parametrize(("isa", "signed", "bits", "type"), pairs(ISAS, SIGNED, BITS, FLOATS))
def test_the_nearest_integer_is_what_the_interpreter_makes(isa, signed: bool, bits: int, type: str) -> None:
    text = conversion(signed, bits, type)
    given = floats(bits, np.dtype(np.float32 if type == "float" else np.float64))
    wanted, got = np.zeros(64, np.int64), np.zeros(64, np.int64)
    interp.launch(Program(read_module(text)), "kernel", (given, wanted, 64, 0), 1, 64, width=8)
    compile_kernel(text, 8, isa)((given, got, 64, 0), 64)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("signed", "bits", "type"), pairs(SIGNED, BITS, FLOATS))
def test_lanes_are_not_taken_apart(signed: bool, bits: int, type: str) -> None:
    text = widened(conversion(signed, bits, type))
    assert ".sat." not in re.sub("declare.*", "", text)
    assert re.search(rf"fpto[su]i <8 x {type}>|<[48] x i32> @llvm.x86", text)

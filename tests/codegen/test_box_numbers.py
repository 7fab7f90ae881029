"""Boxes of threads that access memory at numbers of 32 bits, which may wrap around: an access for each row."""

import re

import numpy as np
import pytest

from codegen.kernels import vector_function
from codegen.machine_code import ISAS, compile_kernel
from codegen.order.test_boxes import BLOCK, WORDS, kernel_text
from weft import interp
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.targets import AVX512, Isa
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel
from weft.target.machine import TargetSpec
from weft.target.passes import FINAL_FAST

WRAPPING = "mul", "add"
PROMISED = "mul nsw", "add nsw"


def access(times: str, plus: str, index: str = "%i") -> str:
    """The element of a row of `n`, and the same one of the output."""
    return f"""
  %x.low = trunc i64 %x to i32
  %x32 = {plus} i32 %x.low, %u
  %y32 = trunc i64 %y to i32
  %n32 = trunc i64 %n to i32
  %start = {times} i32 %y32, %n32
  %i = {plus} i32 %start, %x32
  %limit = mul i32 %n32, 2
  %clamped = call i32 @llvm.smin.i32(i32 %i, i32 %limit)
  %place = sext i32 {index} to i64
  %p = getelementptr i32, ptr %in, i64 %place
  %v = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %out, i64 %place
  %w = add i32 %v, 1
  store i32 %w, ptr %q, align 4"""


def kernel(body: str, guard: str) -> str:
    text = kernel_text(body, guard).replace("ptr %out, i64 %number", "ptr %out, i64 %behind")
    text = text.replace("  %pitched", "  %behind = add i64 %number, 512\n  %pitched")
    return text + "declare i32 @llvm.smin.i32(i32, i32)\n"


def widened(text: str, small_arrays: bool = False) -> str:
    options = CompileOptions(width=16, block=BLOCK, small_arrays=small_arrays)
    return vector_function(lower_kernel(read_module(text), "kernel", options, TargetSpec.of_isa(AVX512)))


@pytest.mark.parametrize("form", [WRAPPING, PROMISED])
@pytest.mark.parametrize("guard", ["true", "%some"])
def test_each_row_is_an_access(form: tuple[str, str], guard: str) -> None:
    text = widened(kernel(access(*form), guard), small_arrays=True)
    loads, stores = ("masked.load.v8i32", "masked.store.v8i32")
    if guard == "true":
        loads, stores = ("= load <8 x i32>", "store <8 x i32>")
    assert len(re.findall(f"{loads}", text)) == 2, text
    assert len(re.findall(f"{stores}", text)) >= 2, text
    assert "gather" not in text and "scatter" not in text


def test_the_first_active_thread_of_a_row_tells_where_it_is() -> None:
    assert "llvm.cttz.i8" in widened(kernel(access(*PROMISED), "%some"))
    assert "llvm.cttz" not in widened(kernel(access(*PROMISED), "true"))


def test_whether_rows_have_neighbours_is_asked_row_by_row() -> None:
    text = widened(kernel(access(*WRAPPING, "%clamped"), "true"))
    assert len(re.findall("= load <8 x i32>", text)) == 2 and "gather" in text
    assert re.search(r"icmp eq i16 %\S+, -1", text)


@pytest.mark.spread
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("index", ["%i", "%clamped"])
@pytest.mark.parametrize("guard", ["true", "%some"])
@pytest.mark.parametrize("form", [WRAPPING, PROMISED], ids=["wraps", "promised"])
def test_threads_access_what_they_would_alone(
    form: tuple[str, str], guard: str, index: str, isa: Isa
) -> None:
    text = kernel(access(*form, index), guard)
    given = np.random.default_rng(3).integers(0, 1 << 30, WORDS, dtype=np.int32)
    for width, block, u in ((16, BLOCK, 22), (4, (2, 5, 1), 40)):
        wanted, got = np.zeros(1024, np.int32), np.zeros(1024, np.int32)
        interp.launch(Program(read_module(text)), "kernel", (given, wanted, 19, u), 1, block, width=width)
        code = compile_kernel(text, width, isa, level=0, passes=FINAL_FAST, block=block)
        code((given, got, 19, u), block)
        np.testing.assert_array_equal(got, wanted, f"{block} at {width}")

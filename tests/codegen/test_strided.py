"""Lanes that are one step apart: addresses are made of the first one and the step, where gathers are taken apart."""

import numpy as np
import pytest

import weft
from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS
from pairs import pairs
from weft import cuda, prange
from weft.costs.emitted import lanes_form
from weft.ir.builder import Builder
from weft.ir.lane_steps import LaneSteps, lanes_apart, steps_of
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE2

# Rows of %n words: %n is known when the program runs only.
ROWS = """
  %row = mul i64 %tid, %n
  %two = add i64 %row, 2
  %p = getelementptr i32, ptr %in, i64 %two
  %v = load i32, ptr %p
"""
NARROW = """
  %step = trunc i64 %n to i32
  %row = mul nsw i32 %t32, %step
  %q = getelementptr i32, ptr %in, i32 %row
  %v = load i32, ptr %q
"""
TO_ROWS = """
  %row = mul i64 %tid, %n
  %two = add i64 %row, 1
  %p = getelementptr i32, ptr %out, i64 %two
  store i32 %t32, ptr %p
"""
FAR = """
  %p = getelementptr { [25 x i8], i8 }, ptr %in, i64 %tid, i32 0, i64 7
  %b = load i8, ptr %p
  %v = zext i8 %b to i32
"""
BODIES = {
    "rows": ROWS + stored("%v"),
    "numbers of 32 bits": NARROW + stored("%v"),
    "stores": TO_ROWS,
    "far structures": FAR + stored("%v"),
}


@pytest.mark.parametrize("isa", [SSE2, AVX2])
def test_a_step_that_is_known_at_run_time_is_no_vector(isa) -> None:
    assert "@weft.gather.step.4.v8i32(ptr" in widened(kernel_text(BODIES["rows"]), 8, isa)
    assert "@weft.scatter.step.4.v8i32(ptr" in widened(kernel_text(BODIES["stores"]), 8, isa)
    # Sums of 32 bits may wrap around, for all that is known, and are numbers behind one address.
    assert "@weft.gather.s4.4.v8i32(ptr" in widened(kernel_text(BODIES["numbers of 32 bits"]), 8, isa)


def test_masks_and_gathers_of_the_processor_want_vectors() -> None:
    text = widened(kernel_text(guarded(BODIES["rows"])), 8, AVX2)
    # Where all lanes turn out to be active there is a copy without a mask.
    assert text.count("weft.gather.step") == text.count("llvm.masked.gather") == 1
    assert "weft.gather.step" not in widened(kernel_text(BODIES["rows"]), 8, AVX512)


@pytest.mark.spread
@pytest.mark.parametrize(("body", "isa", "width"), pairs(list(BODIES.values()), ISAS, [4, 8, 16, 64]))
def test_lanes_access_what_they_did(body: str, isa, width: int) -> None:
    agree(kernel_text(body), width, isa, (Launch(24, 3), Launch(5, 0), Launch(39, 1)))


def test_steps_are_found_where_they_were_made() -> None:
    module = read_module(
        "declare void @llvm.masked.scatter.v4i32.v4p0(<4 x i32>, <4 x ptr>, <4 x i1>)\n"
        "define void @f(ptr %a, i64 %s, <4 x i32> %d) {\nentry:\n  ret void\n}"
    )
    function = module.functions["f"]
    first, step, data = function.args
    builder = Builder(before=function.entry.terminator)
    for each in (LaneSteps(first, step), LaneSteps(first, weft.ir.ConstInt(weft.ir.types.I64, 40))):
        addresses = lanes_apart(builder, each, 4)
        assert steps_of(addresses) == each
        mask = read_module("@m = global <4 x i1> splat (i1 true)").globals["m"].initializer
        call = builder.call(module.functions["llvm.masked.scatter.v4i32.v4p0"], [data, addresses, mask])
        assert lanes_form(call) == "strided"
    assert steps_of(first) is None


@cuda.jit
def sums_of_rows(a, out):
    i = cuda.grid(1)
    if i < out.size:
        total = a[i, 0]
        for j in range(1, a.shape[1]):
            total += a[i, j]
        out[i] = total


def greatest_of_rows(a, out):
    for i in prange(a.shape[0]):
        best, at = a[i, 0], 0
        for j in range(1, a.shape[1]):
            if a[i, j] > best:
                best, at = a[i, j], j
        out[i, 1] = at


@pytest.mark.parametrize("type", [np.float32, np.int16])
def test_rows_of_any_length_and_order_are_read_and_written(type) -> None:
    rng = np.random.default_rng(5)
    whole = rng.integers(-99, 99, (45, 40)).astype(type)
    for a in (whole, whole[::-1, 3:], whole.T):
        for width in (8, 16):
            out = np.zeros(a.shape[0], type)
            cuda.jit(sums_of_rows.py_func, width=width)[2, 32](a, out)
            np.testing.assert_array_equal(out, a.sum(1, dtype=type))
            places = np.full((a.shape[0], 3), -1, np.int32)
            weft.jit(greatest_of_rows, width=width)(a, places)
            np.testing.assert_array_equal(places[:, 1], a.argmax(1))
            assert (places[:, ::2] == -1).all()

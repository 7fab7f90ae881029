"""Indices that may count from the end, as the least of two unsigned numbers: where, and that lanes access the same."""

import numpy as np
import pytest

import weft
from codegen.kernels import agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS
from codegen.test_forms import lines
from weft import cuda
from weft.machine.targets import AVX2, AVX512, SSE2, SSE4

LOADED = (
    "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n  %i = srem i32 %v, 100\n"
    "  %length = and i32 %u, 127\n"
)
LENGTH = "  %m = add i32 %length, 100\n"
CHOICE = (
    "  %below = icmp slt i32 %i, 0\n  %s = select i1 %below, i32 %m, i32 0\n"
    "  %q = getelementptr i32, ptr %in, i32 %s\n  %g = getelementptr i32, ptr %q, i32 %i\n"
)
FOUND = "  %w = load i32, ptr %g, align 4\n" + stored("%w")
PLACE = LOADED + LENGTH + CHOICE + FOUND
BEHIND = PLACE.replace("%i = srem", "%j = srem").replace("%length =", "%i = add nsw i32 %j, 1\n  %length =")
MASKED = LOADED + LENGTH + guarded(CHOICE + FOUND)
UNKNOWN = PLACE.replace("%m = add i32 %length, 100", "%m = add i32 %u, 100")
AGAIN = PLACE.replace(
    "%w = load i32, ptr %g, align 4", "%x = load i32, ptr %g\n  %w = select i1 %below, i32 %x, i32 7"
)


def of_an_array(text: str) -> str:
    return text.replace("ptr noalias %in", 'ptr noalias "weft.array.bytes"="1024" %in')


@pytest.mark.parametrize(("isa", "there"), [(SSE2, False), (SSE4, True), (AVX2, True), (AVX512, True)])
@pytest.mark.parametrize("body", [PLACE, BEHIND, MASKED], ids=["place", "behind", "masked"])
def test_it_is_the_least_where_that_is_one_instruction(body: str, isa, there: bool) -> None:
    assert bool(lines(widened(of_an_array(kernel_text(body)), 8, isa), r"llvm.umin.v8i32\(")) is there


def test_not_where_memory_may_lie_before_the_base_or_the_length_is_anything() -> None:
    assert not lines(widened(kernel_text(PLACE), 8, AVX2), "umin")
    assert not lines(widened(of_an_array(kernel_text(UNKNOWN)), 8, AVX2), "umin")


def test_not_of_numbers_of_few_bits_that_may_wrap_around() -> None:
    for flag, there in (("nsw ", True), ("", False)):
        index = (
            "  %h = getelementptr i16, ptr %in, i64 %tid\n  %j = load i16, ptr %h\n"
            f"  %x = add {flag}i16 %j, 300\n  %wide = sext i16 %j to i32\n"
        )
        choice = CHOICE.replace("icmp slt i32 %i, 0", "icmp slt i16 %x, 0").replace("i32 %i\n", "i32 %wide\n")
        found = "  %far = getelementptr i32, ptr %g, i32 300\n" + FOUND.replace("ptr %g", "ptr %far")
        text = widened(of_an_array(kernel_text(LOADED + LENGTH + index + choice + found)), 8, AVX2)
        assert bool(lines(text, "umin")) is there


def test_masks_in_registers_that_serve_for_more_are_kept() -> None:
    assert lines(widened(of_an_array(kernel_text(AGAIN)), 8, AVX2), "umin")
    assert not lines(widened(of_an_array(kernel_text(AGAIN)), 8, AVX512), "umin")


@pytest.mark.spread
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("body", [PLACE, BEHIND, MASKED, AGAIN], ids=["place", "behind", "masked", "again"])
def test_lanes_access_what_the_interpreter_does(body: str, isa) -> None:
    for width in (4, 16):
        agree(of_an_array(kernel_text(body)), width, isa)


@pytest.mark.spread
@pytest.mark.parametrize("type", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("width", [8, 16])
def test_each_index_of_an_array_finds_its_element(type: type, width: int) -> None:
    @cuda.jit(width=width)
    def kernel(values, where, wanted, out):
        i = cuda.grid(1)
        if i < out.size and wanted[i]:
            out[i] = values[where[i]] + values[where[i] + 1]

    @weft.jit(width=width)
    def loop(values, where, wanted, out):
        for i in weft.prange(out.size):
            if wanted[i]:
                out[i] = values[where[i]] + values[where[i] + 1]

    length = 100
    rng = np.random.default_rng(11)
    where = np.concatenate([np.arange(-length, length - 1), rng.integers(-length, length - 1, 41)]).astype(
        type
    )
    wanted = rng.integers(0, 3, where.size) > 0
    # Of what nobody wants any index may be there.
    where[~wanted] = rng.choice([np.iinfo(type).min, np.iinfo(type).max], np.count_nonzero(~wanted))
    values = rng.integers(0, 1000, length).astype(np.int32)
    expected = np.zeros(where.size, np.int32)
    near = where[wanted].astype(np.int64)
    expected[wanted] = values[near] + values[near + 1]
    out = np.zeros_like(expected)
    loop(values, where, wanted, out)
    np.testing.assert_array_equal(out, expected)
    out[...] = 0
    kernel[4, 64](values, where, wanted, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("width", [8, 16])
def test_elements_are_stored_where_they_belong(width: int) -> None:
    @cuda.jit(width=width)
    def put(values, where, wanted):
        i = cuda.grid(1)
        if i < where.size and wanted[i]:
            values[where[i]] = i + 1

    rng = np.random.default_rng(13)
    order = rng.permutation(120).astype(np.int32)
    where = np.where(rng.integers(0, 2, 120) > 0, order, order - 120).astype(np.int32)
    wanted = rng.integers(0, 3, 120) > 0
    where[~wanted] = 1 << 30
    values, expected = np.zeros(120, np.int32), np.zeros(120, np.int32)
    expected[where[wanted]] = np.flatnonzero(wanted) + 1
    put[2, 64](values, where, wanted)
    np.testing.assert_array_equal(values, expected)

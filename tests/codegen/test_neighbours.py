"""Indices computed from thread numbers: one vector access where lanes are neighbours, a gather where they are not."""

import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, widened
from codegen.machine_code import ISAS
from codegen.test_forms import lines

BUTTERFLY = """
  %less = sub i32 %u, 1
  %within = and i32 %t32, %less
  %twice = shl i32 %t32, 1
  %low = sub i32 %twice, %within
  %index = and i32 %low, 127
"""
FROM_MEMORY = (
    "  %p = getelementptr i32, ptr %in, i32 %t32\n  %v = load i32, ptr %p\n  %index = and i32 %v, 127\n"
)
CLAMPED = "  %index = call i32 @llvm.smin.i32(i32 %t32, i32 %u)\n"
FAR = """
  %far = shl i64 %u64, 33
  %there = xor i64 %number, %far
  %same = freeze i64 %there
  %index = xor i64 %same, %far
"""
"""Of which ranges know less than that it has 32 bits."""
WIDE_BUTTERFLY = f"""
  {BUTTERFLY.replace("%index", "%in_place")}
  %number = zext i32 %in_place to i64
  %u64 = sext i32 %u to i64
{FAR}"""
WIDE_CLAMPED = f"""
  %t64 = sext i32 %t32 to i64
  %u64 = sext i32 %u to i64
  %number = call i64 @llvm.smin.i64(i64 %t64, i64 %u64)
{FAR}"""
FROM_A_PLACE = """
  %u64 = sext i32 %u to i64
  %x = add i64 %u64, %tid
  %counts = icmp slt i64 %x, 0
  %size = select i1 %counts, i64 100, i64 0
  %index = add i64 %x, %size
"""
"""What counts from the end of 100 elements where it is negative."""
ACCESSES = """
  %g = getelementptr i32, ptr %in, i32 %index
  %w = load i32, ptr %g
  %s = getelementptr i32, ptr %out, i32 %index
  store i32 %w, ptr %s
"""
DISTANCES = (Launch(u=1), Launch(u=4), Launch(45, 64, u=16), Launch(u=64))
"""Lanes stand pairwise, in fours, and together."""


def kernel(index: str, mask: bool) -> str:
    body = index + (
        ACCESSES.replace("i32 %index", "i64 %index") if "%size" in index or FAR in index else ACCESSES
    )
    declared = "declare i32 @llvm.smin.i32(i32, i32)\ndeclare i64 @llvm.smin.i64(i64, i64)"
    return kernel_text(guarded(body) if mask else body, declared)


@pytest.mark.parametrize("mask", [False, True])
def test_both_versions_are_there(mask: bool) -> None:
    text = widened(kernel(BUTTERFLY, mask))
    assert lines(text, "masked.gather") and lines(text, "masked.scatter")
    contiguous = ("masked.load", "masked.store") if mask else ("load <8 x i32>", "store <8 x i32>")
    assert all(lines(text, form) for form in contiguous)
    assert lines(text, "icmp eq i8 .*-1")


def test_indices_from_memory_are_gathered_right_away() -> None:
    text = widened(kernel(FROM_MEMORY, mask=False))
    assert lines(text, "masked.gather") and not lines(text, "icmp eq i8")


@pytest.mark.parametrize(("places", "asked"), [(8, True), (4, False)])
def test_fewer_places_than_lanes_are_gathered_right_away(places: int, asked: bool) -> None:
    """Those of ``pattern[(i + u) & 3]`` in 8 lanes; 8 of them may be neighbours."""
    moved = f"  %moved = add i32 %t32, %u\n  %index = and i32 %moved, {places - 1}\n"
    text = widened(kernel(moved, mask=False))
    assert lines(text, "masked.gather") and bool(lines(text, "icmp eq i8")) == asked


def test_rows_a_number_apart_that_is_not_known_are_gathered_right_away() -> None:
    text = widened(kernel("  %index = mul i32 %t32, %u\n", mask=False))
    assert lines(text, "masked.gather") and not lines(text, "icmp eq i8")


def test_a_clamped_index_may_be_contiguous() -> None:
    assert lines(widened(kernel(CLAMPED, mask=False)), "icmp eq i8 .*-1")


@pytest.mark.parametrize("mask", [False, True])
def test_indices_of_64_bits_are_asked_too(mask: bool) -> None:
    text = widened(kernel(WIDE_CLAMPED, mask))
    assert lines(text, "masked.gather") and lines(text, "icmp eq i8 .*-1")
    assert lines(text, "add <8 x i64> .*i64 4, i64 8, i64 12")


@pytest.mark.parametrize("mask", [False, True])
def test_the_first_lane_says_whether_any_counts_from_the_end(mask: bool) -> None:
    text = widened(kernel(FROM_A_PLACE, mask))
    assert lines(text, "icmp ule i64 .*9223372036854775800") and not lines(text, "icmp eq i8 .*-1")
    contiguous = "masked.load" if mask else "load <8 x i32>"
    assert lines(text, contiguous) and lines(text, "masked.gather")
    agree(kernel(FROM_A_PLACE, mask), 16, ISAS[-1], tuple(Launch(45, 64, u=u) for u in (0, 9, -5, -40, -64)))


@pytest.mark.spread
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("index", [BUTTERFLY, CLAMPED, WIDE_BUTTERFLY, WIDE_CLAMPED])
def test_kernel_agrees_with_the_interpreter(index: str, mask: bool) -> None:
    for width, isa in zip((4, 16, 32), ISAS, strict=False):
        agree(kernel(index, mask), width, isa, DISTANCES)


def test_passive_lanes_before_the_array_are_neighbours() -> None:
    index = "  %far = add i32 %t32, -5\n  %zero = lshr i32 %u, 31\n  %index = xor i32 %far, %zero\n"
    text = kernel_text(guarded(index + ACCESSES, "%c = icmp sge i32 %t32, 5"))
    assert lines(widened(text), "icmp sle i32 .*2147483639") and lines(widened(text), "freeze <8 x i32>")
    agree(text, 16, ISAS[-1], (Launch(),))


def test_passive_lanes_may_have_any_address() -> None:
    # Those before the array count as neighbours in 64 bits, too, and none of them is accessed.
    index = "  %t64 = sext i32 %t32 to i64\n  %u64 = sext i32 %u to i64\n  %number = add i64 %t64, -5\n" + FAR
    accesses = ACCESSES.replace("i32 %index", "i64 %index")
    text = kernel_text(guarded(index + accesses, "%c = icmp sge i32 %t32, 5"))
    assert lines(widened(text), "freeze <8 x i64>")
    agree(text, 16, ISAS[-1], (Launch(),))


def test_offsets_and_rows_of_all_lanes_are_part_of_the_address() -> None:
    accesses = """
  %row = getelementptr i32, ptr %in, i64 %u64
  %at = getelementptr i32, ptr %row, i64 %index
  %g = getelementptr i32, ptr %at, i64 3
  %w = load i32, ptr %g
  %s = getelementptr i32, ptr %out, i64 %index
  store i32 %w, ptr %s
"""
    text = kernel_text(WIDE_CLAMPED + accesses, "declare i64 @llvm.smin.i64(i64, i64)")
    assert lines(widened(text), "masked.gather")
    agree(text, 16, ISAS[-1], (Launch(u=1), Launch(u=4), Launch(45, 64, u=16), Launch(u=64)))

"""Arrays of structures: which accesses are made together, in which form, and that they do what single ones do."""

import itertools
import os

import numpy as np
import pytest
from msgspec.structs import replace

from codegen.kernels import Launch, agree, guarded, kernel_text, level_for, stored, widened
from codegen.machine_code import ISAS, WIDTHS, compile_kernel
from codegen.random_structures import random_structure_program
from codegen.structures import loads, member, mixed, stores
from codegen.test_forms import lines
from pairs import pairs
from weft import opencl
from weft.codegen.widen.pieces import Piece, pieces_of, stores_pieces
from weft.machine.cores import core_of
from weft.machine.targets import AVX2, AVX512, SSE2

COMPLEX = loads(2, (0, 1)) + mixed(2) + stores(2, (0, 1), ("%m", "%v0"))


def test_parts_of_complex_numbers_are_two_registers_and_two_shuffles() -> None:
    text = widened(kernel_text(loads(2, (0, 1)) + mixed(2) + stored("%m")), 16)
    assert len(lines(text, "load <16 x i32>")) == 2 and "gather" not in text
    assert lines(text, "shufflevector <16 x i32> .*<i32 0, i32 2, i32 4")
    assert lines(text, "shufflevector <16 x i32> .*<i32 1, i32 3, i32 5")
    assert len(lines(text, "shufflevector")) == 2


def test_four_parts_are_taken_apart_by_two_steps_of_shuffles_of_two_registers() -> None:
    body = loads(4, (0, 1, 2, 3)) + mixed(4) + stores(4, (0, 1, 2, 3), ("%m", "%v3", "%v2", "%v1"))
    text = widened(kernel_text(body), 16)
    assert len(lines(text, "shufflevector <16 x i32>")) == 8 + 8 and not lines(
        text, "shufflevector <(32|64) x"
    )


def test_parts_that_nobody_reads_are_not_taken_apart() -> None:
    text = widened(kernel_text(loads(4, (1, 3)) + mixed(2) + stored("%m")), 16)
    # One more puts the last register in place, which ends with the last member.
    assert len(lines(text, "shufflevector <16 x i32>")) <= 2 + 2 + 1


def test_all_members_of_a_structure_are_stored_whole() -> None:
    text = widened(kernel_text(COMPLEX), 16)
    assert len(lines(text, "store <16 x i32>")) == 2 and "scatter" not in text and "masked.store" not in text


def test_gaps_of_structures_are_not_written() -> None:
    text = widened(kernel_text(loads(3, (0,)) + stores(3, (0, 2), ("%v0", "%t32"))), 16)
    first, second, third = lines(text, "masked.store.v16i32")
    assert "<i1 true, i1 false, i1 true, i1 true, i1 false" in first and "scatter" not in text
    assert "<i1 false, i1 true, i1 true, i1 false" in second and "<i1 true, i1 true, i1 false" in third


XYZ = loads(1, (0,)) + stores(4, (0, 1, 2), ("%v0", "%t32", "%v0"))


def test_what_lies_between_gaps_is_stored_in_pieces_without_registers_for_masks() -> None:
    text = widened(kernel_text(XYZ), 8, AVX2)
    assert "masked" not in text
    assert len(lines(text, "store <2 x i32>")) == len(lines(text, "store i32")) == 8


def test_passive_lanes_store_their_pieces_to_a_spare_object() -> None:
    text = widened(kernel_text(guarded(XYZ)), 8, AVX2)
    under_mask = lines(text, r"select i1 %\S+, ptr %\S+, ptr %spare")
    assert len(under_mask) == 16 and "scatter" not in text
    whole = loads(1, (0,)) + stores(4, (0, 1, 2, 3), ("%v0", "%t32", "%v0", "%t32"))
    assert lines(widened(kernel_text(guarded(whole)), 8, AVX2), "masked.store.v8i32")


def test_masked_stores_are_asked_of_the_core() -> None:
    zen = replace(AVX2, core=core_of("znver3"))
    assert stores_pieces(zen, masked=True, gaps=False) and not stores_pieces(AVX2, masked=True, gaps=False)
    assert stores_pieces(SSE2, masked=True, gaps=False) and not stores_pieces(zen, masked=False, gaps=False)
    assert stores_pieces(AVX2, masked=False, gaps=True) and not stores_pieces(AVX512, masked=True, gaps=True)


def test_pieces_are_as_large_as_powers_of_two() -> None:
    assert pieces_of([0, 0, 0, None, 0, None, 0, 0]) == [Piece(0, 2), Piece(2, 1), Piece(4, 1), Piece(6, 2)]
    assert pieces_of([0, 0, 1, 1, 1, 1, None, 2]) == [Piece(0, 2), Piece(2, 4), Piece(7, 1)]
    assert pieces_of([None] * 4) == []


def test_last_structure_is_not_read_beyond_its_last_member() -> None:
    text = widened(kernel_text(loads(2, (0,)) + stored("%v0")), 16)
    # The second register begins one element early.
    assert lines(text, "getelementptr i8, ptr %i0, i64 60") and len(lines(text, "load <16 x i32>")) == 2


def test_mask_is_spread_over_the_structures_and_cut_by_the_gaps() -> None:
    text = widened(kernel_text(guarded(loads(3, (0, 2)) + mixed(2) + stored("%m"))), 16)
    assert lines(text, "shufflevector <16 x i1> %c, .*<i32 0, i32 0, i32 0, i32 1, i32 1, i32 1")
    assert lines(text, "shufflevector <16 x i1> %c, .*<i32 10, i32 11, i32 11, i32 11, i32 12")
    assert lines(text, "and <16 x i1> .*<i1 true, i1 false, i1 true, i1 true")
    # A register each: LLVM takes masks of 48 apart bit by bit.
    assert len(lines(text, "masked.load.v16i32")) == 3 and not lines(text, "<48 x i1>")


def test_a_byte_of_sixteen_under_a_mask_is_gathered_where_bytes_have_no_masks() -> None:
    """Each of the sixteen registers around it would be asked for; rows written out have such loads by the dozen."""
    body = loads(16, (0,), "i8") + "  %w = zext i8 %v0 to i32\n"
    assert "gather" in widened(kernel_text(guarded(body + stored("%w"))), 32, AVX2)
    assert "gather" not in widened(kernel_text(body + stored("%w")), 32, AVX2)
    pixel = loads(3, (0, 1, 2), "i8") + mixed(3, "i8") + stored("%m", "i8")
    assert "gather" not in widened(kernel_text(guarded(pixel)), 32, AVX2)


def test_members_of_several_sizes_are_made_of_a_common_unit() -> None:
    body = (
        "  %s = getelementptr { i64, i32, i32 }, ptr %in, i64 %tid\n  %a = load i64, ptr %s\n"
        "  %q = getelementptr i8, ptr %s, i64 8\n  %b = load i32, ptr %q\n  %w = zext i32 %b to i64\n"
        "  %r = add i64 %a, %w\n" + stored("%r", "i64")
    )  # fmt: skip
    text = widened(kernel_text(body), 8)
    assert lines(text, "bitcast <16 x i32> .* to <8 x i64>") and "gather" not in text


def test_index_arithmetic_is_seen_through() -> None:
    body = (
        "  %k = mul i64 %tid, 3\n  %k1 = add i64 %k, 1\n  %t3 = mul nsw i32 %t32, 3\n  %t5 = add nsw i32 %t3, 2\n"
        "  %l = sext i32 %t5 to i64\n"
        + "".join(f"  %p{n} = getelementptr i32, ptr %in, i64 {i}\n  %v{n} = load i32, ptr %p{n}\n"
                  for n, i in enumerate(("%k", "%k1")))
        + mixed(2) + stored("%m")
    )  # fmt: skip
    text = widened(kernel_text(body), 16)
    assert "gather" not in text and len(lines(text, "load <16 x i32>")) == 3


def test_write_that_may_touch_a_member_parts_the_loads() -> None:
    between = "  store i32 7, ptr {}\n"
    pointer = "  %p = getelementptr i32, ptr {base}, i64 %n\n"
    apart = member("%in", 4, 0, "i0") + "  %v0 = load i32, ptr %i0\n"
    behind = member("%in", 4, 1, "i1") + "  %v1 = load i32, ptr %i1\n" + mixed(2) + stored("%m")
    same = pointer.format(base="%in") + apart + between.format("%p") + behind
    other = pointer.format(base="%out") + apart + between.format("%p") + behind
    assert len(lines(widened(kernel_text(same), 16), "load <16 x i32>")) == 8
    assert len(lines(widened(kernel_text(other), 16), "load <16 x i32>")) == 4


def test_read_that_may_see_a_store_parts_the_stores() -> None:
    body = (
        loads(2, (0, 1)) + member("%out", 2, 0, "a") + member("%out", 2, 1, "b") + "  store i32 %v0, ptr %a\n"
        "  %q = getelementptr i32, ptr %out, i64 %n\n  %r = load i32, ptr %q\n  %s = add i32 %r, %v1\n"
        "  store i32 %s, ptr %b\n"
    )  # fmt: skip
    text = widened(kernel_text(body), 16)
    assert not lines(text, r"store <") and len(lines(text, "masked.store.v16i32")) == 4


def test_structures_too_large_for_it_are_gathered() -> None:
    assert "gather" in widened(kernel_text(loads(40, (0,)) + stored("%v0")), 16)


ACCESSES = {
    "all of two": COMPLEX,
    "all of three": loads(3, (2, 0, 1)) + mixed(3) + stores(3, (1, 0, 2), ("%m", "%v0", "%v1")),
    "all of four": loads(4, (0, 1, 2, 3)) + mixed(4) + stores(4, (0, 1, 2, 3), ("%m", "%v1", "%v2", "%t32")),
    "one of two": loads(2, (1,)) + stores(2, (1,), ("%v0",)),
    "first and last of three": loads(3, (0, 2)) + mixed(2) + stores(3, (0, 2), ("%m", "%v1")),
    "one of three": loads(3, (1,)) + stores(3, (1,), ("%v0",)),
    "bytes": loads(4, (0, 1, 3), "i8") + mixed(3, "i8") + stores(4, (0, 1, 2), ("%m", "%v1", "%v2"), "i8"),
    "doubles": loads(2, (0, 1), "i64") + mixed(2, "i64") + stores(2, (0, 1), ("%m", "%v1"), "i64"),
    "backwards": "  %k = sub i64 60, %tid\n" + loads(3, (0, 1), "i32", "%k") + mixed(2)
    + "  %l = sub i64 63, %tid\n" + stores(2, (1, 0), ("%v0", "%m"), "i32", "%l"),
    "twice the same": loads(2, (0, 0, 1)) + mixed(3) + stores(2, (0, 1), ("%m", "%v1")),
    "several sizes": "  %s = getelementptr { i64, i16, i16, i32 }, ptr %in, i64 %tid\n  %a = load i64, ptr %s\n"
    "  %sp = getelementptr i8, ptr %s, i64 8\n  %b = load i16, ptr %sp\n  %w = sext i16 %b to i64\n"
    "  %r = add i64 %a, %w\n  %t = trunc i64 %r to i32\n"
    "  %d = getelementptr { i64, i32, i32 }, ptr %out, i64 %tid\n  store i64 %r, ptr %d\n"
    "  %dp = getelementptr i8, ptr %d, i64 12\n  store i32 %t, ptr %dp",
}  # fmt: skip
NEAR = 42
"""Threads whose structures of three or four words lie within the arrays."""


@pytest.mark.parametrize("body", ACCESSES.values(), ids=ACCESSES)
def test_accesses_made_together_do_what_single_ones_do(body: str) -> None:
    launches = (Launch(NEAR, 37), Launch(NEAR - 9, 64), Launch(NEAR, 0))
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        agree(kernel_text(guarded(body) if k % 2 else body), width, isa, launches)


PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 12)
FIRST = int(os.environ.get("WEFT_FUZZ_FROM") or 0)
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_random_accesses_to_structures_mean_the_same_vectorized(part: int) -> None:
    for seed in range(FIRST + part, FIRST + PROGRAMS, PARTS):
        program = random_structure_program(seed)
        width, isa = WIDTHS[seed % len(WIDTHS)], ISAS[seed // len(WIDTHS) % len(ISAS)]
        if "WEFT_FUZZ" not in os.environ and level_for(width, isa) == 0:
            # LLVM takes up to ten seconds for shuffles of so many registers.
            width = 16
        try:
            agree(program.text, width, isa, program.launches)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {isa.name}: {error}\n{program.text}") from None


THREE_BYTES = """
  %at3 = mul i64 %tid, 3
  %p0 = getelementptr i8, ptr %in, i64 %at3
  %p1 = getelementptr i8, ptr %p0, i64 1
  %p2 = getelementptr i8, ptr %p0, i64 2
  %b0 = load i8, ptr %p0
  %b1 = load i8, ptr %p1
  %b2 = load i8, ptr %p2
  %q0 = getelementptr i8, ptr %out, i64 %at3
  %q1 = getelementptr i8, ptr %q0, i64 1
  %q2 = getelementptr i8, ptr %q0, i64 2
  %sum = add i8 %b0, %b1
  store i8 %b2, ptr %q0
  store i8 %sum, ptr %q1
  store i8 %b0, ptr %q2
"""


@pytest.mark.spread
@pytest.mark.parametrize(("isa", "width"), pairs(ISAS, (8, 16, 32, 64)))
def test_three_bytes_of_each_lane_are_its_own(isa, width: int) -> None:
    text, threads = kernel_text(THREE_BYTES), 128
    given = np.random.default_rng(1).integers(0, 256, (threads, 3)).astype(np.uint8)
    got = np.zeros_like(given)
    compile_kernel(text, width, isa)((given, got, threads, 0), threads)
    first, second, third = given.T
    np.testing.assert_array_equal(got, np.stack([third, first + second, first], 1))


def test_three_bytes_of_all_lanes_are_one_access_on_avx2() -> None:
    text = widened(kernel_text(THREE_BYTES), 32, AVX2)
    assert len(lines(text, "load <96 x i8>")) == len(lines(text, "store <96 x i8>")) == 1
    assert "<96 x i8>" not in widened(kernel_text(THREE_BYTES), 8, AVX2)


WINDOWS = """
kernel void k(global const TYPE4 *x, global TYPE4 *out, int n, int radius) {
  int i = (int)get_local_id(0) - radius;
  if (get_local_id(0) >= radius + 3 && get_local_id(0) < n) {
    TYPE4 sum = 0;
    for (int j = i; j <= i + 2 * radius; j++) sum += x[j];
    out[i] = sum;
  }
}"""


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", ""])
@pytest.mark.parametrize("type", ["uchar", "float", "ushort"])
def test_structures_under_a_mask_at_numbers_of_32_bits(
    level: str, type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their first lane is passive, and what is concluded from flags of its address holds in active lanes only."""
    pytest.importorskip("ziglang")
    monkeypatch.setenv("WEFT_CPU", level)
    dtype = {"uchar": np.uint8, "float": np.float32, "ushort": np.uint16}[type]
    x = np.random.default_rng(5).integers(0, 20, (64, 4)).astype(dtype)
    radius, n = 2, 41
    expected = np.zeros_like(x)
    for t in range(radius + 3, n):
        expected[t - radius] = x[t - radius : t + radius + 1].sum(0)
    for width in (None, 4, 16, 32):
        kernel = opencl.Program(WINDOWS.replace("TYPE", type), width=width).k
        out = np.zeros_like(x)
        kernel(64, 64, x, out, n, radius)
        assert out.tolist() == expected.tolist()


def test_structures_under_a_mask_at_numbers_of_32_bits_are_wide_accesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    kernel = opencl.Program(WINDOWS.replace("TYPE", "uchar")).k
    kernel.inspect_asm()
    made = [r.message for r in kernel.remarks if r.kind.value == "memory"]
    assert made and all("wide accesses" in message for message in made)

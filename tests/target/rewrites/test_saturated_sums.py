"""Sums of short numbers that are only compared with short ones are as short, and are answered as the exact sums are."""

import ctypes

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object, optimized
from weft.target.passes import FINAL
from weft.target.rewrites.saturated_sums import with_saturated_sums

SUMS = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %result) {
  %x = load <32 x i8>, ptr %a, align 1
  %y = load <32 x i8>, ptr %b, align 1
  %z = load <32 x i8>, ptr %c, align 1
  %x.long = zext <32 x i8> %x to <32 x i16>
  %y.long = zext nneg <32 x i8> %y to <32 x i16>
  %z.long = zext <32 x i8> %z to <32 x i16>
  %two = add nuw nsw <32 x i16> %x.long, %y.long
  %more = shl nuw nsw <32 x i16> %two, splat (i16 TIMES)
  %some = add nuw nsw <32 x i16> %more, %z.long
  %sum = add nuw nsw <32 x i16> %some, splat (i16 TERM)
  %m = icmp ugt <32 x i16> %sum, splat (i16 NUMBER)
  %answer = zext <32 x i1> %m to <32 x i8>
  store <32 x i8> %answer, ptr %result, align 1
  ret void
}
"""
BETWEEN = SUMS.replace(
    "  %m = icmp ugt <32 x i16> %sum,",
    "  %above = add nsw <32 x i16> %sum, splat (i16 -LOW)\n  %m = icmp ugt <32 x i16> %above,",
)


def filled(text: str, times: int = 1, term: int = 5, number: int = 20, low: int = 0) -> str:
    for name, value in (("TIMES", times), ("TERM", term), ("NUMBER", number), ("-LOW", -low)):
        text = text.replace(name, str(value))
    return text


TERMS = np.random.default_rng(1).integers(0, 256, (3, 32 * 24)).astype(np.uint8)
TERMS[:, 32 * 12 :] //= 16
TERMS[:, 32 * 20 :] //= 8


def ran(text: str) -> np.ndarray:
    spec = TargetSpec.chosen()
    code = load_object(emit_object(optimized(text, spec, FINAL), spec), ["f"])
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 4)(code.address("f"))
    result = np.zeros(TERMS.shape[1], np.uint8)
    for begin in range(0, result.size, 32):
        call(*(row[begin:].ctypes.data for row in (*TERMS, result)))
    return result


COMPARED = {
    "eq": np.equal, "ne": np.not_equal, "ult": np.less, "ule": np.less_equal, "ugt": np.greater,
    "uge": np.greater_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("predicate", COMPARED)
def test_lanes_answer_as_exact_sums_do(predicate: str) -> None:
    x, y, z = TERMS.astype(int)
    for times, term, number in ((1, 5, 20), (2, 0, 254), (1, 255, 255), (1, 130, 140), (2, 1, 128)):
        text = filled(SUMS.replace("ugt", predicate), times, term, number)
        made = with_saturated_sums(text, AVX2)
        # The greatest short number stands for all that is beyond.
        assert (made is not None) == (number < 255 or predicate[1:] in ("lt", "ge"))
        wanted = COMPARED[predicate](((x + y) << times) + z + term, number)
        np.testing.assert_array_equal(ran(made or text), wanted)


@pytest.mark.parametrize("predicate", ["eq", "ne", "ult", "ule", "ugt", "uge"])
def test_numbers_between_two_are_known_by_a_difference(predicate: str) -> None:
    x, y, z = TERMS.astype(int)
    for low, number in ((3, 4), (20, 100), (200, 54), (1, 253), (200, 55), (100, 200)):
        text = filled(BETWEEN.replace("ugt", predicate), number=number, low=low)
        made = with_saturated_sums(text, AVX2)
        assert (made is not None) == (low + number + (predicate not in ("ult", "uge")) < 256)
        above = (((x + y) << 1) + z + 5 - low) % (1 << 16)
        np.testing.assert_array_equal(ran(made or text), COMPARED[predicate](above, number))


def test_what_is_taken_from_a_term_is_taken_where_the_sum_is_compared() -> None:
    x, y, z = TERMS.astype(int)
    text = filled(SUMS).replace("%two = add nuw nsw <32 x i16> %x.long,", "%two = add nsw <32 x i16> %less,")
    less = "  %less = add nsw <32 x i16> %x.long, splat (i16 -30)\n  %two"
    text = text.replace("  %two", less, 1)
    made = with_saturated_sums(text, AVX2)
    assert made is not None and "sub <32 x i8>" in made and ", splat (i8 60)" in made
    np.testing.assert_array_equal(ran(made), (2 * (x - 30 + y) + z + 5) % (1 << 16) > 20)
    far = text.replace("i16 -30", "i16 -120")
    assert with_saturated_sums(far, AVX2) is None


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512])
def test_no_sum_is_long(isa: Isa) -> None:
    made = with_saturated_sums(filled(SUMS), isa)
    assert made is not None
    assert made.count("call <32 x i8> @llvm.uadd.sat.v32i8") == 4
    assert made.count("declare <32 x i8> @llvm.uadd.sat.v32i8") == 1
    assert "icmp ugt <32 x i8>" in made
    # The long sums are nobody's, and the text is not changed again.
    assert with_saturated_sums(optimized(made, TargetSpec.of_isa(isa), FINAL), isa) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("splat (i16 20)", "splat (i16 300)"),
        ("splat (i16 5)", "splat (i16 300)"),
        ("zext <32 x i8> %z", "sext <32 x i8> %z"),
        ("%answer = zext <32 x i1> %m", "%answer = trunc <32 x i16> %sum"),
        ("%two = add nuw nsw <32 x i16> %x.long, %y.long", "%two = sub nsw <32 x i16> %x.long, %y.long"),
        ("shl nuw nsw <32 x i16> %two, splat (i16 1)", "shl nuw nsw <32 x i16> %two, splat (i16 7)"),
    ],
    ids=["long number", "long term", "with sign", "taken", "difference", "doubled often"],
)
def test_others_stay(old: str, new: str) -> None:
    text = filled(SUMS)
    assert old in text
    assert with_saturated_sums(text.replace(old, new), AVX2) is None


def test_a_sum_within_another_is_asked_too() -> None:
    text = filled(SUMS).replace("%m = ", "%n = icmp ult <32 x i16> %more, splat (i16 9)\n  %o = ")
    text = text.replace("  %answer", "  %m = or <32 x i1> %n, %o\n  %answer")
    made = with_saturated_sums(text, AVX2)
    assert made is not None and made.count("x i8> @llvm.uadd.sat") == 5
    x, y, z = TERMS.astype(int)
    np.testing.assert_array_equal(ran(made), (2 * (x + y) < 9) | (2 * (x + y) + z + 5 > 20))


def test_sums_that_may_wrap_around_stay() -> None:
    lines = ["  %s0 = add <32 x i16> %x.long, %y.long"]
    lines += [f"  %s{k} = shl <32 x i16> %s{k - 1}, splat (i16 2)" for k in range(1, 5)]
    head, tail = filled(SUMS).split("  %two = ")
    asked = "  %m = icmp ugt <32 x i16> %s#, splat (i16 20)\n  %answer" + tail.split("  %answer")[1]
    few, many = (head + "\n".join(lines[: k + 1]) + "\n" + asked.replace("#", str(k)) for k in (3, 4))
    assert with_saturated_sums(few, AVX2) is not None
    assert with_saturated_sums(many, AVX2) is None


def brighter(image, edges):
    y, x = cuda.grid(2)
    if 0 < y < image.shape[0] - 1 and 0 < x < image.shape[1] - 1:
        around = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                around += image[y + dy, x + dx]
        edges[y, x] = 7 if 100 <= around < 200 or around == 250 else 1


def brighter_loop(image, edges):
    for y in prange(1, image.shape[0] - 1):
        for x in range(1, image.shape[1] - 1):
            around = 0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    around += image[y + dy, x + dx]
            edges[y, x] = 7 if 100 <= around < 200 or around == 250 else 1


@pytest.mark.optimized
@pytest.mark.parametrize("door", ["kernel", "loop"])
def test_neighbours_are_counted_in_bytes(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    rng = np.random.default_rng(2)
    image = rng.integers(0, 64, (70, 150)).astype(np.uint8)
    image[:20] *= 4
    sums = sum(
        image[1 + dy : 69 + dy, 1 + dx : 149 + dx].astype(int) for dy in (-1, 0, 1) for dx in (-1, 0, 1)
    )
    wanted = np.pad(np.where((sums >= 100) & (sums < 200) | (sums == 250), 7, 1), 1)
    edges = np.zeros_like(image)
    if door == "kernel":
        compiled = cuda.jit(brighter)
        compiled[(9, 10), (8, 16)](image, edges)
    else:
        compiled = weft.jit(brighter_loop)
        compiled(image, edges)
    np.testing.assert_array_equal(edges, wanted)
    if TargetSpec.chosen().isa.arch in ("x86_64", "aarch64"):
        assert "x i8> @llvm.uadd.sat" in "".join(map(str, compiled.inspect_llvm().values()))

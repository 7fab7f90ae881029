"""Numbers that grow along the lanes are divided once for all of them, and as lanes would divide them."""

import numpy as np
import pytest

from codegen.kernels import kernel_text, widened
from codegen.machine_code import AVX2, ISAS, Isa, compile_kernel
from pairs import pairs
from weft import cuda, interp
from weft.interp import Program
from weft.ir.reader import read_module

THREADS = 64

BODY = """
  %start = {narrow} i64 %n {to}
  %t = {narrow} i64 %tid {to}
  %step = mul {flags} i{b} %t, {stride}
  %a = add {flags} i{b} %start, %step
  %d0 = {extend} i32 %u to i{b}
  %byte = getelementptr i8, ptr %in, i64 %tid
  %has = load i8, ptr %byte
  %c = icmp ne i8 %has, 0
  {branch}
then:
  %q = {op}div i{b} %a, %d0
  %r = {op}rem i{b} %a, %d0
  %q64 = {widen} i{b} %q {back}
  %r64 = {widen} i{b} %r {back}
  %mixed = mul i64 %q64, 1000003
  %sum = add i64 %mixed, %r64
  %at = getelementptr i64, ptr %out, i64 %tid
  store i64 %sum, ptr %at
  br label %exit
exit:"""


def text(op: str, bits: int, stride: int, masked: bool) -> str:
    branch = "br i1 %c, label %then, label %exit" if masked else "br label %then"
    extend = {32: "bitcast", 64: "sext"}.get(bits, "trunc")
    narrow, to, widen, back = (
        ("or", ", 0", "or", ", 0") if bits == 64 else ("trunc", f"to i{bits}", "sext", "to i64")
    )
    return kernel_text(
        BODY.format(
            op=op, b=bits, stride=stride, branch=branch, extend=extend, narrow=narrow, to=to, widen=widen,
            back=back, flags="nsw" if op == "s" else "nuw",
        )
    )  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(
    ("op", "bits", "width", "stride", "masked", "isa"),
    pairs(["s", "u"], [64, 32, 16], [4, 8, 16, 32], [1, 3], [False, True], ISAS),
)
def test_quotients_and_remainders(op, bits: int, width: int, stride: int, masked: bool, isa: Isa) -> None:
    module = text(op, bits, stride, masked)
    run, program = compile_kernel(module, width, isa), Program(read_module(module))
    most = (1 << (bits - 1)) - 1 - 3 * THREADS
    starts = (0, 1, 5, 1000, most) if op == "u" else (0, -3, -100, 37, most, -most)
    divisors = (1, 2, 3, 7, 15, 16, 31, 45, 93, 100, 10007, *((-1, -7, -100) if op == "s" else ()))
    rng = np.random.default_rng(bits)
    for start in starts:
        for divisor in rng.choice(divisors, 5, replace=False):
            has = (rng.random(THREADS) < rng.choice([0.0, 0.1, 0.9])).astype(np.uint8)
            if divisor == -1 and start == -most:
                continue
            outs = [np.zeros(THREADS, np.int64) for _ in range(2)]
            interp.launch(program, "kernel", (has, outs[0], start, int(divisor)), 1, THREADS, width=width)
            run((has, outs[1], start, int(divisor)), THREADS)
            np.testing.assert_array_equal(outs[1], outs[0], str((start, divisor)))


def test_nothing_traps_where_no_thread_divides() -> None:
    run = compile_kernel(text("s", 64, 1, True), 8, AVX2)
    out = np.zeros(THREADS, np.int64)
    run((np.zeros(THREADS, np.uint8), out, 5, 0), THREADS)
    assert not out.any()


def test_one_division_serves_a_lane_group() -> None:
    code = widened(text("s", 64, 1, False))
    assert code.count("udiv i64") == 2 and code.count("uge <8 x i64>") == 2
    # What may wrap around is no such number, nor one that falls.
    assert "udiv i64" not in widened(text("s", 64, 1, False).replace("add nsw", "add"))
    assert "udiv i64" not in widened(text("s", 64, -1, False))


def rows_and_columns(out, width):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1000 * (i // width) + i % width


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_flat_numbers_of_python(size: int) -> None:
    compiled = cuda.jit(rows_and_columns)
    for width in (1, 2, 7, 8, 33, 100, 999, 5000, -3, -50):
        out, i = np.zeros(size, np.int64), np.arange(size)
        compiled[-(-size // 128), 128](out, width)
        np.testing.assert_array_equal(out, 1000 * (i // width) + i % width)


def planes_rows_and_columns(out, height, width):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1_000_000 * (i // width // height) + 1000 * (i // width % height) + i % width


@pytest.mark.parametrize(("lanes", "start"), [(8, 0), (16, -40), (64, 3)])
def test_quotients_are_divided_again(lanes: int, start: int) -> None:
    compiled = cuda.jit(planes_rows_and_columns, width=lanes)
    moved = cuda.jit(moved_planes, width=lanes)
    for height, width in ((1, 1), (1, 7), (2, 1), (3, 9), (50, 61), (7, 100), (-3, 5), (4, -6), (1000, 2)):
        out, i = np.zeros(777, np.int64), np.arange(777)
        compiled[7, 128](out, height, width)
        wanted = 1_000_000 * (i // width // height) + 1000 * (i // width % height) + i % width
        np.testing.assert_array_equal(out, wanted)
        moved[7, 128](out, i[::-1].copy(), start, height, width)
        i = i + start
        np.testing.assert_array_equal(out, np.where(i % 3, i // width % height, 0), str((height, width)))


def moved_planes(out, unused, start, height, width):
    t = cuda.grid(1)
    if t < out.size:
        i = t + start
        out[t] = 0
        if i % 3:
            out[t] = i // width % height


def test_one_division_serves_quotients_too() -> None:
    again = text("u", 64, 1, False).replace("%r = urem i64 %a, %d0", "%r = urem i64 %q, 91")
    code = widened(again)
    assert code.count("udiv i64") == 2 and code.count("urem <8 x i64>") == 1
    # Of numbers of 32 bits vectors are divided.
    narrow = widened(text("u", 32, 1, False).replace("%r = urem i32 %a, %d0", "%r = urem i32 %q, 91"))
    assert narrow.count("udiv i32") == 1

"""64-bit numbers that fit in 32 bits are computed in 32 bits, with the same results."""

import numpy as np
import pytest

from weft import cuda
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import domain_named
from weft.interp import Memory, run_function
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.types import I64
from weft.ir.verifier import verify
from weft.transform.numbers.narrowing import narrow_varying

MOVES = {
    "add": "add i64 %k, %b",
    "sub": "sub i64 %k, %b",
    "mul": "mul i64 %k, %b",
    "and": "and i64 %k, %b",
    "or": "or i64 %k, %b",
    "xor": "xor i64 %k, %b",
    "shl": "shl i64 %k, 5",
    "half": "ashr i64 %k, 1",
    "unsigned half": "lshr i64 %k, 3",
    "quotient": "sdiv i64 %k, -3",
    "remainder": "srem i64 %k, 7",
    "unsigned quotient": "udiv i64 %k, 5",
    "unsigned remainder": "urem i64 %k, 70001",
    "select": "select i1 %odd, i64 %b, i64 %k",
    "least": "call i64 @llvm.smin.i64(i64 %k, i64 %b)",
    "greatest": "call i64 @llvm.smax.i64(i64 %k, i64 %b)",
    "least as unsigned": "call i64 @llvm.umin.i64(i64 %k, i64 %b)",
    "greatest as unsigned": "call i64 @llvm.umax.i64(i64 %k, i64 %b)",
}
LIMITS = {"signed": (-(1 << 31), (1 << 31) - 1), "natural": (0, (1 << 32) - 1)}
NUMBERS = {
    "signed": (-(1 << 31), -1, 70000, (1 << 31) - 1),
    "natural": (0, 70000, 1 << 31, (1 << 32) - 1),
}


def program(move: str, limits: tuple[int, int] | None) -> str:
    """Threads step a number within limits, a few times, and store it in several readings."""
    lo, hi = limits or (0, 1 << 40)
    given = f"range(i64 {lo}, {hi + 1})" if limits else ""
    return f"""
declare i64 @llvm.smin.i64(i64, i64) memory(none) nounwind willreturn speculatable
declare i64 @llvm.smax.i64(i64, i64) memory(none) nounwind willreturn speculatable
declare i64 @llvm.umin.i64(i64, i64) memory(none) nounwind willreturn speculatable
declare i64 @llvm.umax.i64(i64, i64) memory(none) nounwind willreturn speculatable
define void @k(ptr %out, i64 %tid.x, i64 {given} %a, i64 {given} %b) "weft.kernel" {{
entry:
  %column = getelementptr [4 x i64], ptr %out, i64 %tid.x
  %own.at = getelementptr [4 x i64], ptr %column, i64 0, i64 3
  %seed = load i8, ptr %own.at
  %odd = trunc i8 %seed to i1
  %first = select i1 %odd, i64 %a, i64 %b
  %steps = and i8 %seed, 7
  br label %head
head:
  %n = phi i8 [ 0, %entry ], [ %n1, %body ]
  %k = phi i64 [ %first, %entry ], [ %clamped, %body ]
  %more = icmp ult i8 %n, %steps
  br i1 %more, label %body, label %done
body:
  %next = {move}
  %raised = call i64 @llvm.smax.i64(i64 %next, i64 {lo})
  %clamped = call i64 @llvm.smin.i64(i64 %raised, i64 {hi})
  %n1 = add i8 %n, 1
  br label %head
done:
  %f = sitofp i64 %k to double
  %below = icmp ult i64 %k, %b
  %flag = zext i1 %below to i64
  %p0 = getelementptr i64, ptr %column, i64 0
  %p1 = getelementptr i64, ptr %column, i64 1
  %p2 = getelementptr i64, ptr %column, i64 2
  store i64 %k, ptr %p0
  store double %f, ptr %p1
  store i64 %flag, ptr %p2
  ret void
}}
"""


def narrowed(text: str) -> tuple[Module, int]:
    module = read_module(text)
    kernel = module.functions["k"]
    domain = domain_named("product", (8,))
    shapes = {kernel.args[1]: domain.strided(1, 64, 8)}
    count = narrow_varying(kernel, analyze_divergence(kernel, domain=domain, initial=shapes, width=8))
    verify(module)
    return module, count


def results(module: Module, a: int, b: int) -> np.ndarray:
    memory = Memory()
    out = np.zeros((16, 4), np.int64)
    out[:, 3] = np.arange(16)
    address = memory.map_array(out, "out")
    run_function(module, "k", [address, np.arange(16), a, b], 16, memory=memory)
    return out[:, :3].copy()


@pytest.mark.spread
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("move", MOVES)
def test_results_are_the_same(move: str, limits: str) -> None:
    text = program(MOVES[move], LIMITS[limits])
    before, (module, count) = read_module(text), narrowed(text)
    assert count
    assert not [phi for b in module.functions["k"].blocks for phi in b.phis() if phi.type == I64]
    for a in NUMBERS[limits]:
        for b in NUMBERS[limits]:
            np.testing.assert_array_equal(results(module, a, b), results(before, a, b), f"{a} {b}")


@pytest.mark.parametrize(
    ("name", "limits"),
    [("smin", "signed"), ("smax", "signed"), *((n, "natural") for n in ("smin", "smax", "umin", "umax"))],
)
def test_minima_and_maxima_are_narrow_themselves(name: str, limits: str) -> None:
    lo, hi = LIMITS[limits]
    text = program(f"call i64 @llvm.{name}.i64(i64 %k, i64 %b)", LIMITS[limits])
    module, _ = narrowed(
        text.replace(f"%next, i64 {lo}", "%next, i64 %b").replace(f"%raised, i64 {hi}", "%raised, i64 %b")
    )
    assert not [i for i in module.functions["k"].instructions() if i.op == "call" and i.type == I64]


def wide_values(kernel: Function) -> list[str]:
    return [i.op for i in kernel.instructions() if i.type == I64 and i.op not in ("sext", "zext")]


def test_numbers_of_unknown_size_stay() -> None:
    assert narrowed(program("add i64 %k, %b", None))[1] == 0


def test_a_search_is_done_in_32_bits() -> None:
    text = """
define void @k(ptr %out, i64 %tid.x, i64 range(i64 0, 2147483648) %n) "weft.kernel" {
entry:
  %at = getelementptr i32, ptr %out, i64 %tid.x
  %key = load i32, ptr %at
  br label %head
head:
  %low = phi i64 [ 0, %entry ], [ %low1, %body ]
  %high = phi i64 [ %n, %entry ], [ %high1, %body ]
  %left = sub i64 %high, %low
  %more = icmp sgt i64 %left, 1
  br i1 %more, label %body, label %done
body:
  %sum = add i64 %low, %high
  %middle = ashr i64 %sum, 1
  %m.at = getelementptr i32, ptr %out, i64 %middle
  %m = load i32, ptr %m.at
  %above = icmp sgt i32 %m, %key
  %high1 = select i1 %above, i64 %middle, i64 %high
  %low1 = select i1 %above, i64 %low, i64 %middle
  br label %head
done:
  %last = phi i64 [ %low, %head ]
  %result = trunc i64 %last to i32
  store i32 %result, ptr %at
  ret void
}
"""
    module, count = narrowed(text)
    assert count >= 6
    kernel = module.functions["k"]
    assert not wide_values(kernel)
    # The place in the array is what stays wide.
    assert sum(i.op in ("sext", "zext") and i.type == I64 for i in kernel.instructions()) == 1


def find(values, keys, places):
    i = cuda.grid(1)
    if i < keys.size:
        low, high = 0, values.size
        while high - low > 1:
            middle = (low + high) // 2
            if values[middle] > keys[i]:
                high = middle
            else:
                low = middle
        places[i] = low


def test_empty_arrays_of_huge_extent_and_arrays_on_top_of_themselves_are_no_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    one = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (1 << 33,), (0,))
    keys, places = np.full(5, -1, np.int8), np.zeros(5, np.int64)
    cuda.jit(find)[1, 5](one, keys, places)
    assert list(places) == [0] * 5
    keys += 1
    cuda.jit(find)[1, 5](one, keys, places)
    assert list(places) == [(1 << 33) - 1] * 5

"""Loops divide by what they do not change by multiplications (`known_divisors`)."""

import os

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.known_divisors import multiply_by_inverses

#  before:                              after:
#  entry ──> head <──┐                  entry (c, limit) ──> head <────────────┐
#             │ └─> body                                      │ └─> body       │
#            done                                            done   │ │        │
#                                                             small─┘ large    │
#                                                               └──> divided ──┘
LOOP = """
define void @f(ptr %a, T %d, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr T, ptr %a, i64 %i
  %x = load T, ptr %at
RESULT
  store T %y, ptr %at
  %next = add nuw nsw i64 %i, 1
  br label %head
done:
  ret void
}
"""
PLAIN = """
  %q = OPdiv T %x, %d
  %r = OPrem T %x, %d
  %y = xor T %q, %r
"""
FLOOR = """
  %r = srem T %x, %d
  %signs = xor T %r, %d
  %differ = icmp slt T %signs, 0
  %left = icmp ne T %r, 0
  %down = and i1 %left, %differ
  %q = sdiv T %x, %d
  %less = sext i1 %down to T
  %floor = add T %q, %less
  %back = select i1 %down, T %d, T 0
  %rest = add T %r, %back
  %y = xor T %floor, %rest
"""
SIGNS = """
  %r = urem T %x, %d
  %other = xor T %r, %d
  %negative = icmp slt T %r, 0
  %positive = icmp sgt T %other, -1
  %one = zext i1 %negative to T
  %two = sext i1 %positive to T
  %y = sub T %one, %two
"""
NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**32 + 1,
    2**63 - 1,
    2**63,
    -1,
    -2,
    -7,
    -(2**31),
)
DIVISORS = (1, 2, 3, 5, 641, 2**16, 2**31 - 1, 2**31, 2**32 - 5, 2**32 - 1, 2**32, 2**63 - 5, -1, -3)


def program(kind: str, bits: int) -> Module:
    result = {"floor": FLOOR, "signs": SIGNS}.get(kind) or PLAIN.replace("OP", kind)
    return read_module(LOOP.replace("RESULT", result).replace("T", f"i{bits}").replace(f"Ri{bits}", "RT"))


def run(module: Module, numbers: np.ndarray, divisor: int) -> list[int]:
    memory, array = Memory(), numbers.copy()
    bits = 8 * numbers.itemsize
    arguments = [memory.map_array(array), divisor & (1 << bits) - 1, len(array)]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    return array.tolist()


def numbers_near(divisor: int, bits: int) -> np.ndarray:
    random = np.random.default_rng(divisor & 0xFFFF)
    near = [
        k * divisor + by for k in (1, 3, 2**32 // divisor, int(random.integers(1, 9999))) for by in (-1, 0, 1)
    ]
    many = [int(v) for v in random.integers(0, 2**63, 40 if os.environ.get("WEFT_FUZZ") else 4)]
    found = [*NUMBERS, *near, *many, *(v >> 31 for v in many)]
    return np.array([v & (1 << bits) - 1 for v in found], f"u{bits // 8}")


@pytest.mark.parametrize(("kind", "bits", "divisor"), pairs(("s", "u", "floor", "signs"), (32, 64), DIVISORS))
def test_quotients_and_remainders_stay(kind: str, bits: int, divisor: int) -> None:
    if divisor % (1 << bits) == 0:
        divisor = 12
    module = program(kind, bits)
    numbers = numbers_near(divisor, bits)
    if kind in ("s", "floor"):
        # The least number by -1 has no quotient.
        numbers = numbers[numbers != 1 << bits - 1]
    before = run(module, numbers, divisor)
    assert multiply_by_inverses(module.functions["f"]) == 1
    verify(module)
    assert is_loop_closed(module.functions["f"])
    assert run(module, numbers, divisor) == before


def test_small_numbers_are_not_rounded_down() -> None:
    module = program("floor", 64)
    assert multiply_by_inverses(module.functions["f"]) == 1
    text = write_module(module)
    small = text.split("body.small:")[1].split("body.large:")[0]
    assert "mul nuw i128" in small
    assert not any(f" {op} " in small for op in ("icmp", "select", "sdiv", "srem"))
    assert text.split("head:")[0].count("udiv") == 1
    assert multiply_by_inverses(module.functions["f"]) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sdiv i64 %x, %d", "sdiv i64 %x, 12"),  # LLVM knows how
        ("sdiv i64 %x, %d", "sdiv i64 %d, %x"),  # the divisor changes
        ("sdiv i64 %x, %d", "sdiv i64 %n, %d"),  # it is the same in each iteration
    ],
)
def test_other_divisions_stay(old: str, new: str) -> None:
    text = LOOP.replace("RESULT", "  %y = sdiv i64 %x, %d").replace("T", "i64")
    assert old in text
    assert multiply_by_inverses(read_module(text.replace(old, new)).functions["f"]) == 0


def test_the_divisor_is_asked_for_before_the_loop_though_it_may_be_zero() -> None:
    module = program("s", 64)
    assert multiply_by_inverses(module.functions["f"]) == 1
    assert run(module, np.array([], np.int64), 0) == []


def divided(numbers, divisors, quotients, rests):
    i = cuda.grid(1)
    if i < divisors.size:
        d = divisors[i]
        for k in range(numbers.size):
            quotients[i, k] = numbers[k] // d
            rests[i, k] = numbers[k] % d


def divided_in_a_loop(numbers, divisors, quotients, rests):
    for i in weft.prange(divisors.size):
        d = divisors[i]
        for k in range(numbers.size):
            quotients[i, k] = numbers[k] // d
            rests[i, k] = numbers[k] % d


@pytest.mark.spread
@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("type", [np.int32, np.int64, np.uint32, np.uint64])
def test_threads_alone_divide_like_numpy(door: str, type: type) -> None:
    limits = np.iinfo(type)
    within = lambda values: np.array([v for v in values if limits.min <= v <= limits.max], type)  # noqa: E731
    numbers, divisors = within([v for v in NUMBERS if v != limits.min]), within(DIVISORS)
    shape = len(divisors), len(numbers)
    quotients, rests = np.zeros(shape, type), np.zeros(shape, type)
    if door == "kernel":
        cuda.jit(divided, width=1)[1, 16](numbers, divisors, quotients, rests)
    else:
        weft.jit(divided_in_a_loop, width=1)(numbers, divisors, quotients, rests)
    assert np.array_equal(quotients, numbers // divisors[:, None])
    assert np.array_equal(rests, numbers % divisors[:, None])

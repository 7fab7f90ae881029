"""Minima of several numbers wait for the last iteration's last."""

import numpy as np
import pytest

from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.interp.lanes import is_poison
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify_structure
from weft.ir.writer import write_module
from weft.transform.loops.carried_last import take_carried_last

MEMORY = """
define i32 @f(ptr %row, i64 %n) {
entry:
  br label %head
head:
  %q = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %q, %n
  br i1 %more, label %body, label %done
body:
  %here = getelementptr i32, ptr %row, i64 %q
  %left = load i32, ptr %here
  %a = add i32 %left, 1
  %there = getelementptr i8, ptr %here, i64 4
  %up = load i32, ptr %there
  %b = add i32 %up, 1
  %c = trunc i64 %q to i32
  %first = call i32 @llvm.smin.i32(i32 %c, i32 %a)
  %best = call i32 @llvm.smin.i32(i32 %first, i32 %b)
  store i32 %best, ptr %there
  %next = add nsw i64 %q, 1
  br label %head
done:
  %result = load i32, ptr %row
  ret i32 %result
}
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
"""

PHI = """
define i32 @f(i32 %x, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %t = phi i32 [ %x, %entry ], [ %most, %head ]
  %s = mul i32 %t, 3
  %a = xor i32 %i, 5
  %one = call i32 @llvm.umax.i32(i32 %s, i32 %a)
  %two = call i32 @llvm.umax.i32(i32 %i, i32 %one)
  %most = call i32 @llvm.umax.i32(i32 %two, i32 7)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %head, label %done
done:
  ret i32 %most
}
declare i32 @llvm.umax.i32(i32, i32)
"""


def rows(module: Module) -> list[int]:
    """What the loop through memory leaves of a row."""
    memory, row = Memory(), np.array([9, -4, 3, 12, 0, 5, -2, 8], np.int32)
    run_function(Program(module), "f", [memory.map_array(row), len(row) - 1], 1, memory=memory)
    return row.tolist()


def result(module: Module, *arguments: int) -> int:
    return int(run_function(Program(module), "f", list(arguments), 1).data[0])


def test_what_comes_through_memory_is_taken_last() -> None:
    module = read_module(MEMORY)
    before = rows(module)
    assert take_carried_last(module.functions["f"]) == 1
    assert rows(module) == before
    verify_structure(module)
    text = write_module(module)
    assert "@llvm.smin.i32(i32 %c, i32 %b)" in text
    assert text.count("call") == 2
    assert take_carried_last(module.functions["f"]) == 0


def test_what_comes_through_phis_is_taken_last() -> None:
    module, plain = read_module(PHI), read_module(PHI)
    assert take_carried_last(module.functions["f"]) == 1
    verify_structure(module)
    last = next(i for i in reversed(list(module.functions["f"].instructions())) if i.op == "call")
    assert last.args[1].name == "s"
    for arguments in ((4, 1), (0xFFFFFFF0, 5), (0, 9)):
        assert result(module, *arguments) == result(plain, *arguments)


def test_maxima_are_of_minima_that_have_another_order_now() -> None:
    """Both kinds depend on the last iteration: what the second is made of is reordered before it."""
    text = PHI.replace(
        "  %one = call",
        """  %m = call i32 @llvm.umin.i32(i32 %s, i32 %a)
  %u = call i32 @llvm.umin.i32(i32 %m, i32 1000)
  %one = call""",
    ).replace("umax.i32(i32 %s, i32 %a)", "umax.i32(i32 %u, i32 %a)")
    text += "\ndeclare i32 @llvm.umin.i32(i32, i32)\n"
    module, plain = read_module(text), read_module(text)
    assert take_carried_last(module.functions["f"]) == 2
    verify_structure(module)
    assert "badref" not in write_module(module)
    for arguments in ((4, 1), (0xFFFFFFF0, 5), (0, 9)):
        assert result(module, *arguments) == result(plain, *arguments)


@pytest.mark.parametrize(
    "change",
    [("%there = getelementptr i8, ptr %here, i64 4", "%there = getelementptr i8, ptr %here, i64 -4"),
     ("%best = call i32 @llvm.smin.i32", "%best = call i32 @llvm.smax.i32")],
    ids=["not read again", "of two kinds"],
)  # fmt: skip
def test_others_stay(change: tuple[str, str]) -> None:
    assert take_carried_last(read_module(MEMORY.replace(*change)).functions["f"]) == 0


TOTAL = """
define double @f(ptr %x, i64 %n, double %from) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %s = phi double [ %from, %entry ], [ %chosen, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr double, ptr %x, i64 %k
  %v = load double, ptr %at
  %small = fcmp olt double %v, 3.0
  %sum = fadd double %s, %v
  %chosen = select i1 %small, double %sum, double %s
  %next = add nsw i64 %k, 1
  br label %head
done:
  ret double %s
}
"""


def total(module: Module, values: list[float], start: float) -> int:
    memory, array = Memory(), np.array(values)
    outcome = run_function(
        Program(module), "f", [memory.map_array(array), len(values), start], 1, memory=memory
    )
    return int(np.asarray(outcome.data).view(np.uint64).reshape(-1)[0])


@pytest.mark.parametrize("start", [0.0, -0.0, 1.5, np.inf])
@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("double %sum, double %s", "double %s, double %sum"),
        ("fadd double %s, %v", "fadd double %v, %s"),
        ("fadd double %s, %v", "fsub double %s, %v"),
    ],
    ids=["sum", "else", "turned around", "difference"],
)
def test_what_is_added_is_chosen_and_not_whether(change: tuple[str, str], start: float) -> None:
    text = TOTAL.replace(*change)
    plain, module = read_module(text), read_module(text)
    assert take_carried_last(module.functions["f"]) == 1
    verify_structure(module)
    after = write_module(module)
    assert after.count("select") == 1 and "select i1 %small, double %s" not in after
    assert take_carried_last(module.functions["f"]) == 0
    for values in (
        [],
        [5.0, 7.0],
        [-0.0],
        [0.0, -0.0],
        [1.0, 4.0, -2.5, 0.1],
        [np.inf, 1.0, np.nan],
        [-np.inf, 9.0],
    ):
        assert total(module, values, start) == total(plain, values, start)


def test_fast_sums_of_nothing_stay_infinite() -> None:
    module = read_module(TOTAL.replace("fadd", "fadd fast"))
    assert take_carried_last(module.functions["f"]) == 1
    memory = Memory()
    array = memory.map_array(np.array([5.0, 7.0]))
    outcome = run_function(Program(module), "f", [array, 2, np.inf], 1, memory=memory)
    assert is_poison(outcome.flags) is None and np.isinf(np.asarray(outcome.data).view(np.float64)).all()


@pytest.mark.parametrize(
    "change",
    [
        ("fadd double %s, %v", "fsub double %v, %s"),  # the difference from the total
        ("fadd double %s, %v", "fmul double %s, %v"),
        ("double %sum, double %s", "double %sum, double %v"),  # the total begins anew
        ("ret double %s", "%again = fadd double %s, %s\n  ret double %again"),
    ],
)
def test_other_choices_stay(change: tuple[str, str]) -> None:
    text = TOTAL.replace(*change)
    if "%again" in change[1]:
        text = TOTAL.replace("%next = add", "store double %sum, ptr %at\n  %next = add")
    assert take_carried_last(read_module(text).functions["f"]) == 0


def distances(a, starts, b, ends, out):
    i = cuda.grid(1)
    if i < out.size:
        row = cuda.local.array(12, np.int32)
        m = starts[i + 1] - starts[i]
        n = ends[i + 1] - ends[i]
        for k in range(n + 1):
            row[k] = k
        for p in range(m):
            diagonal = row[0]
            row[0] = p + 1
            for q in range(n):
                cost = 0 if a[starts[i] + p] == b[ends[i] + q] else 1
                best = min(diagonal + cost, row[q] + 1, row[q + 1] + 1)
                diagonal = row[q + 1]
                row[q + 1] = best
        out[i] = row[n]


def _distance(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for p, x in enumerate(a):
        diagonal, row[0] = row[0], p + 1
        for q, y in enumerate(b):
            diagonal, row[q + 1] = row[q + 1], min(diagonal + (x != y), row[q] + 1, row[q + 1] + 1)
    return row[len(b)]


@pytest.mark.parametrize("before", [0, -7], ids=["from the begin", "from the end"])
def test_distances_of_words(before: int) -> None:
    random = np.random.default_rng(before + 7)
    starts, ends = (before + np.append(0, random.integers(0, 9, 11).cumsum()) for _ in range(2))
    a, b = random.integers(0, 3, (2, 100)).astype(np.uint8)
    out = np.zeros(11, np.int32)
    kernel = cuda.jit(distances, width=1)
    kernel[1, 16](a, starts.astype(np.int32), b, ends.astype(np.int32), out)
    words = [
        (
            [int(a[k]) for k in range(starts[i], starts[i + 1])],
            [int(b[k]) for k in range(ends[i], ends[i + 1])],
        )
        for i in range(11)
    ]
    assert out.tolist() == [_distance(*pair) for pair in words]

"""Sums of what is looked up go on in four totals, until an index counts from the end (`sums_in_fours`)."""

import itertools

import numpy as np
import pytest

import weft
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, SSE4, best_isa, isa_named
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.sums_in_fours import add_in_fours

#  entry ──> head <──> body          entry ──> any ──> many ──> fours <──> four
#             └─> done                           │       │        └───> sums <┘
#                                                └───────┴───> rest <───┘
#                                                               └──> head <──> body
#                                                                     └─> done
SUM = """
define double @f(ptr %list, i64 %from, i64 %to, ptr %a, i64 %n, double %begin) {
entry:
  br label %head
head:
  %k = phi i64 [ %from, %entry ], [ %next, %body ]
  %total = phi double [ %begin, %entry ], [ %sum, %body ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i32, ptr %list, i64 %k
  %j = load i32, ptr %at
  %wide = sext i32 %j to i64
  %negative = icmp slt i32 %j, 0
  %back = select i1 %negative, i64 %n, i64 0
  %index = add i64 %wide, %back
  %place = getelementptr double, ptr %a, i64 %index
  %x = load double, ptr %place
  %sum = fadd fast double %total, %x
  %next = add nsw i64 %k, 1
  br label %head
done:
  %result = phi double [ %total, %head ]
  ret double %result
}
"""
VALUES = (1.0, 20.0, 300.0, 4000.0, 50000.0)


def made(text: str = SUM) -> tuple[Module, int]:
    module = read_module(text)
    return module, len(add_in_fours(module.functions["f"], lambda loop, view: False, AVX2))


def run(module: Module, indices: list[int], begin: int, end: int, total: float = 0.5) -> float:
    memory, values, array = Memory(), np.array(VALUES), np.array(indices, np.int32)
    arguments = [memory.map_array(array), begin, end, memory.map_array(values), len(values), total]
    return float(run_function(Program(module), "f", arguments, 1, memory=memory).data.view(np.float64)[0])


def run_floats(module: Module, indices: list[int], end: int) -> float:
    memory = Memory()
    values, array = np.array(VALUES, np.float32), np.array(indices or [0], np.int32)
    arguments = [memory.map_array(array), 0, end, memory.map_array(values), len(values), np.float32(0.5)]
    return float(run_function(Program(module), "f", arguments, 1, memory=memory).data.view(np.float32)[0])


def test_four_iterations_have_a_question_together() -> None:
    module, count = made()
    assert count == 1
    verify(module)
    assert is_loop_closed(module.functions["f"])
    text = write_module(module)
    assert text.count("load double") == 5 and text.count("freeze") == 4
    assert text.count("icmp slt i32") == 2, "one for four indices, one where the loop is as it was"
    assert add_in_fours(module.functions["f"], lambda loop, view: True, AVX2) == []


@pytest.mark.parametrize(
    "text",
    [SUM, SUM.replace("slt i32 %j", "slt i64 %wide"), SUM.replace("slt i64 %k", "ult i64 %k")],
    ids=["32 bits", "64 bits", "no sign"],
)
def test_totals_are_the_same(text: str) -> None:
    module, count = made(text)
    plain = read_module(text)
    assert count == 1
    random = np.random.default_rng(7)
    for size in range(14):
        for least in (0, -5, -1):
            indices = random.integers(least, 5, size + 1).tolist()
            for begin in (0, 1):
                assert run(module, indices, begin, size) == run(plain, indices, begin, size)
    one = [0] * 12
    for place in range(12):
        indices = [*one[:place], -1, *one[place + 1 :]]
        assert run(module, indices, 0, 12) == run(plain, indices, 0, 12)


def test_floats_are_added_in_eights_where_a_register_has_as_many() -> None:
    text = SUM.replace("double", "float")
    module = read_module(text)
    assert add_in_fours(module.functions["f"], lambda loop, view: False, SSE4) == [(None, 4)]
    assert write_module(module).count("load float") == 5
    module, count = made(text)
    assert count == 1
    verify(module)
    assert write_module(module).count("load float") == 9
    plain = read_module(text)
    random = np.random.default_rng(3)
    for size in range(26):
        indices = random.integers(0, 5, size).tolist()
        for at in (None, *range(size)):
            one = indices if at is None else [*indices[:at], -2, *indices[at + 1 :]]
            assert run_floats(module, one, size) == run_floats(plain, one, size)


def test_what_is_not_asked_for_has_no_way_out() -> None:
    text = SUM.replace("  %negative = icmp slt i32 %j, 0\n  %back = select i1 %negative, i64 %n, i64 0\n", "")
    text = text.replace("add i64 %wide, %back", "add i64 %wide, 0")
    module, count = made(text)
    assert count == 1 and "freeze" not in write_module(module)
    verify(module)
    plain = read_module(text)
    for size in range(10):
        indices = np.random.default_rng(size).integers(0, 5, size + 1).tolist()
        assert run(module, indices, 0, size) == run(plain, indices, 0, size)


def test_loops_that_do_not_run_add_nothing() -> None:
    module, _ = made()
    for total in (np.inf, -0.0, 1.5):
        assert str(run(module, [0], 3, 1, total)) == str(total)
    least, most = -(1 << 63), (1 << 63) - 1
    assert run(module, [0], most, least) == 0.5 and run(module, [0], most, most) == 0.5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%sum = fadd fast", "store double %x, ptr %place\n  %sum = fadd fast"),  # it may write what it reads
        ("fadd fast", "fadd"),  # the order of additions counts
        ("fadd fast double %total, %x", "fadd fast double %x, %x"),
        ("fadd fast double %total, %x", "fmul fast double %total, %x"),
        ("%sum = fadd", "%other = fmul double %total, 2.0\n  %sum = fadd"),  # the total is used on the way
        ("load i32", "load volatile i32"),
        ("slt i64 %k, %to", "sle i64 %k, %to"),
        ("add nsw i64 %k, 1", "add nsw i64 %k, 2"),
        ("%negative = icmp slt i32 %j, 0", "%negative = icmp slt i64 %k, 0"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = SUM.replace(old, new)
    assert text != SUM
    assert made(text)[1] == 0


@pytest.mark.parametrize(
    ("cpu", "loads"),
    [("x86-64-v3", 6), ("x86-64-v4", 1), ("sapphirerapids", 1), ("icelake-server", 2)],
)
def test_cores_with_slow_gathers_have_one_total(cpu: str, loads: int) -> None:
    """With AVX-512 LLVM makes one gather of lookups: of four, or under a mask (`masked_sums`)."""
    features = isa_named("avx2" if cpu == "x86-64-v3" else "avx512").features
    module = read_module(SUM)
    prepare_alone(module.functions["f"], best_isa("x86_64", features, cpu))
    assert write_module(module).count("load i32") == loads


def sums(starts, columns, values, x, y):
    i = cuda.grid(1)
    if i < y.size:
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


def sums_in_a_loop(starts, columns, values, x, y):
    for i in weft.prange(y.size):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


LINES = {"kernel": sums.__code__.co_firstlineno + 4, "loop": sums_in_a_loop.__code__.co_firstlineno + 3}
"""Where their inner loops are."""


@pytest.mark.spread
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("door", ["kernel", "loop"])
@pytest.mark.parametrize("least", [0, -50], ids=["from the begin", "from both ends"])
def test_sparse_products(cpu: str, door: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    random = np.random.default_rng(5)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, 30, 40)))).astype(np.int32)
    columns = random.integers(least, 50, starts[-1]).astype(np.int32)
    values, x, y = random.normal(size=starts[-1]), random.normal(size=50), np.zeros(40)
    if door == "kernel":
        compiled = cuda.jit(sums, fastmath=True, width=1)
        compiled[2, 32](starts, columns, values, x, y)
    else:
        compiled = weft.jit(sums_in_a_loop, fastmath=True, width=1)
        compiled(starts, columns, values, x, y)
    how = "left to LLVM's vectorizer in 8 lanes" if cpu == "x86-64-v4" else "goes on in 4 totals"
    told = [r for r in compiled.remarks if how in r.message]
    assert [r.span.line for r in told if r.span] == [LINES[door]]
    products = values * x[columns]
    wanted = [products[a:b].sum() for a, b in itertools.pairwise(starts)]
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.spread
@pytest.mark.parametrize("order", ["olt", "ogt", "ule"])
@pytest.mark.parametrize("choice", ["%x, double %total", "%total, double %x"])
@pytest.mark.parametrize("compared", ["%x, %total", "%total, %x"])
def test_extrema_are_the_same(order: str, choice: str, compared: str) -> None:
    sum = "%sum = fadd fast double %total, %x"
    text = SUM.replace(
        sum, f"%less = fcmp fast {order} double {compared}\n  %sum = select i1 %less, double {choice}"
    )
    module, count = made(text)
    assert count == 1
    verify(module)
    plain = read_module(text)
    for indices in ([0, 3, 1, 4, 2, 2, 0], [4, -1, 2, 0, 1, -5, 3, 2, 1]):
        for end in range(len(indices) + 1):
            assert run(module, indices, 0, end, 25.0) == run(plain, indices, 0, end, 25.0)
    assert made(text.replace("fcmp fast", "fcmp nnan"))[1] == 0


def test_what_is_compared_and_chosen_must_be_the_same_numbers() -> None:
    text = SUM.replace(
        "%sum = fadd fast double %total, %x",
        "%less = fcmp fast olt double %begin, %total\n  %sum = select i1 %less, double %x, double %total",
    )
    assert made(text)[1] == 0


GATHERS = best_isa("x86_64", AVX2.features, "alderlake")


@pytest.mark.parametrize("type", ["double", "float"])
def test_what_is_looked_up_is_gathered_where_that_is_fast(type: str) -> None:
    text = SUM.replace("double", type)
    module = read_module(text)
    assert len(add_in_fours(module.functions["f"], lambda loop, view: False, GATHERS)) == 1
    verify(module)
    written, many = write_module(module), 4 if type == "double" else 8
    assert written.count("call <") == 1 and written.count(f"load {type}") == 1
    assert written.count("extractelement") == written.count("insertelement") == many
    plain = read_module(text)
    random = np.random.default_rng(11)
    for size in range(26):
        indices = random.integers(0, 5, size + 1).tolist()
        for at in (None, *range(size)):
            one = indices if at is None else [*indices[:at], -2, *indices[at + 1 :]]
            if type == "double":
                assert run(module, one, 0, size) == run(plain, one, 0, size)
            else:
                assert run_floats(module, one, size) == run_floats(plain, one, size)


TWICE = SUM.replace(
    "  %sum = fadd fast double %total, %x\n",
    "  %second = getelementptr double, ptr %place, i64 1\n  %y = load double, ptr %second\n"
    "  %both = fmul fast double %x, %y\n  %sum = fadd fast double %total, %both\n",
)
CHOSEN = SUM.replace(
    "  %sum = fadd fast double %total, %x\n",
    "  %large = fcmp fast ogt double %x, 2.0\n  %kept = select i1 %large, double %x, double 0.0\n"
    "  %sum = fadd fast double %total, %kept\n",
)
LONG = SUM.replace(
    "  %j = load i32, ptr %at\n  %wide = sext i32 %j to i64\n", "  %wide = load i64, ptr %at\n"
)


@pytest.mark.parametrize(
    ("text", "type", "gathers"),
    [(TWICE, "double", 0), (TWICE, "float", 2), (CHOSEN, "float", 0), (LONG.replace("i32 %j", "i64 %wide"), "float", 0),
     (SUM.replace("getelementptr i32, ptr %list", "getelementptr i64, ptr %list"), "float", 0)],
    ids=["two doubles", "two floats", "a choice", "64 bits", "apart"],
)  # fmt: skip
def test_others_are_loaded_one_by_one(text: str, type: str, gathers: int) -> None:
    module = read_module(text.replace("double", type))
    assert len(add_in_fours(module.functions["f"], lambda loop, view: False, GATHERS)) == 1
    verify(module)
    assert write_module(module).count("call <") == gathers


def test_levels_name_no_core() -> None:
    for isa in (AVX2, isa_named("avx512"), best_isa("x86_64", AVX2.features, "haswell")):
        module = read_module(SUM)
        assert len(add_in_fours(module.functions["f"], lambda loop, view: False, isa)) == 1
        assert "call <" not in write_module(module)

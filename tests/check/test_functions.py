"""Functions of ``weft.jit`` and its like: which passes the check runs, and that it names a wrong one."""

import logging
import math

import numpy as np
import pytest

import weft
import weft.check.entry as entry
import weft.codegen.lanes.lane_passes as lane_passes
import weft.loops.build as build
import weft.passes.loop_jobs as loop_jobs
from check.test_findings import after, invert_branches, subtract_instead
from weft import prange
from weft.errors import MiscompilationError
from weft.loops.jit_function import JitFunction

LANES = ["linearization", "widening"]
PARTIAL = [f"{name} (partial lane groups)" for name in LANES]
SCALAR = ["front end", "canonical", "invariants"]


@pytest.fixture(autouse=True)
def _checking(monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "1")
    # Code that a test has damaged is not to be found by others.
    monkeypatch.setenv("WEFT_CACHE", "0")


def checked(function: JitFunction) -> list[str]:
    """The passes that the latest call of a function that was checked went through."""
    (compiled,) = function.overloads.values()
    return compiled._entry.checked


def add(x, y, out):
    for i in prange(out.shape[0]):
        if x[i] > 0.0:
            out[i] = x[i] + y[i]


def steps(start, out):
    for i in prange(out.shape[0]):
        n = start[i]
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        out[i] = count


ONES = np.ones(11)


def run_add(**options) -> JitFunction:
    out = np.zeros(11)
    function = weft.jit(width=4, **options)(add)
    function(ONES, ONES, out)
    assert (out == 2.0).all()
    return function


def test_all_passes_are_run():
    assert checked(run_add(boscc="off")) == [
        *SCALAR, "parallel loops", *LANES, *PARTIAL, "entry", "machine code",
    ]  # fmt: skip


def test_a_wrong_scalar_pass_is_named(monkeypatch):
    monkeypatch.setattr(loop_jobs, "run_in_parallel", damaging_module(loop_jobs.run_in_parallel))
    with pytest.raises(MiscompilationError, match=r"'parallel loops' changed what add computes: out\[0\]"):
        run_add()


def damaging_module(original):
    def wrong(module, *args, **options):
        original(module, *args, **options)
        for function in module.definitions():
            subtract_instead(function)

    return wrong


@pytest.fixture
def _wrong_linearization(monkeypatch):
    monkeypatch.setattr(lane_passes, "linearize", after(lane_passes.linearize, 0, subtract_instead))


@pytest.mark.usefixtures("_wrong_linearization")
def test_wrong_linearization_is_named_before_anything_is_written():
    out = np.zeros(11)
    with pytest.raises(MiscompilationError, match="'linearization' changed what add computes"):
        weft.jit(width=4)(add)(ONES, ONES, out)
    assert not out.any()
    with pytest.raises(MiscompilationError, match=r"'linearization \(partial lane groups\)'"):
        weft.jit(width=16)(add)(ONES, ONES, out)


@pytest.mark.usefixtures("_wrong_linearization")
def test_it_is_named_for_elementwise_functions():
    @weft.vectorize(width=4)
    def plus(a, b):
        return a + b

    with pytest.raises(MiscompilationError, match="'linearization' changed what line computes: out"):
        plus(ONES, ONES)
    with pytest.raises(MiscompilationError, match="'linearization' changed what line computes: out"):
        plus(np.ones(22)[::2], ONES)


@pytest.mark.usefixtures("_wrong_linearization")
def test_it_is_named_for_generalized_functions():
    @weft.guvectorize("void(float64[:], float64[:])", "(n)->()", width=4)
    def total(row, out):
        out[0] = row[0] + row[1]

    with pytest.raises(
        MiscompilationError, match=r"'linearization' changed what rows computes: operands\[1\]"
    ):
        total(np.ones((8, 2)))


def test_a_wrong_loop_transform_is_named(monkeypatch):
    original = lane_passes.make_loops_uniform
    monkeypatch.setattr(lane_passes, "make_loops_uniform", after(original, 1, invert_branches))
    with pytest.raises(MiscompilationError, match="'divergent loops'"):
        weft.jit(width=4)(steps)(np.full(8, 4), np.zeros(8, np.int64))


def test_wrong_machine_code_is_found_out(monkeypatch):
    def emit(lowered):
        lowered.text = lowered.text.replace("fadd", "fsub")
        return original(lowered)

    original = build.emit
    monkeypatch.setattr(build, "emit", emit)
    with pytest.raises(MiscompilationError, match=r"'machine code' .* out\[0\] becomes 0.0, and was 2.0"):
        run_add()


def test_a_wrong_result_and_a_wrong_error_are_found_out(monkeypatch):
    def emit(lowered):
        lowered.text = lowered.text.replace(", 5", ", 6").replace(", 7", ", 8")
        return original(lowered)

    def five(n):
        return n + 5

    def refuse(n):
        if n == 7:
            raise ValueError("seven")
        return np.zeros(n)

    original = build.emit
    monkeypatch.setattr(build, "emit", emit)
    with pytest.raises(MiscompilationError, match=r"'machine code' .* the result becomes 8, and was 7"):
        weft.jit(five)(2)
    with pytest.raises(
        MiscompilationError, match=r"'machine code' .* raises nothing, and raises its error 1"
    ):
        weft.jit(refuse)(7)


def test_passive_lanes_get_an_undefined_value_behind_passes_that_allow_it():
    function = weft.jit(width=4)(steps)
    function(np.array([1, 3, 2, 9]), np.zeros(4, np.int64))
    (compiled,) = function.overloads.values()
    bodies = {stage.name: len(stage.oblivious) for stage in compiled.lowered().stages}
    assert bodies["parallel loops"] == 0
    assert bodies["divergent loops"] == 1
    assert bodies["divergent loops (partial lane groups)"] == 2


def test_arrays_that_are_returned():
    @weft.jit(width=4)
    def tables(n):
        squares = np.empty(n, np.float32)
        for i in prange(n):
            squares[i] = i * i
        return squares, squares[1:4:2], n

    squares, some, _ = tables(6)
    np.testing.assert_array_equal(squares, np.arange(6) ** 2)
    np.testing.assert_array_equal(some, [1, 9])
    assert checked(tables)[-1] == "machine code"
    assert checked(tables)[2] == "heap"


def test_scratch_arrays_of_loops_and_errors():
    @weft.jit
    def rows(n, fails):
        total = 0
        for i in range(n):
            row = np.zeros(i + 1, np.int64)
            row[i] = i
            total += row[i]
            if i == fails:
                raise KeyError("row")
        return total

    assert rows(5, -1) == 10
    assert checked(rows)[-1] == "machine code"
    with pytest.raises(KeyError, match="row"):
        rows(5, 3)
    assert checked(rows)[-1] == "machine code"


def test_views_of_arguments_tuples_and_structures():
    @weft.jit
    def inner(pair, records, z):
        records[1].weight = z.real
        return pair[1][1:], pair[0] + z

    inner.remarks
    memory, records = np.arange(9.0), np.zeros(2, np.dtype([("weight", "f4"), ("number", "i2")]))
    view, number = inner((3, memory[::-2]), records, 2.5 + 1j)
    np.testing.assert_array_equal(view, [6.0, 4.0, 2.0, 0.0])
    assert number == 5.5 + 1j
    assert records[1]["weight"] == 2.5
    assert checked(inner)[-1] == "machine code"


def test_sums_in_another_order_are_compared_loosely_and_this_is_logged(caplog):
    @weft.jit(width=8)
    def total(x):
        s = 0.0
        for i in prange(x.shape[0]):
            s += x[i]
        return s

    x = np.array([1e16, 1.0, -1e16, 3.0, 1e-3] * 5)
    with caplog.at_level(logging.INFO, "weft.check"):
        total(x)
    assert (
        "total is compared loosely after parallel loops: sums of floats are formed in another order"
        in caplog.text
    )
    assert checked(total)[-1] == "machine code"


def test_a_vector_math_library_may_round_otherwise():
    @weft.vectorize(width=8)
    def exponential(x):
        return math.exp(x)

    exponential(np.linspace(-3, 3, 32))
    (made,) = exponential._walks.compiled
    assert checked(made)[-1] == "machine code"


def test_printing_happens_once(capsys):
    @weft.jit
    def say(x):
        print("x is", x)

    say(7)
    assert capsys.readouterr().out == "x is 7\n"
    assert checked(say)[-1] == "machine code"


def test_iterations_that_touch_each_other_are_no_miscompilation(caplog):
    @weft.jit(width=4)
    def chained(x, at):
        for i in prange(at.shape[0]):
            x[at[i]] = x[i] + 1.0

    with caplog.at_level(logging.INFO, "weft.check"):
        chained(np.zeros(9), np.arange(1, 9))
    assert "iterations of a parallel loop touch the same memory" in caplog.text


@pytest.mark.parametrize(
    ("options", "n", "reason"),
    [({"fastmath": True}, 11, "fastmath"), ({}, 1 << 21, "too large"), ({}, 1 << 15, "takes too long")],
)
def test_reasons_not_to_check_are_logged(options, n, reason, caplog):
    x, out = np.ones(n), np.zeros(n)
    function = weft.jit(**options)(add)
    with caplog.at_level(logging.INFO, "weft.check"):
        function(x, x, out)
    assert (out == 2.0).all()
    assert reason in caplog.text
    assert checked(function) == []


def test_the_first_calls_with_a_shape_are_checked(monkeypatch):
    function = run_add()
    (compiled,) = function.overloads.values()
    for expected in ("machine code", None):
        compiled._entry.checked = [None]
        function(ONES, ONES, np.zeros(11))
        assert compiled._entry.checked[-1] == expected
    function(ONES[:5], ONES[:5], np.zeros(5))
    assert compiled._entry.checked[-1] == "machine code"
    monkeypatch.setattr(entry, "MAX_FUNCTION_STEPS", 0)
    compiled._entry.checked = []
    function(ONES[:6], ONES[:6], np.zeros(6))
    assert compiled._entry.checked == []


def test_code_from_the_cache_is_checked_too(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_CACHE", "1")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    run_add()
    assert checked(run_add())[-1] == "machine code"

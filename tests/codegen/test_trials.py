"""Code in lanes and code for threads one by one: each group runs once, by the better one, and results are the same."""

import ctypes
import os
import re
import threading
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import weft
from codegen.differential import choice_of, judge
from weft import cuda, opencl
from weft.codegen import trials
from weft.codegen.order.width import OpenChoice
from weft.codegen.trials import may_try, pairs, run_better
from weft.codegen.trials.pairs import PAUSE
from weft.cuda.build import lower
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.host import chosen
from weft.machine.targets import AVX2, NEON
from weft.options import CompileOptions, Timings
from weft.passes import kernel_lanes
from weft.passes.lane_plan import Planner
from weft.switches import Switches
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL, WHOLE, Pipeline

needs_clock = pytest.mark.skipif(chosen().arch != "x86_64", reason="programs may read no clock")

CYCLES_OF_A_TURN = 5

CLOCK = re.compile(r"call i64 @weft\.trial\.time\(i32 .*\)")


def version(name: str, turns: int, counts: int) -> str:
    """A function that marks each of its groups, which take as many turns as the record says, and counts its groups.

    The record also says how many cycles something else takes during each of them, and how many it takes to begin.
    """
    return f"""
define i32 @{name}(ptr %record, i64 %begin, i64 %end, i32 %worker) {{
entry:
  %marks = load ptr, ptr %record
  %at.turns = getelementptr i64, ptr %record, i64 {turns}
  %at.count = getelementptr i64, ptr %record, i64 {counts}
  %at.fails = getelementptr i64, ptr %record, i64 5
  %at.waits = getelementptr i64, ptr %record, i64 6
  %waits = load ptr, ptr %at.waits
  %turns = load i64, ptr %at.turns
  %cycles = mul i64 %turns, {CYCLES_OF_A_TURN}
  %fails = load i64, ptr %at.fails
  %at.opens = getelementptr i64, ptr %record, i64 {turns + 6}
  %opens = load i64, ptr %at.opens
  %opened = load i64, ptr @now
  %open = add i64 %opened, %opens
  store i64 %open, ptr @now
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %group, label %done
group:
  %g = phi i64 [ %begin, %entry ], [ %g.next, %group ]
  %now = load i64, ptr @now
  %at.wait = getelementptr i64, ptr %waits, i64 %g
  %wait = load i64, ptr %at.wait
  %ready = add i64 %now, %wait
  %later = add i64 %ready, %cycles
  store i64 %later, ptr @now
  %at = getelementptr i8, ptr %marks, i64 %g
  %mark = load i8, ptr %at
  %mark.next = add i8 %mark, 1
  store i8 %mark.next, ptr %at
  %count = load i64, ptr %at.count
  %count.next = add i64 %count, 1
  store i64 %count.next, ptr %at.count
  %g.next = add i64 %g, 1
  %left = icmp slt i64 %g.next, %end
  br i1 %left, label %group, label %done
done:
  %failed = trunc i64 %fails to i32
  ret i32 %failed
}}
"""


def either(counts: bool = True) -> str:
    """Both versions behind one function, whose clock is a number that they count on, or the machine's."""
    module = read_module("@now = global i64 0\n" + version("first", 1, 3) + version("second", 2, 4))
    run_better(module, module.functions["first"], module.functions["second"], "either")
    verify(module)
    text = write_module(module, plain=True)
    if not counts:
        return text
    text, clocks = CLOCK.subn("load i64, ptr @now", text)
    assert clocks == 2
    return text


@cache
def compiled() -> bytes:
    """Their code, of which each pair has its own copy, with what it has found out."""
    return emit_object(either(), TargetSpec.chosen(), FINAL)


class Pair:
    """Both versions, loaded, with the times of their groups."""

    def __init__(self) -> None:
        self.code: LoadedCode = load_object(compiled(), ["either"], {})
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32
        )
        self.entry = kind(self.code.address("either"))

    def run(
        self,
        first: int,
        second: int,
        groups: int,
        runs: int = 1,
        worker: int = 0,
        fails: int = 0,
        waits: np.ndarray | None = None,
        opens: tuple[int, int] = (0, 0),
    ) -> tuple[int, int]:
        """How many groups each version has run; all have run once."""
        marks = np.zeros(groups, np.int8)
        waits = np.zeros(groups, np.int64) if waits is None else waits
        record = (ctypes.c_int64 * 9)(
            marks.ctypes.data, first, second, 0, 0, fails, waits.ctypes.data, *opens
        )
        bounds = np.linspace(0, groups, runs + 1).astype(int).tolist()
        for begin, end in pairwise(bounds):
            assert self.entry(ctypes.addressof(record), begin, end, worker) == fails
        if not fails:
            assert (marks == 1).all()
        return record[3], record[4]


@pytest.mark.parametrize("runs", [1, 7, 500])
def test_the_faster_version_runs_most_groups(runs: int) -> None:
    pair = Pair()
    slow, fast = pair.run(9000, 3000, 1000, runs)
    assert slow < 60 < fast
    # It goes on with what it has found.
    assert pair.run(9000, 3000, 100) == (0, 100)


def test_launches_of_other_lengths_are_not_compared() -> None:
    # As the levels of a search: a group takes up to a hundred times as long, by each version.
    levels = [4, 4, 6, 40, 400, 100, 4]
    pair, counts = Pair(), np.zeros(2, int)
    for turn in range(100):
        for level in levels:
            if turn >= 10:
                counts += pair.run(6 * level, 5 * level, 700)
            else:
                pair.run(6 * level, 5 * level, 700)
    assert counts[0] < 0.05 * counts[1]


def test_what_is_faster_in_some_launches_only_decides_nothing() -> None:
    # One launch of four is slower in lanes, and they take turns.
    pair, counts = Pair(), np.zeros(2, int)
    for turn in range(400):
        first, second = (1000, 1400) if turn % 4 == 0 else (1400, 1000)
        ran = pair.run(first, second, 500)
        if turn >= 40:
            counts += ran
    assert counts[0] < 0.1 * counts[1]


def test_launches_of_one_group_are_tried() -> None:
    pair = Pair()
    for _ in range(100):
        pair.run(9000, 3000, 1)
    assert pair.run(9000, 3000, 1) == (0, 1)


def test_what_the_model_chose_stays_where_it_is_faster() -> None:
    first, second = Pair().run(3000, 9000, 1000)
    assert second < 60 < first


def test_what_is_interrupted_decides_nothing() -> None:
    # Other processes take 4 ms now and then, as long as many pieces.
    wrong = 0
    for seed in range(40):
        waits = np.where(np.random.default_rng(seed).random(1000) < 0.02, 1 << 23, 0)
        slow, fast = Pair().run(9000, 3000, 1000, waits=waits)
        wrong += slow > fast
    assert wrong <= 2


def test_what_begins_slowly_wins_in_later_trials_by_longer_pieces() -> None:
    pair = Pair()
    early = pair.run(700, 850, 400, opens=(9000, 0))
    assert early[0] < early[1]
    counts = np.zeros(2, int)
    for launch in range(100):
        ran = pair.run(700, 850, 1000, opens=(9000, 0))
        counts += ran if launch >= 30 else 0
    assert counts[1] < 0.1 * counts[0]


def test_one_trial_alone_decides_nothing_that_was_close() -> None:
    """A trial that sees other data than those before has half of what they have found against it."""
    pair = Pair()
    for _ in range(400):
        pair.run(1100, 900, 1000)
    for _ in range(130):
        assert pair.run(900, 980, 1000)[0] < 900


def napping(name: str, rounds: int, nap: int) -> str:
    """A function whose groups count to a number, and sleep for so many microseconds."""
    return f"""
define i32 @{name}(ptr %counts, i64 %begin, i64 %end, i32 %worker) {{
entry:
  br label %group
group:
  %g = phi i64 [ %begin, %entry ], [ %g.next, %slept ]
  br label %round
round:
  %k = phi i64 [ 0, %group ], [ %k.next, %round ]
  store volatile i64 %k, ptr %counts
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, {rounds}
  br i1 %more, label %round, label %counted
counted:
  %at = getelementptr i64, ptr %counts, i64 {1 + (nap > 0)}
  %count = load i64, ptr %at
  %count.next = add i64 %count, 1
  store i64 %count.next, ptr %at
  %naps = icmp ne i32 {nap}, 0
  br i1 %naps, label %sleep, label %slept
sleep:
  %failed = call i32 @usleep(i32 {nap})
  br label %slept
slept:
  %g.next = add i64 %g, 1
  %left = icmp slt i64 %g.next, %end
  br i1 %left, label %group, label %done
done:
  ret i32 0
}}
"""


@needs_clock
def test_what_runs_besides_is_no_time_of_a_version() -> None:
    """The time of the thread counts, and not that in which something else has its processor."""
    text = "declare i32 @usleep(i32)\n" + napping("first", 800_000, 0) + napping("second", 400_000, 1500)
    module = read_module(text)
    run_better(module, module.functions["first"], module.functions["second"], "either")
    code = load_object(
        emit_object(write_module(module, plain=True), TargetSpec.chosen(), FINAL), ["either"], {}
    )
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32)(
        code.address("either")
    )
    counts = (ctypes.c_int64 * 3)()
    assert entry(ctypes.addressof(counts), 0, 60, 0) == 0
    assert counts[1] < 20 < counts[2]


def test_short_groups_run_in_pieces() -> None:
    slow, fast = Pair().run(60, 10, 200_000)
    assert slow < 15_000 < fast


@pytest.mark.parametrize("groups", [2, 3, 5, 7])
@pytest.mark.parametrize("faster", [0, 1])
def test_few_groups_that_differ_are_compared_as_a_whole(groups: int, faster: int) -> None:
    """Each group takes another time, the same in all launches: that is no difference between versions."""
    for heavy in range(groups):
        pair = Pair()
        waits = np.zeros(groups, np.int64)
        waits[heavy] = 3_000_000
        times = (90_000, 180_000) if faster == 0 else (180_000, 90_000)
        ran = sum(pair.run(*times, groups, waits=waits)[faster] for _ in range(60))
        # All but what trials take.
        assert ran > 45 * groups


def test_data_that_change_are_noticed() -> None:
    pair = Pair()
    pair.run(9000, 3000, 1000)
    cycles, changed = 0, False
    while not changed and cycles < 10 * PAUSE:
        first, second = pair.run(3000, 9000, 1000)
        cycles += CYCLES_OF_A_TURN * (3000 * first + 9000 * second)
        changed = first > second
    # Sooner than after the pause, as groups take another time than behind the trial.
    assert changed and cycles < PAUSE


def test_other_threads_follow() -> None:
    pair = Pair()
    assert pair.run(9000, 3000, 100, worker=3) == (100, 0)
    pair.run(9000, 3000, 1000)
    assert pair.run(9000, 3000, 100, worker=3) == (0, 100)


def test_what_a_version_returns_ends_the_run() -> None:
    first, second = Pair().run(10, 10, 100, fails=7)
    assert first + second < 100


def test_launches_at_the_same_time_run_each_group_once() -> None:
    pair = Pair()
    done: list[tuple[int, int]] = []
    threads = [threading.Thread(target=lambda: done.append(pair.run(900, 300, 2000, 50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(each) for each in done] == 4 * [2000]


def test_the_interpreter_runs_each_group_once() -> None:
    memory = Memory()
    marks = memory.place_bytes(bytes(50), "marks")
    waits = memory.place_bytes(bytes(8 * 50), "waits")
    record = memory.place_bytes(np.array([marks, 3, 2, 0, 0, 0, waits, 0, 0], np.int64).tobytes(), "record")
    run_function(read_module(either(counts=False)), "either", [record, 0, 50, 0], 1, memory=memory)
    found = memory.find(marks)
    assert found is not None and found.data.tolist() == 50 * [1]


def test_where_nothing_may_differ() -> None:
    text = "define float @f(float %x, ptr %p) {{\n  {}\n  ret float %x\n}}\n{}"
    for body, declared, may in (
        ("%y = fadd float %x, 1.0", "", True),
        ("%y = call float @llvm.sqrt.f32(float %x)", "declare float @llvm.sqrt.f32(float)", True),
        ("%y = call float @llvm.exp.f32(float %x)", "declare float @llvm.exp.f32(float)", False),
        ("%y = call float @sinf(float %x)", "declare float @sinf(float)", False),
        ("%y = atomicrmw fadd ptr %p, float %x monotonic", "", False),
        ("store volatile float %x, ptr %p", "", False),
    ):
        function = list(read_module(text.format(body, declared)).functions["f"].instructions())
        assert may_try(function, AVX2) is may, body
        assert not may_try(function, NEON)


def nearest(splits, left, right, queries, out):
    i = cuda.grid(1)
    if i < queries.size:
        x = queries[i]
        best = np.float32(2)
        total = np.float32(0)
        node = 0
        while node >= 0:
            gap = abs(splits[node] - x)
            total = total * np.float32(0.7) + gap
            if gap < best:
                best = gap
            node = left[node] if x < splits[node] else right[node]
        out[i] = best + np.float32(0.001) * total


def counted(splits, left, right, queries, out):
    steps = 0
    for i in weft.prange(queries.size):
        x = queries[i]
        node = 0
        total = np.float32(0)
        while node >= 0:
            total = total * np.float32(0.7) + abs(splits[node] - x)
            node = left[node] if x < splits[node] else right[node]
            steps += 1
        out[i] = total
    return steps


def summed(splits, left, right, queries, out):
    steps = 0.0
    for i in weft.prange(queries.size):
        node = 0
        while node >= 0:
            steps += 0.1
            node = left[node] if queries[i] < splits[node] else right[node]
    return steps


def tree(size: int, queries: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    splits = rng.random(size, np.float32)
    left, right = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    for node in range(1, size):
        at = 0
        while True:
            side = left if splits[node] < splits[at] else right
            if side[at] < 0:
                side[at] = node
                break
            at = side[at]
    return splits, left, right, rng.random(queries, np.float32), np.zeros(queries, np.float32)


def says_both(remarks: Any) -> bool:
    return any("one after the other, too" in remark.message for remark in remarks)


@pytest.mark.spread
@needs_clock
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4", "icelake-server", "skylake"])
@pytest.mark.parametrize("threads", [1, 3])
def test_kernels_compute_the_same(cpu: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    monkeypatch.setenv("WEFT_CHECK", "0")
    arguments, results = tree(300, 5000), []
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        for width in (None, 1, 16):
            kernel = cuda.jit(width=width)(nearest)
            for _ in range(3):
                arguments[-1][:] = 0
                kernel[40, 128](*arguments)
                results.append(arguments[-1].copy())
            assert says_both(kernel.remarks) == (width is None)
    finally:
        weft.set_num_threads(before)
    for result in results[1:]:
        np.testing.assert_array_equal(results[0].view(np.int32), result.view(np.int32))


@needs_clock
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_loops_compute_the_same(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    monkeypatch.setenv("WEFT_CHECK", "0")
    arguments, results = tree(300, 5000), []
    for width in (None, 1, 16):
        function = weft.jit(width=width)(counted)
        for _ in range(3):
            arguments[-1][:] = 0
            steps = function(*arguments)
            results.append((steps, arguments[-1].copy()))
        assert says_both(function.remarks) == (width is None)
    for steps, result in results[1:]:
        assert steps == results[0][0]
        np.testing.assert_array_equal(results[0][1].view(np.int32), result.view(np.int32))


def primes(x, out):
    for i in weft.prange(out.size):
        v = x[i]
        prime = 1
        d = np.uint32(2)
        while d * d <= v:
            if v % d == 0:
                prime = 0
                break
            d += np.uint32(1)
        out[i] = prime


@needs_clock
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_threads_that_search_run_both_ways(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most numbers have a small divisor, but some lane of nearly every group holds up the others."""
    monkeypatch.setenv("WEFT_CPU", cpu)
    x = np.arange(2, 3002, dtype=np.uint32)
    known = np.ones(3002, bool)
    for d in range(2, 55):
        known[2 * d :: d] = False
    for width in (None, 16):
        out = np.zeros(x.size, np.uint8)
        function = weft.jit(primes, width=width)
        for _ in range(3):
            function(x, out)
            np.testing.assert_array_equal(out, known[2:])
        assert says_both(function.remarks) == (width is None)


def decayed_rows(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        total = np.float32(0)
        for k in range(out.shape[1] // 2):
            total = total * np.float32(0.5) + a[i, 2 * k]
            out[i, 2 * k] = total


def decayed_columns(a, out):
    i = cuda.grid(1)
    if i < out.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[0]):
            total = total * np.float32(0.5) + a[k, i]
            out[k, i] = total


def walsh(a, b):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = cuda.local.array(16, np.float64)
        for k in range(16):
            row[k] = a[i, k]
        h = 1
        while h < 16:
            for k in range(16):
                if k & h == 0:
                    first, second = row[k], row[k + h]
                    row[k], row[k + h] = first + second, first - second
            h *= 2
        for k in range(16):
            b[i, k] = row[k]


@needs_clock
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_kernels_whose_lanes_may_be_rows_apart_run_both_ways(
    cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every other element of a row, which goes in no strip."""
    monkeypatch.setenv("WEFT_CPU", cpu)
    a = np.random.default_rng(3).random((700, 40), np.float32)
    wanted, total = np.zeros_like(a), np.zeros(700, np.float32)
    for k in range(40):
        total = total * np.float32(0.5) + a[:, k]
        wanted[:, k] = total
    for width in (None, 16):
        rows, columns = cuda.jit(decayed_rows, width=width), cuda.jit(decayed_columns, width=width)
        for _ in range(3):
            spread, out = np.repeat(a, 2, 1), np.zeros((700, 80), np.float32)
            rows[11, 64](spread, out)
            np.testing.assert_array_equal(out[:, ::2], wanted)
            assert not out[:, 1::2].any()
        out = np.zeros((40, 700), np.float32)
        columns[11, 64](a.T.copy(), out)
        np.testing.assert_array_equal(out, wanted.T)
        assert says_both(rows.remarks) == (width is None)
        assert not says_both(columns.remarks)


@needs_clock
@pytest.mark.parametrize(("kernel", "pipeline"), [(decayed_rows, WHOLE), (walsh, WHOLE), (nearest, FINAL)])
def test_loops_that_count_have_the_vectorizers_of_llvm_in_the_code_for_threads_alone(
    kernel: Any, pipeline: Pipeline
) -> None:
    """What looks places up, and does not count, is no work for them, and takes longer to compile."""
    arrays = tree(20, 70) if kernel is nearest else (np.zeros((4, 4)),) * 2
    types = tuple(weft.typeof(a) for a in arrays)
    options = CompileOptions(switches=Switches(without=("own arrays",)))
    made, _ = lower(kernel, types, options, Timings(), TargetSpec.of_isa(AVX2))
    assert says_both(made.remarks)
    assert made.pipeline is pipeline


@needs_clock
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_threads_that_store_rows_run_both_ways(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread by itself may store its row at once, so LLVM's vectorizers follow."""
    monkeypatch.setenv("WEFT_CPU", cpu)
    a = np.random.default_rng(0).integers(0, 9, (200, 16)).astype(float)
    signs = np.array([[1.0]])
    for _ in range(4):
        signs = np.block([[signs, signs], [signs, -signs]])
    b, kernel = np.zeros((200, 16)), cuda.jit(walsh, without=("own-arrays",))
    for _ in range(3):
        kernel[2, 128](a, b)
        np.testing.assert_array_equal(b, a @ signs)
    assert says_both(kernel.remarks)


@needs_clock
def test_every_step_of_a_kernel_and_a_loop_is_checked() -> None:
    arguments = tree(20, 70)
    kernel, function = cuda.jit(nearest), weft.jit(counted)
    kernel[1, 128](*arguments)
    function(*arguments)
    assert says_both(kernel.remarks)
    assert says_both(function.remarks)


@needs_clock
def test_work_items_of_opencl() -> None:
    pytest.importorskip("ziglang")
    program = opencl.Program("""
    kernel void walk(global const float *splits, global const int *left, global const int *right,
                     global const float *queries, global float *out) {
      int node = 0, i = get_global_id(0);
      float best = 2, x = queries[i];
      while (node >= 0) {
        best = fmin(best, fabs(splits[node] - x));
        node = x < splits[node] ? left[node] : right[node];
      }
      out[i] = best;
    }""")
    arguments = tree(60, 256)
    program.walk(256, 64, *arguments)
    assert says_both(program.walk.remarks)
    splits, queries, out = arguments[0], arguments[3], arguments[4]
    assert (out >= np.abs(splits - queries[:, None]).min(1)).all()


PROGRAMS = 60 if os.environ.get("WEFT_FUZZ") else 4


@needs_clock
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs_mean_the_same_both_ways(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece is long enough to be measured, so that groups run by turns."""
    made: list[str] = []

    def both(*parts: Any) -> Any:
        made.append(parts[3])
        return run_better(*parts)

    monkeypatch.setattr(pairs, "LEAST", 0)
    monkeypatch.setattr(trials, "run_better", both)
    monkeypatch.setattr(Planner, "may_be_open", lambda planner, order, **_: planner.may_have_both())
    monkeypatch.setattr(kernel_lanes, "open_choice", lambda divergence, isa: OpenChoice(seed % 2 == 1))
    found = 0
    for number in range(6 * seed, 6 * seed + 6):
        made.clear()
        verdict = judge(choice_of(number))
        assert verdict.wrong is None, f"seed {number}: {verdict.wrong}"
        found += bool(made)
    assert found


def test_sums_of_floats_have_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    function = weft.jit(summed)
    function(*tree(50, 100))
    assert not says_both(function.remarks)


def test_it_can_be_switched_off() -> None:
    arguments = tree(50, 100)
    kernel, function = (jit(without=("both-ways",)) for jit in (cuda.jit, weft.jit))
    kernel, function = kernel(nearest), function(counted)
    kernel[1, 128](*arguments)
    function(*arguments)
    assert not says_both(kernel.remarks)
    assert not says_both(function.remarks)

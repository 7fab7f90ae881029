"""The table of speeds: every row has its peers, a wrong peer is listed as wrong, and goals are held against medians."""

import dataclasses
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from bench import levels
from bench.harness import Comparison, Measurement, Prepared, Status
from bench.speed import c_compilers, loops_divergent, loops_rays, loops_regular, peers, tables
from bench.speed.peers import Task, peers_of
from bench.speed.rows import ROWS
from examples.irregular import collatz


def result(row: int, weft: float, gcc: float, threads: int = 1) -> tables.Result:
    measurements = [
        Measurement("weft", Status.MEASURED, seconds=[weft]),
        Measurement("gcc", Status.MEASURED, seconds=[gcc]),
        Measurement("numba", Status.MISSING, "No module named 'numba'"),
    ]
    return tables.Result(ROWS[row], threads, Comparison("", measurements))


def small(name: str, **changes: object) -> Task:
    row = dataclasses.replace(next(r for r in ROWS if r.name == name), **changes)  # type: ignore[arg-type]
    return Task.of(row)


def prepared(task: Task, peer: str, folder: Path, threads: int = 1) -> Prepared:
    return next(p for p in peers_of(task, threads, folder) if p.name == peer).prepare()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_its_loops_in_c_for_numba_and_for_ispc(row) -> None:
    text = (c_compilers.SOURCES / f"{row.peer}.c").read_text()
    assert f"void {row.peer}(" in text and "PARALLEL_FOR" in text
    assert any(row.peer in vars(module) for module in (loops_divergent, loops_rays, loops_regular))
    assert (
        f"export void {row.peer}(" in (c_compilers.SOURCES.parent / "ispc" / f"{row.peer}.ispc").read_text()
    )


@pytest.mark.parametrize("peer", ["weft", "gcc"])
def test_a_peer_is_checked_and_its_samples_are_times(peer, tmp_path: Path, monkeypatch) -> None:
    if peer == "gcc" and not shutil.which("gcc"):
        pytest.skip("no gcc")
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    task = small("collatz", make=lambda: collatz.problems(500)[0])
    ready = prepared(task, peer, tmp_path)
    assert ready.check() is None
    assert 0 < ready.sample() < 1
    assert ready.compile_seconds and ready.compile_seconds > 0
    task.expected[0][5] += 1
    assert "[5]" in str(ready.check())


def test_ispc_has_the_form_in_which_threads_walk_a_tree_together(tmp_path: Path, monkeypatch) -> None:
    compiled = []
    monkeypatch.setattr(peers, "build_ispc", lambda source, *_: compiled.append(source.stem) or (None, 0.0))
    for name in ("kd_sorted", "kd_random"):
        task = small(name, make=lambda: collatz.problems(10)[0])
        with pytest.raises(AttributeError):
            peers.by_ispc(task, c_compilers.SOURCES.parent / "ispc", 1, tmp_path)
    assert compiled == ["kd_sorted", "kd_nearest"]


def test_what_a_peer_writes_is_put_back_before_each_run(tmp_path: Path) -> None:
    task = small("collatz", make=lambda: collatz.problems(10)[0])
    problem = task.own_problem()
    (steps,) = problem.arguments
    seen = []

    def add_one() -> None:
        seen.append(steps.copy())
        steps[...] += 1

    ready = task.prepared(problem, add_one, 0.0)
    ready.sample()
    ready.sample()
    assert np.array_equal(seen[0], seen[1])


def test_a_function_in_c_keeps_the_arrays_that_it_is_given() -> None:
    array = np.zeros(8)
    kept = weakref.ref(array)
    run = c_compilers.caller(lambda *passed: passed, (array, np.int32(1)))
    del array
    assert kept() is not None
    assert run() is not None


def test_compilers_are_held_to_a_level_by_the_name_that_they_have_for_it(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    assert levels.march(["gcc"]) == ["-march=x86-64-v3", "-mtune=native"]
    assert levels.march(["python", "-m", "ziglang", "cc"]) == ["-march=x86_64_v3"]
    assert levels.ispc_target() == "avx2-i32x8"


def test_the_c_library_is_held_to_the_level_by_a_process_that_begins_again():
    assert levels.library_environment(None, {}) is None
    assert levels.library_environment("x86-64-v4", {}) is None
    held = levels.library_environment("x86-64-v3", {"GLIBC_TUNABLES": "glibc.malloc.check=1", "HOME": "/"})
    assert held is not None and held["HOME"] == "/"
    first, second = held["GLIBC_TUNABLES"].split(":")
    assert first == "glibc.malloc.check=1" and "-AVX512VL" in second and "-AVX2" not in second
    assert levels.library_environment("x86-64-v3", held) is None
    told = "import sys; from bench import levels; levels.begin_again('x86-64'); print(sys.argv[1:])"
    run = subprocess.run([sys.executable, "-c", told, "a b"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['a b']"


def test_arrays_lie_alike_for_every_peer() -> None:
    task = small("collatz", make=lambda: collatz.problems(700)[0])
    places = {task.own_problem().arguments[0].ctypes.data % 4096 for _ in range(3)}
    assert len(places) == 1


def test_speedup_is_over_the_fastest_peer_and_goals_ask_one_thread_only() -> None:
    results = [result(i, 1.0, 16.0) for i in range(6)] + [result(0, 1.0, 2.0, threads=2)]
    assert results[0].speedup == 16.0 and results[0].fastest == "gcc"
    goals = tables.goals(results)
    assert [goal.met for goal in goals] == [True, True]
    goals = tables.goals([result(i, 1.0, 4.0) for i in range(6)])
    assert [goal.met for goal in goals] == [False, False]


def test_loops_take_the_place_of_kernels_where_they_were_measured() -> None:
    kernel, loops = result(0, 1.0, 16.0), result(1, 1.0, 16.0)
    for r, status in ((kernel, Status.FAILED), (loops, Status.MEASURED)):
        r.comparison.measurements.insert(1, Measurement("weft.jit", status, seconds=[2.0]))
    (found,) = tables.of_loops([kernel, loops])
    assert found.row is ROWS[1] and found.comparison.ratio("gcc") == 8.0
    assert "weft.jit is so many times as fast" in tables.ratios([found])


def test_compilation_is_reported_apart() -> None:
    measured = result(0, 0.001, 0.016)
    measured.comparison.measurements[1].compile_seconds = 0.25
    assert "gcc 250 ms" in tables.compile_times([measured])
    assert "250" not in tables.summary([measured])


def test_summary_says_who_is_missing_and_why() -> None:
    text = tables.summary([result(0, 0.001, 0.016)])
    assert "16.00" in text and "15" in text
    assert "numba (No module named 'numba')" in text

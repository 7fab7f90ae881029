"""The table of work-group kernels: every row has its peers, which compute the same, each in its own process."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from bench.groups import loops, opencl_runtimes, peers, rows, tables
from bench.groups.processes import Child, Order
from bench.harness import Comparison, Measurement, Status
from bench.speed.peers import Task
from bench.speed.tables import Result, ratios

SMALL = {
    "matrix_product": lambda: rows.product(40),
    "dct": lambda: rows.cosines(16),
    "transpose": lambda: rows.turned(75),
    "reduction": lambda: rows.total(3000),
    "scan": lambda: rows.prefix_sums(70_000),
    "histogram": lambda: rows.counts(1001),
    "nbody": lambda: rows.pulls(300),
    "bitonic_sort": lambda: rows.stretches(2048),
    "walsh": lambda: rows.walsh_transform(4096),
}


def small(row: rows.GroupRow) -> Task:
    return Task.of(dataclasses.replace(row, make=SMALL[row.name]))


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_every_row_has_loops_in_c_and_for_numba_and_a_program(row: rows.GroupRow) -> None:
    assert f"void {row.peer}(" in (peers.SOURCES / f"{row.peer}.c").read_text()
    assert row.peer in vars(loops)
    program = (opencl_runtimes.SOURCES / f"{row.peer}.cl").read_text()
    assert all(f"void {launch.name}(" in program for launch in row.launches(SMALL[row.name]()))


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_loops_compute_what_numpy_does(row: rows.GroupRow, tmp_path: Path) -> None:
    task = small(row)
    assert peers.PEERS["gcc"](task, 1, tmp_path).check() is None
    source = (peers.SOURCES / f"{row.peer}.c").read_text()
    if f"{row.peer}_blocked(" in source:
        assert peers.PEERS["gcc blocked"](task, 1, tmp_path).check() is None


@pytest.mark.parametrize("name", ["walsh", "histogram"])
def test_launches_follow_each_other(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    ready = peers.PEERS["weft"](small(next(row for row in rows.ROWS if row.name == name)), 1, tmp_path)
    assert ready.check() is None
    assert 0 < ready.sample() < 1


def test_opencl_computes_the_same(tmp_path: Path) -> None:
    task = small(next(row for row in rows.ROWS if row.name == "histogram"))
    try:
        ready = peers.PEERS["Intel"](task, 1, tmp_path)
    except ImportError as error:
        pytest.skip(str(error))
    assert ready.check() is None
    assert 0 < ready.sample() < 1


def test_what_goes_wrong_in_a_process_is_raised_here() -> None:
    child = Child(Order("gcc", threads=1))
    with pytest.raises(RuntimeError, match="StopIteration"):
        child.peer("no such row", ()).prepare()
    child.close()


def result(row: int, threads: int, weft: float, pocl: float, intel: float) -> Result:
    seconds = {"weft": weft, "PoCL": pocl, "Intel": intel}
    measurements = [Measurement(peer, Status.MEASURED, seconds=[s]) for peer, s in seconds.items()]
    return Result(rows.ROWS[row], threads, Comparison("", measurements))


def test_goals_are_means_over_runtimes_each_row_and_scaling() -> None:
    results = [result(0, 1, 1.0, 4.0, 1.5), result(0, 2, 0.5, 1.0, 0.4)]
    goals = tables.goals(results, scaling=True)
    assert [goal.met for goal in goals] == [True, True, True, True, True, False, True, False, True]
    assert "two threads" in goals[-1].text and "2.00" in goals[-1].text
    assert len(tables.goals(results, scaling=False)) == len(goals) - 1
    assert "0.80" in ratios(results)

"""The table of elementwise functions: every row has its peers, which compute the same, and goals are against numba."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from bench.elementwise import functions, peers, rows
from bench.harness import Comparison, Measurement, Prepared, Status
from bench.speed import tables
from bench.speed.peers import Task

SMALL = {"mandelbrot": lambda: rows.points(24, 18, 50), "gcd": lambda: rows.divisors(500)}


def prepared(name: str, peer: str, folder: Path) -> Prepared:
    row = next(r for r in rows.ROWS if r.name == name)
    task = Task.of(dataclasses.replace(row, make=SMALL[name]))
    return next(p for p in peers.peers_of(task, 1, folder) if p.name == peer).prepare()


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_every_row_has_its_function_in_python_and_its_loop_in_c(row) -> None:
    assert row.peer in vars(functions)
    text = (peers.SOURCES / f"{row.peer}.c").read_text()
    assert f"void {row.peer}(" in text or "#include" in text


@pytest.mark.parametrize("name", SMALL)
def test_peers_give_what_numpy_gives(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    for peer in ("weft", "NumPy", *(["gcc"] if shutil.which("gcc") else [])):
        ready = prepared(name, peer, tmp_path)
        assert ready.check() is None, peer
        assert 0 < ready.sample() < 1


def test_goals_ask_for_numbas_speed_and_a_mean_over_the_faster_compiler() -> None:
    def result(row: int, numba: float, clang: float) -> tables.Result:
        seconds = {"weft": 1.0, "numba": numba, "clang": clang, "gcc": 0.1}
        found = [Measurement(peer, Status.MEASURED, seconds=[s]) for peer, s in seconds.items()]
        return tables.Result(rows.ROWS[row], 1, Comparison("", found))

    met = [g.met for g in tables.loops_goals([result(0, 8.0, 4.0), result(1, 0.96, 1.5)], "elementwise")]
    assert met == [True, True, False]
    (mean,) = (
        g for g in tables.loops_goals([result(0, 8.0, 4.0), result(9, 0.9, 9.0)], "") if "mean" in g.text
    )
    assert mean.met and "4.00" in mean.text

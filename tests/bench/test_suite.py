"""The further rows: each has its loops and its C, and all of them compute what NumPy does."""

import dataclasses
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench.harness import Comparison, Measurement, Status
from bench.speed import widths
from bench.speed.peers import Task, peers_of
from bench.suite import dense, irregular, octets
from bench.suite.rows import ROWS, SOURCES, loops_of
from examples.irregular import cross_sections, nab_cascade
from examples.irregular.problem import Problem
from pairs import WHOLE

SMALL: dict[str, Callable[[], Problem]] = {
    "sobel": lambda: dense.edges(9, 70),
    "bilateral": lambda: dense.smoothing(8, 40),
    "life": lambda: dense.generation(12, 150),
    "kmeans2_f32": lambda: dense.clusters(100, 2, 5, np.float32),
    "kmeans9_f64": lambda: dense.clusters(50, 9, 5, np.float64),
    "lu": lambda: dense.systems(20),
    "pi": lambda: dense.darts(40, 12),
    "ray_triangle": lambda: dense.rays(70, 20),
    "spmv": lambda: irregular.product(70),
    "bfs": lambda: irregular.network(90, 3),
    "xsbench": lambda: cross_sections.problems(50)[0],
    "nab": lambda: nab_cascade.problems(40)[0],
    "bintree_f32": lambda: irregular.members(60, 70, np.float32),
    "bintree_f64": lambda: irregular.members(60, 70, np.float64),
    "vantage2_f32": lambda: irregular.nearest_of(63, 70, 2, np.float32),
    "vantage9_f64": lambda: irregular.nearest_of(31, 40, 9, np.float64),
    "radii2_f32": lambda: irregular.neighbourhoods(63, 70, 2, np.float32, 0.3),
    "radii9_f64": lambda: irregular.neighbourhoods(31, 40, 9, np.float64, 0.9),
    "barnes_hut_f32": lambda: irregular.attraction(60, np.float32),
    "barnes_hut_f64": lambda: irregular.attraction(60, np.float64),
    "string_search": lambda: octets.texts(2_000),
    "utf8": lambda: octets.strings(70, 12),
    "run_lengths": lambda: octets.runs(70, 6),
    "radix_pass": lambda: octets.digits(9_000),
    "smith_waterman": lambda: octets.sequences(3),
}

ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def small(row) -> Task:
    return Task.of(dataclasses.replace(row, make=SMALL[row.name]))


@ROW
def test_every_row_has_its_loops_in_c_for_numba_and_for_ispc(row) -> None:
    text = (SOURCES / f"{row.peer}.c").read_text()
    assert f"void {row.peer}(" in text and "PARALLEL_FOR" in text
    assert loops_of(small(row))
    assert f"export void {row.peer}(" in (SOURCES.parent / "ispc" / f"{row.peer}.ispc").read_text()


PEERS = ("gcc", "numba", "ispc")
# Of both forms one is compared for every second row, and one peer for every fourth: benches compare all of them before
# they measure.
CASES = [
    (row, peer)
    for peers, rows in ((("weft", "weft.jit"), 4), (PEERS, 12))
    for n, row in enumerate(ROWS)
    for k, peer in enumerate(peers)
    if WHOLE or n % rows == k * rows // len(peers)
]


@pytest.mark.parametrize(("row", "peer"), CASES, ids=lambda value: getattr(value, "name", value))
def test_peers_compute_what_numpy_does(row, peer, tmp_path: Path, monkeypatch) -> None:
    if peer in ("gcc", "ispc") and not shutil.which(peer):
        pytest.skip(f"no {peer}")
    monkeypatch.setenv("WEFT_CHECK", "0")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    peers = partial(peers_of, sources=SOURCES, loops=loops_of)(small(row), 1, tmp_path)
    ready = next(p for p in peers if p.name == peer).prepare()
    assert ready.check() is None
    assert ready.sample() > 0


def test_widths_are_held_against_the_best() -> None:
    measured = [
        Measurement(widths.CHOSEN, Status.MEASURED, seconds=[0.003]),
        Measurement("8", Status.MEASURED, seconds=[0.002]),
        Measurement("16", Status.FAILED, "it does not compile"),
    ]
    text = widths.table([Comparison("a row", measured)])
    assert "|   1.50 |      - |      - |   1.00 |      - |" in text
    assert "chosen: 1.500" in text

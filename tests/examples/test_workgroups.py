"""Every work-group example agrees with NumPy or SciPy, at a small size that is no multiple of its groups."""

import importlib

import pytest

SIZES = {
    "reduction": 10_007,
    "scan": 70_001,
    "matrix_product": 53,
    "transpose": 100,
    "convolution": 75,
    "dct": 64,
    "bitonic_sort": 2048,
    "histogram": 20_003,
    "nbody": 700,
    "radix_sort": 5_003,
    "spmv": 1_001,
    "bfs": 2_000,
    "kmeans": 3_001,
    "smith_waterman": 9,
    "walsh": 4096,
    "floyd_warshall": 50,
}


@pytest.mark.parametrize("name", SIZES)
def test_agrees_with_numpy(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    # `main` raises when a result differs.
    importlib.import_module(f"examples.workgroups.{name}").main(SIZES[name])
    assert "ms" in capsys.readouterr().out


def test_each_example_is_run_here() -> None:
    names = importlib.import_module("examples.workgroups.__main__").NAMES
    assert set(names) == set(SIZES)

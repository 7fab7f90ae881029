"""Every work-group example agrees with NumPy or SciPy, at a small size that is no multiple of its groups."""

import importlib

import pytest

from examples.tiny import WORKGROUPS as TINY
from pairs import WHOLE
from weft import cuda

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


# Sequences of which the interpreter takes whole and partial lane groups.
SMALLER = {"smith_waterman": {"LENGTH": 40}}


@pytest.fixture
def small(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make constants of an example smaller for the interpreter."""
    for constant, value in SMALLER.get(name, {}).items():
        monkeypatch.setattr(importlib.import_module(f"examples.workgroups.{name}"), constant, value)


@pytest.fixture
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[cuda.Kernel]:
    """Return the kernels of an example, as if none had been compiled before."""
    # The radix sort scans with the kernels of another example.
    names = (request.getfixturevalue("name"), "scan")
    modules = [importlib.import_module(f"examples.workgroups.{name}") for name in names]
    kernels = [v for module in modules for v in vars(module).values() if isinstance(v, cuda.Kernel)]
    for kernel in kernels:
        monkeypatch.setattr(kernel, "overloads", {})
    return kernels


@pytest.mark.parametrize("name", SIZES)
def test_agrees_with_numpy(
    name: str, kernels: list[cuda.Kernel], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Too large for the interpreter, which checks each pass in the tests.
    monkeypatch.setenv("WEFT_CHECK", "0")
    # `main` raises when a result differs.
    importlib.import_module(f"examples.workgroups.{name}").main(SIZES[name])
    assert "ms" in capsys.readouterr().out


# These launch their kernels dozens of times.
MANY_LAUNCHES = {"radix_sort", "floyd_warshall", "scan"}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", sorted(TINY.keys() - MANY_LAUNCHES))
def test_no_pass_changes_what_it_computes(
    name: str, kernels: list[cuda.Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1" if WHOLE else "3")
    importlib.import_module(f"examples.workgroups.{name}").main(TINY[name])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", TINY)
def test_has_no_race_nor_other_undefined_step(
    name: str, kernels: list[cuda.Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kernel in kernels:
        monkeypatch.setattr(kernel, "debug", True)
    example = importlib.import_module(f"examples.workgroups.{name}")
    # What is timed runs twice, the second time as the first.
    monkeypatch.setattr(example, "timed", lambda _, compute: compute())
    example.main(TINY[name])


def test_each_example_is_run_here() -> None:
    names = importlib.import_module("examples.workgroups.__main__").NAMES
    assert set(names) == set(SIZES) == set(TINY)

"""The generated programs of the bench of compile time compile, and what once took twice as long with each statement
does not."""

import pytest

from bench.compile_time.doors import DOORS
from bench.compile_time.families import FAMILIES, KERNELS
from steps import at_most
from weft.analysis.sequential import pointers
from weft.target import machine


@pytest.mark.parametrize("name", [*FAMILIES, *KERNELS])
def test_programs_compile(name, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    family = {**FAMILIES, **KERNELS}[name]
    DOORS["barriers" if name in KERNELS else "kernel"](family, 8)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compile_as_opencl_c(name, monkeypatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.setenv("WEFT_CACHE", "0")
    DOORS["opencl"](KERNELS[name], 4)


@pytest.mark.parametrize(
    ("door", "name", "size", "calls"),
    [
        # How an id moves a sum of shared sums (weft.transform.groups.merge_groups).
        ("kernel", "add", 60, 3_000_000),
        # Polynomials of squares of squares.
        ("auto", "indexed_squares", 40, 3_000_000),
    ],
)
def test_work_does_not_double_with_each_statement(door, name, size, calls, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    DOORS[door](FAMILIES[name], 4)
    with at_most(calls):
        DOORS[door](FAMILIES[name], size)


def test_names_do_not_double_with_each_load(monkeypatch) -> None:
    # What is loaded at the remainder of a load has its name twice.
    monkeypatch.setenv("WEFT_CACHE", "0")
    names: list[str] = []
    place_of = pointers._place_of

    def noted(made, address, load):
        found = place_of(made, address, load)
        names.append(found[0])
        return found

    monkeypatch.setattr(pointers, "_place_of", noted)
    DOORS["auto"](FAMILIES["scattered"], 40)
    assert len(names) >= 20
    assert max(map(len, names)) <= 200


def test_sums_that_go_on_from_others_are_tested_once(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    texts: list[str] = []
    prepared = machine._prepared

    def noted(text, spec, passes=None):
        texts.append(text)
        return prepared(text, spec, passes)

    monkeypatch.setattr(machine, "_prepared", noted)
    DOORS["auto"](FAMILIES["uniform_diamonds"], 60)
    # Each of twenty sums was tested from its beginning: 200 additions a test.
    assert sum(text.count("call { i64, i1 } @llvm.sadd") for text in texts) <= 60

"""``tune="measure"``: the width or box that is fastest on the first call's arrays."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.errors import SignatureError
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.runtime import tuning

KNOWN: list[object] = []


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Measure for no longer than needed, with a cache of its own, and note what was measured."""
    KNOWN.clear()
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    measured = tuning.fastest
    monkeypatch.setattr(tuning, "SECONDS", 0.001)
    for module in ("weft.loops.tuning.widths_to_try", "weft.cuda.tuning.widths_to_try"):
        monkeypatch.setattr(module, lambda isa: [None, 1])

    def noting(name, versions, args):
        KNOWN.append(name)
        return measured(name, versions, args)

    for module in ("weft.loops.tuning.fastest", "weft.cuda.tuning.fastest"):
        monkeypatch.setattr(module, noting)


def scaled(x, y, a):
    for i in prange(x.size):
        y[i] += a * x[i]


def scaled_by_threads(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def counted(x, n):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(n, 0, 1)
        x[i] += 1


def arrays(size: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(size, dtype=np.float32), np.ones(size, np.float32)


def test_a_function_with_short_rows_is_known_to_machine_code_once(monkeypatch) -> None:
    """Calls for which there was no code looked for it for ever."""
    monkeypatch.setenv("WEFT_CHECK", "0")

    @weft.jit(tune="measure")
    def lengths(points, out):
        for i in prange(points.shape[0]):
            total = points.dtype.type(0)
            for k in range(points.shape[1]):
                total += points[i, k] ** 2
            out[i] = total

    out = np.zeros(40)
    for columns in (3, 100):
        for _ in range(2):
            lengths(np.ones((40, columns)), out)
            assert (out == columns).all()
    lengths(np.ones((40, 3), np.float32), out)
    assert (out == 3).all()


def test_loops_run_once_on_the_users_arrays():
    x, y = arrays()
    function = weft.jit(scaled, tune="measure")
    function(x, y, np.float32(2))
    np.testing.assert_array_equal(y, 2 * x + 1)
    function(x, y, np.float32(2))
    np.testing.assert_array_equal(y, 4 * x + 1)
    assert KNOWN == ["scaled"]


def test_kernels_run_once_on_the_users_arrays():
    kernel = cuda.jit(counted, tune="measure")
    x, n = np.zeros(1000, np.int32), np.zeros(1, np.int32)
    kernel[4, 256](x, n)
    assert n[0] == 1000 and (x == 1).all()
    kernel[4, 256](x, n)
    assert n[0] == 2000 and (x == 2).all()
    assert KNOWN == ["counted"]


@pytest.mark.parametrize("slow", [1, None])
def test_fastest_width_is_taken(slow, monkeypatch):
    """The first version is what weft chooses, the second one lane."""
    monkeypatch.setattr("weft.cuda.tuning.fastest", lambda name, versions, args: 0 if slow == 1 else 1)
    kernel = cuda.jit(scaled_by_threads, tune="measure")
    x, y = arrays()
    kernel[4, 256](x, y, np.float32(2))
    (compiled,) = kernel.overloads.values()
    assert compiled.options.width == (None if slow == 1 else 1)
    np.testing.assert_array_equal(y, 2 * x + 1)


def transposed(x, y):
    for i in prange(x.shape[0]):
        for j in prange(x.shape[1]):
            y[j, i] = x[i, j]


@pytest.mark.parametrize("brush", [None, False])
def test_what_weft_chooses_by_itself_is_tried(brush, monkeypatch):
    """Nests had boxes as chosen, and none as measured, where no width made up for it."""
    monkeypatch.setattr("weft.loops.tuning.fastest", lambda name, versions, args: 0)
    x = np.arange(12800, dtype=np.float32).reshape(80, 160)
    plain, measured = weft.jit(transposed, brush=brush), weft.jit(transposed, brush=brush, tune="measure")
    for function in (plain, measured):
        y = np.zeros((160, 80), np.float32)
        function(x, y)
        assert (y == x.T).all()
    assert [str(r) for r in measured.remarks] == [str(r) for r in plain.remarks]
    assert any("box" in r.message for r in measured.remarks) == (brush is None)


def test_code_for_short_rows_is_measured_where_it_serves(monkeypatch):
    def noting(name, versions, args):
        KNOWN.extend(version.__self__.options.known for version in versions)
        return 0

    monkeypatch.setattr("weft.loops.tuning.fastest", noting)

    @weft.jit(tune="measure")
    def lengths(points, out):
        for i in prange(points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                total += points[i, k] ** 2
            out[i] = total

    out = np.zeros(4000)
    lengths(np.ones((4000, 3)), out)
    assert (out == 3).all()
    assert len(KNOWN) == 2 and all(3 in dict(known).values() for known in KNOWN)


def test_next_process_does_not_measure():
    x, y = arrays()
    for _ in range(2):
        cuda.jit(scaled_by_threads, tune="measure")[4, 256](x, y, np.float32(1))
        weft.jit(scaled, tune="measure")(x, y, np.float32(1))
    assert KNOWN == ["scaled_by_threads", "scaled"]
    # Another launch may want another width.
    cuda.jit(scaled_by_threads, tune="measure")[8, 128](x, y, np.float32(1))
    x, y = arrays(999)
    weft.jit(scaled, tune="measure")(x, y, np.float32(1))
    assert KNOWN == ["scaled_by_threads", "scaled", "scaled_by_threads", "scaled"]


def product(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[1] and j < c.shape[0]:
        total = a[j, 0] * b[0, i]
        for k in range(1, b.shape[0]):
            total += a[j, k] * b[k, i]
        c[j, i] = total


def test_boxes_of_threads_are_tried_where_work_groups_have_rows(monkeypatch):
    monkeypatch.setenv("WEFT_CPU", "x86-64")
    tried = []
    measured = tuning.fastest

    def last(name, versions, args):
        tried.append(len(versions))
        measured(name, versions, args)
        return len(versions) - 1

    monkeypatch.setattr("weft.cuda.tuning.fastest", last)
    a, b, c = np.arange(35.0).reshape(5, 7), np.arange(42.0).reshape(7, 6), np.zeros((5, 6))
    for _ in range(2):
        kernel = cuda.jit(product, tune="measure")
        kernel[(1, 2), (8, 4)](a, b, c)
        np.testing.assert_array_equal(c, a @ b)
        (compiled,) = kernel.overloads.values()
        assert str(compiled.options.brush) == "2x8" and compiled.options.width is None
        c[...] = 0
    assert tried == [4]
    cuda.jit(product, tune="measure")[(2, 2), (4, 4)](a, b, c)
    cuda.jit(product, tune="measure")[(1, 5), (32, 1)](a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    assert tried == [4, 3, 2]


def test_kernel_that_is_pickled_measures():
    kernel = pickle.loads(pickle.dumps(cuda.jit(scaled_by_threads, tune="measure")))
    x, y = arrays()
    kernel[4, 256](x, y, np.float32(2))
    assert KNOWN == ["scaled_by_threads"]


def test_widths_are_one_and_those_that_fill_registers():
    assert tuning.widths_to_try(SSE2) == [None, 1, 2, 4, 8, 16, 32]
    assert tuning.widths_to_try(AVX2) == [None, 1, 4, 8, 16, 32, 64]
    assert tuning.widths_to_try(AVX512) == [None, 1, 8, 16, 32, 64]


@pytest.mark.parametrize(
    "make",
    [
        lambda: cuda.jit(scaled_by_threads, tune="guess"),
        lambda: cuda.jit(scaled_by_threads, tune="measure", width=8),
        lambda: cuda.jit(scaled_by_threads, tune="measure", target="gpu"),
        lambda: cuda.jit("void(float32[:], float32[:], float32)", tune="measure"),
        lambda: weft.jit(scaled, tune="measure", width=8),
        lambda: weft.jit("void(float32[:], float32[:], float32)", tune="measure"),
    ],
)
def test_nothing_to_choose_is_refused(make):
    with pytest.raises(SignatureError, match="tune="):
        make()


def test_reports_tell_of_the_width_that_was_taken(monkeypatch):
    monkeypatch.setattr("weft.cuda.tuning.fastest", lambda name, versions, args: 1)
    monkeypatch.setattr("weft.loops.tuning.fastest", lambda name, versions, args: 1)
    x, y = arrays()
    kernel, function = cuda.jit(scaled_by_threads, tune="measure"), weft.jit(scaled, tune="measure")
    kernel[4, 256](x, y, np.float32(1))
    function(x, y, np.float32(1))
    for report in (kernel.report(), function.report()):
        assert "threads at a time" not in str(report) and "iterations at a time" not in str(report)
    wide = cuda.jit(scaled_by_threads)
    wide[4, 256](x, y, np.float32(1))
    assert "threads at a time" in str(wide.report())


def test_versions_run_on_the_same_memory_with_the_same_contents(monkeypatch) -> None:
    monkeypatch.setattr(tuning, "SECONDS", 1e-9)
    seen = []

    def version(args) -> None:
        seen.append((args[0].ctypes.data, args[0].tolist(), args[1]))
        args[0][...] = -1

    a = np.arange(3.0)
    tuning.fastest("f", [version, version], [a, 7])
    assert {place for place, _, _ in seen} == {seen[0][0]} != {a.ctypes.data}
    assert all(contents == [0, 1, 2] and number == 7 for _, contents, number in seen)
    assert a.tolist() == [0, 1, 2]

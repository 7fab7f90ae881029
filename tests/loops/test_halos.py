"""Stencils as kernels whose blocks share what they read: each element is loaded once, and results are the loop's."""

import ctypes
import random
from pathlib import Path

import numpy as np
import pytest

from pairs import WHOLE

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from sequential.emitted import run_cuda, run_opencl
from weft.frontend.clang import compile_c
from weft.loops.analysis import analyze_file
from weft.loops.emission.halos import _clauses
from weft.loops.emission.source import emit_report
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SIZES = ((0, 5), (1, 1), (3, 3), (5, 40), (33, 34), (12, 70))


def places_of(draw: random.Random, count: int) -> list[tuple[int, int]]:
    near = [(y, x) for y in range(-2, 3) for x in range(-2, 3)]
    return sorted(draw.sample(near, count), key=lambda p: (abs(p[0]) + abs(p[1]), p))


@pytest.mark.parametrize("seed", range(40))
def test_each_element_is_loaded_once(seed: int) -> None:
    """A second derivation: threads of a block, some without an iteration, are played through."""
    draw = random.Random(seed)
    places = places_of(draw, draw.randint(2, 12))
    height, width = draw.randint(1, 5), draw.randint(1, 6)
    rows, columns = draw.randint(1, height), draw.randint(1, width)
    active = {(r, c) for r in range(rows) for c in range(columns)}

    def is_beyond(thread: tuple[int, int], axis: int, distance: int) -> bool:
        # Upwards it counts who has an iteration, downwards all do.
        at = thread[axis] + distance
        return at < 0 or at >= (rows, columns)[axis]

    loaded: list[tuple[int, int]] = []
    for thread in active:
        for k, place in enumerate(places):
            clauses = _clauses(place, places[:k])
            if all(any(is_beyond(thread, axis, d) for axis, d in clause) for clause in clauses):
                loaded.append((thread[0] + place[0], thread[1] + place[1]))
    assert sorted(loaded) == sorted({(r + y, c + x) for r, c in active for y, x in places})


def stencil(places: list[tuple[int, int]], pitch: str, order: str) -> str:
    low = [-min(p[k] for p in places) for k in (0, 1)]
    high = [max(p[k] for p in places) for k in (0, 1)]
    terms = " + ".join(
        f"{w + 1} * a[({y} + ({dy})) * {pitch} + {x} + ({dx})]"
        for w, (dy, dx) in enumerate(places)
        for y, x in ["ij"]
    )
    loops = [
        f"for (int i = {max(0, low[0])}; i < n - {max(0, high[0])}; i++)",
        f"for (int j = {max(0, low[1])}; j < m - {max(0, high[1])}; j++)",
    ]
    body = f"b[i * {pitch} + j] = {terms};"
    guard = "if (c[j] > 3) " if order == "guarded" else ""
    return (
        f"void stencil(int n, int m, const int *restrict a, int *restrict b, const int *restrict c) {{\n  {loops[0]}\n"
        f"    {loops[1]}\n      {guard}{body}\n}}\n"
    )


@pytest.mark.spread
@pytest.mark.parametrize("pitch", ["m", "72"])
@pytest.mark.parametrize("seed", range(4))
def test_stencils_do_what_the_loop_does(seed: int, pitch: str, tmp_path: Path) -> None:
    draw = random.Random(seed)
    places = places_of(draw, draw.randint(5, 12))
    file = tmp_path / "stencil.c"
    file.write_text(stencil(places, pitch, "guarded" if seed == 3 else "plain"))
    spec = TargetSpec.chosen()
    code = load_object(emit_object(compile_c(file, spec.triple), spec), ["stencil"], {})
    report = analyze_file(file, order=True)
    languages = (("cuda", run_cuda), ("opencl", run_opencl))
    for language, run in languages if WHOLE else (languages[(seed + (pitch == "m")) % 2],):
        emitted = emit_report(report, language)
        assert ("a_tile" in emitted.text) == (seed != 3)
        for n, m in SIZES:
            numbers = np.random.default_rng(n)
            a, b, c = (numbers.integers(0, 9, 72 * 72).astype("i4") for _ in range(3))
            given = {"n": n, "m": m, "a": a, "b": b.copy(), "c": c}
            kinds = [ctypes.c_int] * 2 + [ctypes.c_void_p] * 3
            ctypes.CFUNCTYPE(None, *kinds)(code.address("stencil"))(n, m, *(x.ctypes.data for x in (a, b, c)))
            run(emitted, given)
            np.testing.assert_array_equal(given["b"], b, err_msg=f"{language} {n} {m}")


def blur(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j] + a[i - 1, j] * 2 + a[i + 1, j] * 3 + a[i, j - 1] * 4 + a[i, j + 1] * 5


def two_arrays(a, b, c):
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            here = a[i, j] - a[i + 1, j + 1] + a[i + 2, j + 2] + a[i, j + 2] - a[i + 2, j]
            c[i, j] = here * (b[i, j] + b[i, j + 1])


def test_arrays_of_python() -> None:
    draw = np.random.default_rng(3)
    for shape in ((2, 2), (9, 40), (37, 12)):
        a, b, c = (draw.integers(0, 9, shape) for _ in range(3))
        for function, given in ((blur, (a, c)), (two_arrays, (a, b, c))):
            emitted = weft.loops.emit(function, *given)
            assert "a_tile" in emitted.text and "b_tile" not in emitted.text
            wanted = [x.copy() for x in given]
            function(*wanted)
            run_cuda(emitted, dict(zip(function.__code__.co_varnames, given, strict=False)))
            for mine, right in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(mine, right)


def test_a_stencil_is_what_a_person_would_write() -> None:
    zeros = np.zeros((9, 9))
    text = weft.loops.emit(blur, zeros, zeros).text
    assert "    a_tile = cuda.shared.array((10, 34), np.float64)\n" in text
    assert "        a_tile[row + 1, column + 1] = a[i, j]\n        if row < 1:\n" in text
    assert "        if column >= 31 or j + 1 >= a.shape[1] - 1:\n" in text
    assert text.count("cuda.syncthreads()") == 1

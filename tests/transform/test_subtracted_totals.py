"""What loops take off a number is added to it with the other sign (`subtracted_totals`)."""

import itertools

import numpy as np
import pytest

import weft
from transform.test_masked_sums import KNOWN, marked
from transform.test_sums_in_fours import SUM, run
from weft import cuda
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.subtracted_totals import add_what_is_subtracted

LESS = "fsub fast double %total, %x"


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_differences_are_sums_to_what_looks_for_these(isa) -> None:
    text = KNOWN.replace("fadd fast double %total, %x", LESS)
    module, plain = read_module(text), read_module(text)
    prepare_alone(module.functions["f"], isa)
    verify(module)
    assert marked(module) if isa is AVX512 else write_module(module).count("load double") > 1
    for indices in ([], [0], [3, 1], [2, 4, 1, 0, 3], [1, 2, 3, -1, 0], [4, 3, 2, 1, 0, 1, 2, 3, 4]):
        wanted = run(plain, [*indices, 0], 0, len(indices))
        assert run(module, [*indices, 0], 0, len(indices)) == wanted


@pytest.mark.parametrize(
    "other",
    [
        "fsub double %total, %x",
        "fsub fast double %x, %total",
        "fsub fast double %total, %total",
    ],
)
def test_other_differences_stay(other: str) -> None:
    text = SUM.replace("fadd fast double %total, %x", other)
    module = read_module(text)
    assert add_what_is_subtracted(module.functions["f"]) == 0


def solved(starts, columns, values, diagonal, right, x, first):
    i = cuda.grid(1) + first
    if i < right.size:
        left = right[i]
        for k in range(starts[i], starts[i + 1]):
            left -= values[k] * x[columns[k]]
        x[i] = left / diagonal[i]


def solved_in_a_loop(starts, columns, values, diagonal, right, x, first):
    for i in weft.prange(first, right.size):
        left = right[i]
        for k in range(starts[i], starts[i + 1]):
            left -= values[k] * x[columns[k]]
        x[i] = left / diagonal[i]


@pytest.mark.optimized
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("door", ["kernel", "loop"])
def test_a_level_of_a_triangular_system(kind: type, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    random = np.random.default_rng(3)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, 12, 90)))).astype(np.int32)
    columns = random.integers(0, 40, starts[-1]).astype(np.int32)
    values, right, x = ((random.random(n) * 9).astype(kind) for n in (starts[-1], 90, 90))
    diagonal = np.ones(90, kind)
    wanted = [
        right[i] - (values[a:b] * x[columns[a:b]]).sum()
        for i, (a, b) in enumerate(itertools.pairwise(starts))
    ]
    if door == "kernel":
        compiled = cuda.jit(solved, fastmath=True, width=1)
        compiled[2, 32](starts, columns, values, diagonal, right, x, 40)
    else:
        compiled = weft.jit(solved_in_a_loop, fastmath=True, width=1)
        compiled(starts, columns, values, diagonal, right, x, 40)
    np.testing.assert_allclose(x[40:], wanted[40:], rtol=1e-4)
    assert "llvm.masked.gather.v8" in next(iter(compiled.inspect_llvm().values()))

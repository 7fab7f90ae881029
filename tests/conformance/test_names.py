"""A case for each name of docs/names.md that no other case of this folder has, and a test that finds those without."""

import builtins
import cmath
import linecache
import math
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import weft
import weft.frontend.python.lowering
from conformance.cases import Case, Cases
from conformance.runner import check
from weft import cuda
from weft.frontend.python.cuda_names import NAMES, CudaName
from weft.frontend.python.lowering.calls.registry import CALLS, METHODS
from weft.frontend.python.vector_types import VECTOR_TYPES

cases = Cases()
N = 48


def expecting(function):
    """What fills the first argument in NumPy from the others."""

    def expect(out, *args):
        with np.errstate(all="ignore"):
            for row, values in zip(out, function(*args), strict=True):
                row[:] = values

    return expect


def numbers(rng, rows):
    return (
        np.zeros((rows, N)),
        rng.integers(-40, 40, N).astype(np.int32),
        rng.integers(1, 7, N).astype(np.int32),
    )


def operators_of(x, y):
    return (
        operator.iadd(x + 0, y), operator.isub(x + 0, y), operator.imul(x + 0, y), operator.itruediv(x * 1.0, y),
        operator.ifloordiv(x + 0, y), operator.imod(x + 0, y), operator.ipow(x + 0, 2), operator.iand(x + 0, y),
        operator.ior(x + 0, y), operator.ixor(x + 0, y), operator.ilshift(x + 0, y), operator.irshift(x + 0, y),
        operator.inv(x), x != 0, operator.ne(x, y), operator.lt(x, y), operator.le(x, y), operator.gt(x, y),
        operator.ge(x, y), operator.neg(x), operator.invert(x), x == 0, operator.abs(x), operator.pos(x),
        x // y + x % y, x * y,
    )  # fmt: skip


@cases.kernel(lambda rng: numbers(rng, 26), expect=expecting(operators_of))
def operators(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], y[i]
        out[0, i] = operator.iadd(a, b)
        out[1, i] = operator.isub(a, b)
        out[2, i] = operator.imul(a, b)
        out[3, i] = operator.itruediv(a, b)
        out[4, i] = operator.ifloordiv(a, b)
        out[5, i] = operator.imod(a, b)
        out[6, i] = operator.ipow(a, 2)
        out[7, i] = operator.iand(a, b)
        out[8, i] = operator.ior(a, b)
        out[9, i] = operator.ixor(a, b)
        out[10, i] = operator.ilshift(a, b)
        out[11, i] = operator.irshift(a, b)
        out[12, i] = operator.inv(a)
        out[13, i] = operator.truth(a)
        out[14, i] = operator.ne(a, b)
        out[15, i] = operator.lt(a, b)
        out[16, i] = operator.le(a, b)
        out[17, i] = operator.gt(a, b)
        out[18, i] = operator.ge(a, b)
        out[19, i] = operator.neg(a)
        out[20, i] = operator.invert(a)
        out[21, i] = operator.not_(a)
        out[22, i] = operator.abs(a)
        out[23, i] = operator.pos(a)
        quotient, rest = divmod(a, b)
        out[24, i] = quotient + rest
        out[25, i] = math.prod((a, b))


def elementwise_of(x, y):
    return (
        np.rad2deg(x * 1.0), np.deg2rad(x * 1.0), np.floor_divide(x, y), np.left_shift(x, y), np.right_shift(x, y),
        np.invert(x), np.logical_not(x), np.logical_and(x, y), np.logical_or(x, y), np.logical_xor(x, y), np.conj(x),
        np.around(x / 4), np.positive(x), np.mod(x, y), np.subtract(x, y), np.multiply(x, y), np.bitwise_and(x, y),
        np.bitwise_or(x, y), np.bitwise_xor(x, y), np.equal(x, y), np.not_equal(x, y), np.less(x, y),
        np.less_equal(x, y), np.greater(x, y), np.greater_equal(x, y), np.negative(x),
    )  # fmt: skip


@cases.kernel(lambda rng: numbers(rng, 26), expect=expecting(elementwise_of), ulp=2)
def elementwise(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], y[i]
        out[0, i] = np.rad2deg(a * 1.0)
        out[1, i] = np.deg2rad(a * 1.0)
        out[2, i] = np.floor_divide(a, b)
        out[3, i] = np.bitwise_left_shift(a, b)
        out[4, i] = np.bitwise_right_shift(a, b)
        out[5, i] = np.bitwise_invert(a)
        out[6, i] = np.logical_not(a)
        out[7, i] = np.logical_and(a, b)
        out[8, i] = np.logical_or(a, b)
        out[9, i] = np.logical_xor(a, b)
        out[10, i] = np.conj(a)
        out[11, i] = np.around(a / 4)
        out[12, i] = np.positive(a)
        out[13, i] = np.mod(a, b)
        out[14, i] = np.subtract(a, b)
        out[15, i] = np.multiply(a, b)
        out[16, i] = np.bitwise_and(a, b)
        out[17, i] = np.bitwise_or(a, b)
        out[18, i] = np.bitwise_xor(a, b)
        out[19, i] = np.equal(a, b)
        out[20, i] = np.not_equal(a, b)
        out[21, i] = np.less(a, b)
        out[22, i] = np.less_equal(a, b)
        out[23, i] = np.greater(a, b)
        out[24, i] = np.greater_equal(a, b)
        out[25, i] = np.negative(a)


def rows(rng):
    return np.zeros((5, 9)), rng.integers(-4, 5, (9, 4)).astype(np.float64)


def reductions_of(x):
    return x.sum(1), x.argmin(1), np.amax(x, 1), (x * x).sum(1), x[:, 3] + 4 + 9


@cases.kernel(rows, expect=expecting(reductions_of), threads=9)
def reductions(out, x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        out[0, i] = np.sum(row)
        out[1, i] = np.argmin(row)
        out[2, i] = np.amax(row)
        out[3, i] = np.dot(row, row)
        out[4, i] = np.ravel(row)[3] + np.shape(row)[0] + np.permute_dims(x).shape[1]


def hinted(out, x):
    out[0, :], out[1, :], out[2, 0], out[2, 1] = x * 3, x, np.nanmin(x), np.nanmax(x)


@cases.kernel(lambda rng: (np.array([np.zeros(N)] * 3), rng.integers(-9, 9, N) * 1.0), expect=hinted)
def hints_and_atomics(out, x):
    i = cuda.grid(1)
    if i < x.size:
        total = cuda.ldcg(x, i) + cuda.ldlu(x, i) + cuda.ldcv(x, i)
        cuda.stcs(out, (0, i), total)
        cuda.stwb(out, (1, i), x[i])
        cuda.atomic.nanmin(out, (2, 0), x[i])
        cuda.atomic.nanmax(out, (2, 1), x[i])


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)


def arrays_and_reductions(a, z):
    total = 0.0
    for v in reversed(range(3)):
        total = total * 10 + v
    return (
        np.cumsum(a), a.cumsum(), np.linspace(0.0, 1.0, 5), np.searchsorted(np.sort(a), 0.5), a.flatten(), z.conj(),
        a.transpose(), a.dot(a), a.sum(), a.prod(), a.mean(), a.var(), a.std(), a.argmin(), total, np.prod(a),
        np.mean(a), np.var(a), np.std(a), np.nansum(a), np.nanprod(a), np.nanmean(a), np.nanvar(a), np.nanstd(a),
        np.nanmin(a), np.nanmax(a), np.amin(a),
    )  # fmt: skip


def test_reductions_and_functions_that_make_arrays() -> None:
    a = np.array([0.5, -1.0, 2.0, 0.25])
    z = a * (1 + 2j)
    found = weft.jit(arrays_and_reductions)(a, z)
    for mine, theirs in zip(found, arrays_and_reductions(a, z), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def test_vector_types() -> None:
    terms = []
    for name in VECTOR_TYPES:
        count = int(name[-1])
        terms.append(f"sum(cuda.{name}({', '.join(map(str, range(1, count + 1)))}))")
    text = f"def all_of_them():\n    return ({', '.join(terms)})\n"
    linecache.cache["<vectors>"] = (len(text), None, text.splitlines(True), "<vectors>")
    scope = {"cuda": cuda}
    exec(compile(text, "<vectors>", "exec"), scope)
    found = weft.jit(scope["all_of_them"])()
    assert found == tuple(sum(range(1, int(name[-1]) + 1)) for name in VECTOR_TYPES)


def test_a_jump_leads_to_the_next_stream() -> None:
    states = cuda.random.create_xoroshiro128p_states(2, 5).copy_to_host()
    cuda.jit(lambda s: cuda.random.xoroshiro128p_jump(s, 0))[1, 1](states)
    assert states[0] == states[1]


TEXT = "\n".join(file.read_text() for file in Path(__file__).parent.glob("*.py"))


def has_case(prefix: str, names: list[str]) -> bool:
    """Whether a case calls it by one of its names, or takes it from a list of names."""
    patterns = [rf"\b{prefix}\.{name}\b" if prefix else rf"\b{name}\(" for name in names]
    return any(re.search(p, TEXT) for p in [*patterns, *(rf"[\"']{name}[\"']" for name in names)])


@pytest.mark.parametrize("module", [builtins, math, cmath, operator, np], ids=lambda m: m.__name__)
def test_functions_have_cases(module) -> None:
    prefix = {"builtins": "", "numpy": "np"}.get(module.__name__, module.__name__)
    missing = []
    for target in CALLS:
        if isinstance(target, CudaName):
            continue
        names = [n for n, value in vars(module).items() if value is target and n[0] != "_"]
        if names and not has_case(prefix, names):
            missing.append(names[0])
    assert missing == []


def test_names_of_cuda_and_methods_have_cases() -> None:
    # Those of half precision, of libdevice and vector types are tested name by name, from their tables.
    tables = ("bf16", "fp16", "libdevice")
    ours = [n for n in NAMES if not n.startswith(tables) and n not in VECTOR_TYPES]
    # The class of what cg.this_grid() gives.
    ours.remove("cg.GridGroup")
    assert [
        n for n in ours if not has_case("cuda", [re.escape(n)]) and n.rpartition(".")[2] not in TEXT
    ] == []
    assert [n for n in METHODS if not re.search(rf"\.{n}\(", TEXT)] == []

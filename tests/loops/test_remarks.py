"""A loop over `prange`, a loop of C, an elementwise function and a kernel with one body leave the same remarks."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.diag.errors import SignatureError
from weft.diag.remarks import Remark, RemarkKind

X, Y = np.linspace(0.0, 50.0, 24), np.zeros(24)
AT = np.arange(24)[::-1].copy()


@weft.jit(width=8, boscc="off")
def loop(x, y):
    for i in prange(y.shape[0]):
        v = x[i]
        k = 0.0
        while v > 1.0:
            v *= 0.5
            k += 1.0
        if k > 3.0:
            k = math.lgamma(k) * v
        y[i] = k + v


@weft.vectorize(width=8, boscc="off")
def elementwise(x):
    v = x
    k = 0.0
    while v > 1.0:
        v *= 0.5
        k += 1.0
    if k > 3.0:
        k = math.lgamma(k) * v
    return k + v


@cuda.jit(width=8, boscc="off")
def kernel(x, y):
    i = cuda.grid(1)
    v = x[i]
    k = 0.0
    while v > 1.0:
        v *= 0.5
        k += 1.0
    if k > 3.0:
        k = math.lgamma(k) * v
    y[i] = k + v


@weft.jit(width=8, boscc="off")
def loop_through(at, x, y):
    for i in prange(y.shape[0]):
        v = x[at[i]]
        if v > 0.5:
            v = v / x[i]
        y[at[i]] = v


@cuda.jit(width=8, boscc="off")
def kernel_through(at, x, y):
    i = cuda.grid(1)
    v = x[at[i]]
    if v > 0.5:
        v = v / x[i]
    y[at[i]] = v


BODY = [
    (RemarkKind.VECTORIZED, "runs 8 lanes at a time"),
    (RemarkKind.DIVERGENT_LOOP, "lanes leave this loop in different iterations", "while"),
    (RemarkKind.DIVERGENT_BRANCH, "lanes disagree at this branch: both sides run, under masks", "if"),
    (RemarkKind.LANE_BY_LANE, "the call of lgamma runs once for each active lane", "lgamma"),
]
THROUGH = [
    (RemarkKind.VECTORIZED, "runs 8 lanes at a time"),
    (RemarkKind.DIVERGENT_BRANCH, "lanes disagree at this branch: both sides run, under masks", "if"),
    (RemarkKind.MEMORY, "this load is a gather: its addresses are not neighbours", "[at[i]]"),
    (RemarkKind.MEMORY, "this store is a scatter: its addresses are not neighbours", "[at[i]]"),
]


def of_prange() -> Iterable[Remark]:
    loop(X, Y)
    return loop.remarks


def of_elements() -> Iterable[Remark]:
    elementwise(X)
    return elementwise.remarks


def of_kernel() -> Iterable[Remark]:
    kernel[1, 24](X, Y)
    return kernel.remarks


def of_c(function: str = "each") -> Iterable[Remark]:
    source = Path(__file__).with_name("same_body.c")
    return weft.vectorize_ir(source, function, loop="for.cond", width=8, boscc="off").remarks


def of_prange_through() -> Iterable[Remark]:
    loop_through(AT, X, Y)
    return loop_through.remarks


def of_kernel_through() -> Iterable[Remark]:
    kernel_through[1, 24](AT, X, Y)
    return kernel_through.remarks


def seen(remarks: Iterable[Remark]) -> list[tuple[RemarkKind, str, str]]:
    """Kind, message and source line of each remark that is not about rows of threads."""
    found = []
    for remark in remarks:
        if remark.pass_name == "rows of threads":
            continue
        line = ""
        if remark.span is not None:
            line = Path(remark.span.file).read_text().splitlines()[remark.span.line - 1].strip()
        found.append((remark.kind, re.sub(r"(?<=8 )(threads|iterations)", "lanes", remark.message), line))
    return found


@pytest.mark.parametrize("door", [of_prange, of_elements, of_kernel, of_c])
def test_a_body_leaves_the_same_remarks_at_every_door(door):
    compare(seen(door()), BODY)


@pytest.mark.parametrize("door", [of_prange_through, of_kernel_through, lambda: of_c("through")])
def test_places_that_are_looked_up(door):
    compare(seen(door()), THROUGH)


def compare(remarks, wanted):
    first, *others = remarks
    assert first[0] is wanted[0][0] and wanted[0][1] in first[1]
    for (kind, message, line), (wanted_kind, start, text) in zip(others, wanted[1:], strict=True):
        assert kind is wanted_kind
        assert message.startswith(start)
        assert text in line


def test_numbers_agree_with_their_words():
    messages = [message for _, message, _ in seen(of_prange())]
    assert "of its branches 2 are divergent" in messages[0]
    assert "its exit is divergent" in messages[1]


def test_numbers_of_32_bits_are_told():
    @weft.jit(width=8)
    def steps(start, out):
        for i in prange(out.shape[0]):
            n = start[i] & 1023
            count = 0
            while n > 0:
                n = n >> 1
                count += 1
            out[i] = count

    steps(np.arange(24), np.zeros(24, np.int64))
    told = [r for r in steps.remarks if r.pass_name == "narrowing"]
    assert [r.message.partition(" ")[2] for r in told] == [
        "numbers that differ from lane to lane are computed in 32 bits"
    ]


@pytest.mark.parametrize(
    ("width", "reason"),
    [(1, ", as asked for"), (None, ", because it raises exceptions: test before the loop")],
)
def test_a_loop_that_stays_scalar_says_why(width, reason):
    def checked(x, y):
        for i in prange(y.shape[0]):
            if x[i] < 0.0:
                raise ValueError("negative")
            y[i] = x[i]

    def plain(x, y):
        for i in prange(y.shape[0]):
            y[i] = x[i]

    made = weft.jit(width=width)(plain if width else checked)
    made(X, Y)
    (remark,) = made.remarks
    assert remark.message == f"this loop runs iteration after iteration on all cores{reason}"


def test_elementwise_functions_report_on_the_loop_over_contiguous_arrays():
    def steps(x, y):
        n = 0
        while x < y:
            x, n = x * 2, n + 1
        return n

    made = weft.vectorize(steps)
    with pytest.raises(SignatureError, match="has not been compiled"):
        made.report()
    with pytest.raises(SignatureError, match="2 numbers"):
        made.report("float64(float64)")
    asked = str(made.report("int64(float64, float64)"))
    assert asked.startswith("steps\n") and "loop diverges" in asked and "contiguous" in asked
    made(np.ones(3), np.full(3, 9.0))
    assert str(made.report()) == asked
    assert [remark.kind.value for remark in made.remarks][:1] == ["vectorized"]


@weft.jit(fastmath=True)
def _sums_of_rows(a, out):
    for i in prange(a.shape[0]):
        total = 0.0
        for k in range(30):
            total += a[i, k]
        out[i] = total


@weft.jit
def _sums_of_short_rows(a, out):
    for i in prange(a.shape[0]):
        total = 0.0
        for k in range(5):
            total += a[i, k]
        out[i] = total


@weft.jit
def _chains_of_rows(a, out):
    for i in prange(a.shape[0]):
        total = 0.5
        last = 0.5
        for k in range(30):
            following = total + last * a[i, k]
            last = a[i, k] - total
            total = following
        out[i] = total


def test_inner_loops_along_rows_are_left_to_llvm_where_it_vectorizes_them() -> None:
    """It does not where an iteration needs what the last one found, where sums keep their order, nor of a few."""
    a, out = np.random.default_rng(3).random((40, 30)), np.zeros(40)
    _sums_of_rows(a, out)
    assert "along rows" in _sums_of_rows.remarks[0].message and np.allclose(out, a.sum(axis=1))
    in_order = weft.jit(_sums_of_rows.py_func)
    in_order(a, out)
    assert not any("along rows" in r.message for r in in_order.remarks) and np.allclose(out, a.sum(axis=1))
    _sums_of_short_rows(a, out)
    assert not any("along rows" in r.message for r in _sums_of_short_rows.remarks)
    assert np.allclose(out, a[:, :5].sum(axis=1))
    _chains_of_rows(a, out)
    assert not any("along rows" in r.message for r in _chains_of_rows.remarks)
    total = last = np.full(40, 0.5)
    for k in range(30):
        total, last = total + last * a[:, k], a[:, k] - total
    assert np.allclose(out, total)

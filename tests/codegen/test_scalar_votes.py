"""Votes on comparisons whose ends decide are made of scalars, and give what vectors give."""

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from loops.python_doors import functions
from pairs import pairs
from weft import cuda
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.machine.targets import AVX2, AVX512
from weft.options import CompileOptions, Timings
from weft.target.machine import TargetSpec

THREADS = 40

CONDITIONS = (
    "t < a",
    "a > t",
    "t >= a",
    "not t < a",
    "t == a",
    "t != a",
    "not t != a",
    "a - t > b",
    "t + b < a",
    "t + b >= a",
    "20 - t <= a",
    "20 - t == a",
    "3 * t < a",
    "3 * t == a",
    "t < a and b < 3",
    "b < 3 and t >= a",
    "t < a and t > b",
    "t < a or b < 3",
    "t < a or t > b",
    "b == 2 or not t < a",
    "t + a < 0",
    "t - a >= 0",
    "not a - t < 0",
    "3 * t + a >= 0",
    "b < 3 and 7 * t + a < 0",
)

AT_ONCE = 5
"""Conditions of a kernel."""


def kernel_of(conditions: Sequence[str], type: type[np.integer]) -> Callable[..., None]:
    """A kernel that counts up where a condition holds, and down where it does not, in a row for each."""
    lines = [
        f"    if {condition}:\n        out[{k}, i] += 1\n    else:\n        out[{k}, i] -= t + 1"
        for k, condition in enumerate(conditions)
    ]
    head = "import numpy as np\nfrom weft import cuda\n\ndef kernel(a, b, out):\n    i = cuda.grid(1)"
    text = "\n".join([head, f"    t = np.{type.__name__}(cuda.threadIdx.x)", *lines]) + "\n"
    return functions(text, f"<votes {type.__name__} {conditions[0]}>")["kernel"]


def ends(type: type[np.integer]) -> list[tuple[int, int]]:
    """Numbers between which and beside which threads are, and such near the ends of the type."""
    info = np.iinfo(type)
    near = [(a, b) for a in (-1, 0, 1, 7, 8, 15, 16, 40, 79, 80) for b in (2, 5)]
    far = [(a, b) for a in (3, info.max - 9, info.min + 9) for b in (info.max - 20, info.min + 20)]
    return [(a, b) for a, b in near + far if info.min <= a <= info.max]


@pytest.mark.spread
@pytest.mark.parametrize(
    ("first", "type", "width"),
    pairs(
        range(0, len(CONDITIONS), AT_ONCE),
        (np.int64, np.uint32, np.int8, np.uint64),
        (4, 8, 16),
    ),
)
def test_lane_groups_go_where_their_threads_go(first: int, type: type[np.integer], width: int) -> None:
    conditions = CONDITIONS[first : first + AT_ONCE]
    compiled = cuda.jit(kernel_of(conditions, type), width=width, boscc="on")
    threads = [type(t) for t in range(THREADS)]
    for a, b in ends(type):
        out = np.zeros((AT_ONCE, 2 * THREADS), type)
        compiled[2, THREADS](type(a), type(b), out)
        for row, condition in zip(out, conditions, strict=True):
            with np.errstate(over="ignore"):
                holds = [eval(condition, {"t": t, "a": type(a), "b": type(b)}) for t in threads]
            wanted = np.array([1 if taken else -int(t) - 1 for t, taken in zip(threads, holds, strict=True)])
            np.testing.assert_array_equal(row, np.tile(wanted.astype(type), 2), f"{condition} {a, b}")


ORDERED = ("t < a", "a >= t", "t >= a", "20 - t <= a", "3 * t < a")


@pytest.mark.parametrize("type", [np.int64, np.uint64])
def test_lanes_of_several_registers_are_compared_with_how_far_the_bound_is(
    type: type[np.integer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    kernel = kernel_of(ORDERED, type)
    types = (typeof(type(1)), typeof(type(1)), typeof(np.zeros((1, 1), type)))
    options = CompileOptions(width=16, boscc="off")
    text = lower(kernel, types, options, Timings(), TargetSpec.of_isa(AVX2))[0].text
    assert "sub.sat.i64" in text
    compiled = cuda.jit(kernel, width=16, boscc="off")
    threads = [type(t) for t in range(THREADS)]
    for a, b in ends(type):
        out = np.zeros((len(ORDERED), THREADS), type)
        compiled[1, THREADS](type(a), type(b), out)
        for row, condition in zip(out, ORDERED, strict=True):
            with np.errstate(over="ignore"):
                holds = [eval(condition, {"t": t, "a": type(a)}) for t in threads]
            wanted = [1 if taken else -int(t) - 1 for t, taken in zip(threads, holds, strict=True)]
            np.testing.assert_array_equal(row, np.array(wanted).astype(type), f"{condition} {a}")


def flat_stencil(u, w, out):
    x, y = cuda.grid(2)
    if 1 <= x < w - 1 and y > 0:
        i = y * w + x
        out[i] = u[i - 1] + u[i + 1] + u[i - w]


def test_lane_groups_at_no_edge_are_asked_for_by_scalars() -> None:
    kernel = cuda.jit(flat_stencil, width=8)
    u, out = np.arange(400, dtype=np.float32), np.zeros(400, np.float32)
    kernel[(1, 10), (40, 1)](u, 40, out)
    wanted = np.zeros((10, 40), np.float32)
    rows = u.reshape(10, 40)
    wanted[1:, 1:-1] = rows[1:, :-2] + rows[1:, 2:] + rows[:-1, 1:-1]
    np.testing.assert_array_equal(out.reshape(10, 40), wanted)
    types = (typeof(u), typeof(1), typeof(out))
    spec = TargetSpec.of_isa(AVX512)
    text = lower(flat_stencil, types, CompileOptions(width=8), Timings(), spec)[0].text
    whole = re.search(r"^define [^\n]*@flat_stencil\.w8\(.*?^}", text, re.DOTALL | re.MULTILINE)
    assert whole is not None
    # Lane groups ask in rows where some index may count from the end.
    question = whole[0][whole[0].index("asked:") : whole[0].index("edge:")]
    assert "icmp slt i64" in question
    assert "bitcast <8 x i1>" not in question


def below_an_end(out, u, w):
    """Indices of rows that wrap around, of which some count from the end."""
    i = w * cuda.blockIdx.x + cuda.threadIdx.x
    out[cuda.grid(1)] = u[i] + u[i + 1]


@pytest.mark.parametrize("width", [4, 8, 16])
def test_lane_groups_across_the_first_element_are_at_an_edge(width: int) -> None:
    u = np.arange(100, dtype=np.float32)
    for step in (-3, -9, -16, -20, 5):
        out = np.zeros(120, np.float32)
        cuda.jit(below_an_end, width=width)[3, 40](out, u, step)
        i = np.arange(3)[:, None] * step + np.arange(40)
        np.testing.assert_array_equal(out.reshape(3, 40), u[i] + u[i + 1])


def halve(values, sums):
    partial = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    partial[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if t < width:
            partial[t] += partial[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


@pytest.mark.parametrize("threads", [1, 2, 8, 32, 64, 256])
def test_halves_of_a_work_group_are_added(threads: int) -> None:
    values = np.random.default_rng(threads).integers(-99, 99, 5 * threads).astype(np.float32)
    sums = np.zeros(5, np.float32)
    cuda.jit(halve)[5, threads](values, sums)
    np.testing.assert_array_equal(sums, values.reshape(5, threads).sum(1))


def test_code_says_that_lane_groups_none_of_whose_threads_add_are_skipped() -> None:
    values, sums = np.ones(256, np.float32), np.zeros(1, np.float32)
    compiled = cuda.jit(halve, width=16)
    compiled[1, 256](values, sums)
    line = halve.__code__.co_firstlineno + 7
    skipped = [r for r in compiled.remarks if "is skipped by lane groups" in r.message]
    assert line in [r.span.line for r in skipped if r.span is not None]

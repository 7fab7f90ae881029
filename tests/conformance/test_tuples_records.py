"""Tuples, named tuples and structured dtypes: as values, as arguments, in arrays."""

from typing import NamedTuple

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, given, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()


class Plane(NamedTuple):
    """A line in the plane: the argument type of some kernels."""

    slope: float
    offset: int


class Grid(NamedTuple):
    """Two arrays and where they begin."""

    values: np.ndarray
    weights: np.ndarray
    origin: tuple[int, int]


PARTICLE = np.dtype([("x", np.float32), ("y", np.float32), ("mass", np.float64), ("kind", np.int32)])
PACKED = np.dtype([("tag", np.uint8), ("value", np.int64), ("flag", np.bool_), ("half", np.float32)])
ALIGNED = np.dtype([("tag", np.uint8), ("value", np.int64)], align=True)
NESTED = np.dtype([("lo", np.int16), ("pair", np.float64, (2,))])


def particles(rng, dtype=PARTICLE):
    table = np.zeros(48, dtype)
    for name in dtype.names:
        table[name] = rng.integers(0, 50, table[name].shape)
    return table


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def build_and_index(out, x):
    i = cuda.grid(1)
    if i < out.size:
        t = (x[i], i, 7)
        out[i] = t[0] * 100 + t[1] * 10 + t[2] + t[-1] + len(t)


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def unpack_nested(out, x):
    i = cuda.grid(1)
    if i < out.size:
        (a, b), c = (x[i], 2), (3, 4)
        d, e = c
        out[i] = a * b + d * e


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def tuple_assigned_in_branches(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 50:  # noqa: SIM108
            t = (x[i], 1)
        else:
            t = (0, x[i])
        out[i] = t[0] * 1000 + t[1]


@cases.kernel(to_out(np.int64, given((3, 4, 5))))
def tuple_argument(out, t):
    i = cuda.grid(1)
    if i < out.size:
        a, b, c = t
        out[i] = a * 100 + b * 10 + c + t[1] * i + len(t)


@cases.kernel(lambda rng: ((np.ones(48, np.int64), small(rng, np.int64)), 2.5))
def tuple_of_arrays_as_argument(pair, scale):
    i = cuda.grid(1)
    out, x = pair
    if i < out.size:
        out[i] = int(x[i] * scale)


@cases.kernel(to_out(np.float64, of(floats, np.float64), given(Plane(0.5, 3))))
def named_tuple_argument(out, x, plane):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = plane.slope * x[i] + plane.offset + plane[1]


@cases.kernel(
    lambda rng: (np.ones((6, 8)), Grid(floats(rng, np.float64, (6, 8)), small(rng, np.float64, 8), (2, 1)))
)
def named_tuple_of_arrays(out, g):
    i = cuda.grid(1)
    if i < out.size:
        r, c = i // 8, i % 8
        if r >= g.origin[0] and c >= g.origin[1]:
            out[r, c] = g.values[r, c] * g.weights[c]


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def named_tuple_built_in_the_kernel(out, x):
    i = cuda.grid(1)
    if i < out.size:
        p = Plane(x[i], i)
        out[i] = p.slope * 2.0 + p.offset


@cases.kernel(lambda rng: (particles(rng),))
def fields_read_and_written(table):
    i = cuda.grid(1)
    if i < table.size:
        table[i].x += np.float32(1.5)
        table[i].y = table[i].x * table[i].y
        table[i].mass = table[i].mass + table[i].kind
        table[i].kind = i


@cases.kernel(lambda rng: (particles(rng),))
def fields_by_name_in_brackets(table):
    i = cuda.grid(1)
    if i < table.size:
        table[i]["mass"] = table[i]["kind"] * 2.0
        table[i]["kind"] -= 1


@cases.kernel(lambda rng: (particles(rng), particles(rng)))
def record_variable(out, table):
    i = cuda.grid(1)
    if i < table.size:
        p = table[(i + 5) % table.size]
        q = out[i]
        q.x = p.y
        q.mass = p.mass + p.x


@cases.kernel(lambda rng: (np.ones(48, PACKED), particles(rng, PACKED)))
def packed_record(out, table):
    i = cuda.grid(1)
    if i < table.size:
        out[i].tag = table[i].tag + 1
        out[i].value = table[i].value * 1000000007
        out[i].flag = not table[i].flag
        out[i].half = table[i].half / 2


@cases.kernel(lambda rng: (np.zeros(48, ALIGNED), particles(rng, ALIGNED)))
def aligned_record(out, table):
    i = cuda.grid(1)
    if i < table.size:
        out[i].value = table[i].value + table[i].tag
        out[i].tag = 200


@cases.kernel(lambda rng: (particles(rng).reshape(6, 8), np.ones(8)))
def matrix_of_records(table, sums):
    i = cuda.grid(1)
    if i < sums.size:
        s = 0.0
        for r in range(table.shape[0]):
            s += table[r, i].mass
            table[r, i].kind += r
        sums[i] = s


@cases.kernel(lambda rng: (np.ones(48, PARTICLE)[::2], particles(rng)[1::2]))
def strided_records(out, table):
    i = cuda.grid(1)
    if i < table.size:
        out[i].x = table[i].x
        out[i].kind = table[i].kind + 1


@cases.kernel(lambda rng: (np.ones(48), particles(rng, NESTED)))
def array_field(out, table):
    i = cuda.grid(1)
    if i < table.size:
        out[i] = table[i].pair[0] * 100 + table[i].pair[1] + table[i].lo


@cases.kernel(lambda rng: (particles(rng), particles(rng)))
def whole_record_copied(out, table):
    i = cuda.grid(1)
    if i < table.size:
        out[table.size - 1 - i] = table[i]


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

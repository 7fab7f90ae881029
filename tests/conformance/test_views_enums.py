"""Arrays in other shapes and by their parts, loops point by point, members of enumerations, `isinstance`."""

import enum

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()


@cases.kernel(to_out(np.int32, of(small, np.int32, size=(6, 8)), size=48))
def reshaped(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a, b, c = x.reshape(4, 12), x.reshape((2, -1, 4)), np.reshape(x, -1)
        out[i] = a[i // 12, i % 12] * 3 + b[i // 24, i // 4 % 6, i % 4] - c[i] + x.ravel()[i]


@cases.kernel(lambda rng: (np.ones(48, np.int32), small(rng, np.int32, 48)[::-2]))
def reshaped_with_a_step(out, x):
    i = cuda.grid(1)
    if i < 24:
        out[i] = x.reshape(4, 6)[i % 4, i // 4]


@cases.kernel(lambda rng: (np.ones((16, 3), np.float32), floats(rng, np.float32, (16, 12))), threads=16)
def point_by_point(out, x):
    i = cuda.grid(1)
    if i < out.shape[0]:
        row = x[i].reshape(3, 4)
        for r, c in np.ndindex(3, 4):
            if c == 3:
                continue
            out[i, r] += row[r, c]
        for (r, c), v in np.ndenumerate(row.T):
            if v > 2:
                break
            out[i, c] -= v * r
        for v in row.flat:
            out[i, 0] += v
        for n, v in enumerate(row.T.flat):
            out[i, 1] += v * n


@cases.kernel(lambda rng: (np.ones(48, np.complex64), small(rng, np.int32, 48)))
def parts_of_complex_arrays(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out.real[i] = x[i]
        out.imag[i] += out.real[i] * 2


POINT = np.dtype([("x", np.float32), ("n", np.int16, (2, 3)), ("z", np.complex128)], align=True)


def expected_fields(out, x, block):
    out["x"], out["z"], out["n"] = x, x * 1j, block
    out["n"][:, 1, 2], out["n"][:, 0] = 5, 7
    out["z"].real = out["x"] + 7


@cases.kernel(
    lambda rng: (np.zeros(48, POINT), small(rng, np.int32, 48), np.ones((2, 3), np.int16)),
    expect=expected_fields,
)
def fields_of_arrays_of_records(out, x, block):
    i = cuda.grid(1)
    if i < out.size:
        out.x[i] = x[i]
        out["z"][i] = x[i] * 1j
        out[i].n = block
        out["n"][i, 1, 2] = 5
        out[i]["n"][0] = 7
        out.z.real[i] = out[i]["x"] + out.n[i, 0, 1]


@cases.kernel(
    lambda rng: (np.ones((2, 24), np.int32), small(rng, np.int32, (4, 6)), -1, (-1, 8)),
    expect=lambda out, x, n, shape: np.copyto(out, [x.ravel(), x.ravel() * 2]),
)
def reshaped_to_what_the_caller_says(out, x, n, shape):
    i = cuda.grid(1)
    if i < x.size:
        line, block = x.reshape(n), x.reshape(shape)
        out[0, i] = line[i]
        out[1, i] = block[i // 8, i % 8] * 2 + (block.shape[0] - 3)


@cases.kernel(
    lambda rng: (np.ones((2, 48), np.float32), floats(rng, np.float32, (2, 24))),
    expect=lambda out, x: np.copyto(out, np.vstack([x.ravel(), x.ravel() + 1])),
)
def accesses_with_cache_hints(out, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.stcg(out, (0, i), cuda.ldca(x, (i // 24, i % 24)))
        cuda.stwt(out, (1, i), cuda.ldcs(out, (0, i)) + 1)


@cases.kernel(
    lambda rng: (np.ones((10, 48), np.int64), small(rng, np.int32, 48)),
    expect=lambda out, x: np.copyto(
        out,
        [
            np.abs(x - 3) + 5, x.astype(np.int64) * 70000 * 100000 >> 32, (x + 7) >> 1, np.maximum(x, 2), x == 2,
            x % 2 == 0, np.ones_like(x), np.full_like(x, 5), np.sign(x), x * 4,
        ],
    ),
)  # fmt: skip
def libdevice_by_name(out, x):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[0, i] = cuda.libdevice.sad(v, 3, 5)
        out[1, i] = cuda.libdevice.mulhi(v * 70000, 100000)
        out[2, i] = cuda.libdevice.hadd(v, 7)
        out[3, i] = cuda.libdevice.max(v, 2)
        out[4, i] = v is x[i] and v == 2
        out[5, i] = (v % 2 == 0) is True
        part, power = cuda.libdevice.frexp(0.5)
        out[6, i] = cuda.libdevice.floorf(1.75) + power * part
        out[7, i] = cuda.libdevice.sqrt(16.0) + cuda.libdevice.copysignf(1.0, 2.0)
        out[8, i] = cuda.libdevice.copysign(1.0, v) if v != 0 else 0
        out[9, i] = cuda.libdevice.ldexp(1.0 * v, 2)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 4


class Status(enum.IntEnum):
    FINE = 200
    MISSING = 404


def colour_of(v):
    return Colour.RED if v < 0 else Colour["BLUE"]


@cases.kernel(
    lambda rng: (np.ones((48, 5), np.int32), small(rng, np.int32, 48), Colour.BLUE, Status.MISSING),
    threads=48,
)
def enumerations(out, x, given, status):
    i = cuda.grid(1)
    if i < out.shape[0]:
        chosen = colour_of(x[i])
        out[i, 0] = chosen.value
        out[i, 1] = (chosen == given) + 2 * (chosen is Colour.GREEN) + 4 * (chosen != Colour.RED)
        for colour in Colour:
            if colour is chosen:
                out[i, 2] = colour.value * 10
        out[i, 3] = Status.FINE + (status == Status["MISSING"]) + Colour(2).value
        out[i, 4] = (Colour.RED == Status.FINE) + 2 * (given is not chosen)


@cases.kernel(to_out(np.int32, of(small, np.int32), size=48), expect=lambda out, x: out.fill(3))
def kinds_of_values(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = isinstance(x, np.ndarray) + 2 * isinstance((i, x), tuple)
        if isinstance(x, (int, float)):
            out[i] = x.no_such_attribute


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

"""Array access: dimensions, strides, views, slices, transposes, negative indices, attributes."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()


@cases.kernel(to_out(np.float32, of(floats, np.float32, size=(6, 8)), size=(6, 8)))
def two_dimensions(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r, c = i // 8, i % 8
        out[r, c] = x[r, c] * 2


@cases.kernel(to_out(np.int32, of(small, np.int32, size=(3, 4, 4)), size=(3, 4, 4)))
def three_dimensions(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a, b, c = i // 16, (i // 4) % 4, i % 4
        out[a, b, c] = x[a, c, b] - x[2 - a, b, c]


@cases.kernel(to_out(np.int32, of(small, np.int32, size=(9, 7)), size=(9, 7)), grid=(3, 4), block=(3, 2))
def two_dimensional_grid(out, x):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = x[r, c] * 10 + r - c


@cases.kernel(to_out(np.int32, size=(4, 5, 6)), grid=(2, 3, 2), block=(3, 2, 2))
def three_dimensional_grid(out):
    x, y, z = cuda.grid(3)
    if z < out.shape[0] and y < out.shape[1] and x < out.shape[2]:
        out[z, y, x] = x + 10 * y + 100 * z


@cases.kernel(lambda rng: (np.ones(96, np.int32)[::2], small(rng, np.int32, 144)[::3]))
def strided_vectors(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 1


@cases.kernel(lambda rng: (np.ones(48, np.int16), small(rng, np.int16, 48)[::-1]))
def reversed_vector(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cases.kernel(lambda rng: (np.ones((6, 8), np.float64), floats(rng, np.float64, (8, 6)).T))
def fortran_order(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r, c = i // 8, i % 8
        out[r, c] = x[r, c]


@cases.kernel(
    lambda rng: (np.ones((12, 16), np.int32)[::2, 1::2], small(rng, np.int32, (12, 16))[1::2, ::-2])
)
def strided_matrices(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r, c = i // 8, i % 8
        out[r, c] = x[r, c] * 3


@cases.kernel(lambda rng: (np.ones((4, 12), np.int64), np.broadcast_to(small(rng, np.int64, 12), (4, 12))))
def broadcast_input(out, x):
    i = cuda.grid(1)
    if i < out.size:
        r, c = i // 12, i % 12
        out[r, c] = x[r, c] + r


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def negative_constant_indices(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[-1] * 100 + x[-3]


@cases.kernel(to_out(np.int64, of(small, np.int64), of(small, np.int64, low=-48, high=48)))
def negative_varying_indices(out, x, index):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(6, 8)), size=(6, 8)))
def negative_indices_in_two_dimensions(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i // 8, i % 8] = x[-1 - i // 8, -1 - i % 8]


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def store_at_a_negative_index(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[-1 - i] = x[i]


def gather(out, x, index):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]


for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.uint64):
    cases.add(
        gather,
        to_out(np.float32, of(floats, np.float32), of(small, dtype, high=48)),
        f"index_of_type_{dtype.__name__}",
    )


@cases.kernel(to_out(np.float32, of(floats, np.float32), lambda rng: rng.permutation(48).astype(np.int32)))
def scatter(out, x, index):
    i = cuda.grid(1)
    if i < out.size:
        out[index[i]] = x[i]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(3, 4, 5)), size=8))
def attributes(out, x):
    i = cuda.grid(1)
    if i == 0:
        out[0] = x.size
        out[1] = x.ndim
        out[2] = x.shape[0]
        out[3] = x.shape[1]
        out[4] = x.shape[-1]
        out[5] = len(x)
        out[6] = len(x[0])
        out[7] = x[1].size


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(6, 8)), size=48))
def shape_unpacked(out, x):
    i = cuda.grid(1)
    rows, columns = x.shape
    if i < rows * columns:
        out[i] = x[i // columns, i % columns]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(8, 6)), size=(6, 8)))
def transposed_view(out, x):
    i = cuda.grid(1)
    if i < out.size:
        t = x.T
        out[i // 8, i % 8] = t[i // 8, i % 8] + x.T[0, 0] + t.shape[0]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(8, 6)), size=(6, 8)))
def store_through_a_transpose(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out.T[i // 6, i % 6] = x[i // 6, i % 6]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(6, 8)), size=(6, 8)))
def row_view(out, x):
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        target = out[i]
        for c in range(len(row)):
            target[c] = row[c] + row[-1]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(3, 4, 5)), size=(3, 4, 5)))
def views_of_views(out, x):
    i = cuda.grid(1)
    if i < 12:
        plane = x[i // 4]
        row = plane[i % 4]
        for c in range(row.size):
            out[i // 4][i % 4][c] = row[c] + plane[0, c]


@cases.kernel(to_out(np.int64, of(small, np.int64), size=12))
def slice_with_bounds(out, x):
    i = cuda.grid(1)
    if i < out.size:
        part = x[4 * i : 4 * i + 4]
        s = 0
        for k in range(part.size):
            s = s * 7 + part[k]
        out[i] = s


@cases.kernel(to_out(np.int64, of(small, np.int64), size=(8, 48)))
def slices_of_every_form(out, x):
    i = cuda.grid(1)
    if i == 0:
        out[0, 0] = x[:5].size
        out[1, 0] = x[40:].size
        out[2, 0] = x[-3:][0]
        out[3, 0] = x[:-40].size
        out[4, 0] = x[30:100].size
        out[5, 0] = x[20:10].size
        out[6, 0] = x[:][47]
        out[7, 0] = x[10:20][3]


@cases.kernel(to_out(np.int64, of(small, np.int64), size=16))
def slice_with_a_step(out, x):
    i = cuda.grid(1)
    if i < out.size:
        every_third = x[1::3]
        out[i] = every_third[i] * 100 + every_third.size


@cases.kernel(to_out(np.int64, of(small, np.int64), size=48))
def slice_with_a_negative_step(out, x):
    i = cuda.grid(1)
    if i < out.size:
        backwards = x[::-1]
        out[i] = backwards[i]


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(6, 8)), size=8))
def column_view(out, x):
    i = cuda.grid(1)
    if i < out.size:
        column = x[:, i]
        s = 0
        for r in range(column.size):
            s = s * 3 + column[r]
        out[i] = s


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(6, 8)), size=(2, 4)))
def window_of_a_matrix(out, x):
    i = cuda.grid(1)
    if i < out.size:
        window = x[2:4, 3:7]
        out[i // 4, i % 4] = window[i // 4, i % 4] + window.shape[0] * 1000 + window.shape[1] * 100


@cases.kernel(to_out(np.int64, of(small, np.int64, size=(4, 5, 6)), size=(4, 6)))
def slice_and_index_mixed(out, x):
    i = cuda.grid(1)
    if i < out.size:
        sheet = x[:, 2, :]
        out[i // 6, i % 6] = sheet[i // 6, i % 6]


@cases.kernel(to_out(np.int32, of(small, np.int32)))
def augmented_store(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += x[i]
        out[i] *= 3
        out[i] -= 1
        out[i] //= 2
        out[i] ^= 5


@cases.kernel(to_out(np.float32, of(floats, np.float32)))
def copy_within_neighbours(out, x):
    i = cuda.grid(1)
    if 0 < i < out.size - 1:
        out[i] = (x[i - 1] + x[i]) + x[i + 1]


@cases.kernel(
    to_out(np.float32, of(floats, np.float32, size=(10, 10)), size=(10, 10)), grid=(2, 3), block=(8, 4)
)
def five_point_stencil(out, x):
    c, r = cuda.grid(2)
    if 1 <= r < x.shape[0] - 1 and 1 <= c < x.shape[1] - 1:
        out[r, c] = x[r, c] * 4 - x[r - 1, c] - x[r + 1, c] - x[r, c - 1] - x[r, c + 1]


@cases.kernel(lambda rng: (np.zeros(0, np.float32), np.ones(3, np.int32)))
def empty_array(x, out):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 1
    elif i < out.size:
        out[i] = len(x)


@cases.kernel(lambda rng: (np.ones(1, np.int64), np.arange(5)))
def one_thread_walks_the_array(out, x):
    if cuda.grid(1) == 0:
        s = 0
        for k in range(x.size):
            s += x[k] * x[k]
        out[0] = s


@cases.kernel(lambda rng: (np.frombuffer(bytearray(99), np.uint8)[1:97].view(np.int16), small(rng, np.int16)))
def unaligned_array(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cases.kernel(to_out(np.float64, of(floats, np.float64, size=(4, 12)), size=(4, 12)))
def arrays_by_dtype(out, x):
    i = cuda.grid(1)
    if i < 4:
        sums = cuda.local.array(3, x.dtype)
        for k in range(3):
            sums[k] = 0
        for c in range(12):
            sums[c % 3] += x[i, c]
        for c in range(12):
            out[i, c] = sums[c % 3]


@cases.kernel(lambda rng: (np.ones((5, 9), np.bool_), small(rng, np.uint8, (5, 9), high=3)))
def boolean_array(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i // 9, i % 9] = x[i // 9, i % 9] == 1


@cases.kernel(to_out(np.int16, of(small, np.int16, size=(24, 5)), size=24))
def extremes_of_rows(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(x[i]) * 10 + min(x[i, ::2])


@cases.kernel(lambda rng: (np.ones(6, np.float32), rng.choice(np.float32([np.nan, -0.0, 0.0, 1]), (6, 4))))
def extremes_with_nan(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(x[i]) - min(x[i])


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

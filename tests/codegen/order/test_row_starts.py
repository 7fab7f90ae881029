"""Lane groups begin with a row's first thread where the kernel needs no more of a position than what neighbours add."""

import numpy as np
import pytest

from codegen.kernels import kernel_text
from weft import cuda
from weft.codegen.order.row_starts import may_begin_anywhere
from weft.ir.reader import read_module
from weft.transform.groups.work_items import WorkItems, lower_work_items

FROM_THE_END = """
  %x = add i64 %tid, %n
  %negative = icmp slt i64 %x, 0
  %more = select i1 %negative, i64 100, i64 0
  %index = add i64 %x, %more
  %p = getelementptr float, ptr %in, i64 %index
  %v = load float, ptr %p
  %q = getelementptr float, ptr %out, i64 %tid
  store float %v, ptr %q
"""


def begins_anywhere(body: str) -> bool:
    module = read_module(kernel_text(body))
    kernel = module.functions["kernel"]
    lower_work_items(module, kernel)
    return may_begin_anywhere(kernel, WorkItems.of(kernel).tid[0])


def test_indices_may_count_from_the_end() -> None:
    assert begins_anywhere(FROM_THE_END)
    assert not begins_anywhere(FROM_THE_END.replace("slt i64 %x, 0", "slt i64 %x, 8"))
    assert not begins_anywhere(FROM_THE_END.replace("add i64 %tid, %n", "xor i64 %tid, 1"))


def flat(x, out, w, shift):
    i, j = cuda.grid(2)
    if i >= 1 and i < w - 1 and j >= 1 and j < w - 1:
        c = j * w + i + shift
        out[c] = x[c - 1] + x[c + 1] + x[c - w] + x[c + w]


@pytest.mark.parametrize("width", [None, 4, 8, 16])
def test_stencils_at_flat_indices_do_what_they_did(width: int | None) -> None:
    kernel = cuda.jit(flat, **({} if width is None else {"width": width}))
    for w in (3, 18, 19, 50):
        x = np.random.default_rng(w).random(w * w).astype(np.float32)
        for shift in (0, -w * (w // 2)):
            out, wanted = np.zeros_like(x), np.zeros_like(x)
            kernel[(-(-w // 16), w), (16, 1)](x, out, w, shift)
            c = (np.arange(1, w - 1)[:, None] * w + np.arange(1, w - 1) + shift).ravel()
            wanted[c] = ((x[c - 1] + x[c + 1]) + x[c - w]) + x[c + w]
            np.testing.assert_array_equal(out, wanted)


@cuda.jit
def count_in_order(counts, width):
    x, y = cuda.grid(2)
    if x < width:
        cuda.atomic.add(counts, y * width + x - 1, 1)


def test_kernels_without_loads_and_stores_have_ends_of_rows() -> None:
    counts = np.zeros(400)
    count_in_order[(1, 10), (40, 1)](counts, 40)
    assert (counts == 1).all()

"""Work-groups that have loads in common run in strips of the grid, and each runs once."""

import numpy as np
import pytest

from weft import cuda, opencl
from weft.codegen.order.group_order import common_loads
from weft.ir.reader import read_module
from weft.transform.groups.work_items import lower_work_items

TILE = 8


def product(a, b, c, runs):
    tile_a = cuda.shared.array((TILE, TILE), dtype=np.float32)
    tile_b = cuda.shared.array((TILE, TILE), dtype=np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    column, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[z, row, column] = total
    if tx == 0 and ty == 0:
        cuda.atomic.add(runs, (z, cuda.blockIdx.y, cuda.blockIdx.x), 1)


def launched(kernel, columns: int, rows: int, planes: int) -> None:
    rng = np.random.default_rng(columns)
    a = rng.integers(-3, 4, (rows * TILE, TILE)).astype(np.float32)
    b = rng.integers(-3, 4, (TILE, columns * TILE)).astype(np.float32)
    c = np.zeros((planes, rows * TILE, columns * TILE), np.float32)
    runs = np.zeros((planes, rows, columns), np.int32)
    kernel[(columns, rows, planes), (TILE, TILE)](a, b, c, runs)
    assert (runs == 1).all()
    assert (c == a @ b).all()


def remarks_of(kernel) -> list[str]:
    return [r.message for r in kernel.remarks if "strips" in r.message]


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 4, 2), (16, 3, 1), (17, 2, 1), (35, 3, 2), (40, 1, 1)])
def test_each_group_runs_once(grid: tuple[int, int, int]) -> None:
    kernel = cuda.jit(product)
    launched(kernel, *grid)


def test_a_remark_says_what_groups_have_in_common() -> None:
    kernel = cuda.jit(product)
    launched(kernel, 2, 2, 1)
    assert ["of a column" in m for m in remarks_of(kernel)] == [True, False]
    without = cuda.jit(without=("group-order",))(product)
    launched(without, 2, 2, 1)
    assert not remarks_of(without)


OPENCL = """
__kernel void products(__global const float *a, __global const float *b, __global float *c, int n)
{
    int column = get_group_id(0), row = get_group_id(1), t = get_local_id(0);
    __local float sums[32];
    float sum = 0;
    for (int k = t; k < n; k += 32)
        sum += a[row * n + k] * b[column * n + k];
    sums[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0) {
        float total = 0;
        for (int k = 0; k < 32; k++)
            total += sums[k];
        c[row * get_num_groups(0) + column] += total;
    }
}
"""


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (5, 3), (9, 2), (4, 4)])
def test_groups_of_opencl_run_once(columns: int, rows: int) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (m, 40)).astype(np.float32) for m in (rows, columns))
    c = np.ones((rows, columns), np.float32)
    kernel = opencl.Program(OPENCL).products
    kernel((32 * columns, rows), (32, 1), a, b, c, 40)
    assert (c == 1 + a @ b.T).all()
    assert len(remarks_of(kernel)) == 2


KERNEL = """
define void @kernel(ptr %a, ptr %b, i64 %n) nounwind "weft.kernel" {
entry:
  %x = call i64 @weft.group.id(i32 0)
  %y = call i64 @weft.group.id(i32 1)
  %t = call i64 @weft.local.id(i32 0)
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %first = add i64 %k, FIRST
  %pa = getelementptr float, ptr %a, i64 %first
  %va = load float, ptr %pa, align 4
  %second = add i64 %k, SECOND
  %pb = getelementptr float, ptr %b, i64 %second
  %vb = load float, ptr %pb, align 4
  %sum = fadd float %va, %vb
  store float %sum, ptr %pb, align 4
  %k1 = add i64 %k, 1
  %on = icmp ult i64 %k1, %n
  br i1 %on, label %loop, label %done
done:
  %both = add i64 %x, %y
  %pc = getelementptr float, ptr %b, i64 %both
  store float 0.0, ptr %pc, align 4
  ret void
}
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
"""


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("%x", "%y", True),
        ("%y", "%x", True),
        ("%x", "%x", False),
        ("%x", "%both", False),
        ("%t", "%y", False),
        ("%x", "7", False),
    ],
)
def test_groups_of_rows_and_of_columns_load_the_same(first: str, second: str, found: bool) -> None:
    text = KERNEL.replace("FIRST", first).replace("SECOND", second)
    if second == "%both":
        text = text.replace(
            "  br label %loop\nloop", "  %both = add i64 %x, %y\n  br label %loop\nloop"
        ).replace("done:\n  %both = add i64 %x, %y\n", "done:\n")
    module = read_module(text)
    kernel = module.functions["kernel"]
    lower_work_items(module, kernel)
    assert (common_loads(kernel) is not None) == found

"""Walks of the grid whose counters C keeps as ``int``: neighbouring threads access neighbours, whatever the door."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl, ptx

SIZE, GROUPS, THREADS = 100_003, 7, 64

OPENCL = """
__kernel void sums(__global const float *values, int size, __global float *sums) {
    __local float partial[64];
    int t = get_local_id(0);
    float total = 0;
    for (int i = get_global_id(0); i < size; i += get_global_size(0)) total += values[i];
    partial[t] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t == 0) {
        for (int k = 1; k < 64; k++) total += partial[k];
        sums[get_group_id(0)] = total;
    }
}
"""
CUDA = """
extern "C" __global__ void sums(const float *values, int size, float *sums) {
    __shared__ float partial[64];
    int t = threadIdx.x;
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) total += values[i];
    partial[t] = total;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 64; k++) total += partial[k];
        sums[blockIdx.x] = total;
    }
}
"""


def by_opencl(values: np.ndarray, sums: np.ndarray) -> Any:
    kernel = opencl.Program(OPENCL, width=8).sums
    kernel(GROUPS * THREADS, THREADS, values, np.int32(SIZE), sums)
    return kernel


def by_cuda_c(values: np.ndarray, sums: np.ndarray) -> Any:
    kernel = cuda.Module(CUDA, width=8).sums
    kernel[GROUPS, THREADS](values, np.int32(SIZE), sums)
    return kernel


def by_ptx(values: np.ndarray, sums: np.ndarray) -> Any:
    kernel = ptx.Module(cuda.Module(CUDA).sums.inspect_ptx(), width=8).sums
    scope = np.zeros(64, np.uint8)
    kernel[GROUPS, THREADS](values, np.int32(SIZE), sums, scope)
    return kernel


@pytest.mark.parametrize("door", [by_opencl, by_cuda_c, by_ptx])
def test_no_lane_gathers(door: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    values = np.random.default_rng(5).integers(0, 9, SIZE).astype(np.float32)
    sums = np.zeros(GROUPS, np.float32)
    kernel = door(values, sums)
    assert sums.sum() == values.sum(dtype=np.float64)
    report = str(kernel.report())
    walked = next(line for line in report.splitlines() if "values[i]" in line and "+=" in line)
    assert "contiguous" in walked and "gather" not in walked


DCT_ROWS = """
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void copied(__global const float *a, int columns, __global float *b) {
    __local float tile[8][8];
    int x = get_local_id(0), y = get_local_id(1);
    int place = get_global_id(1) * columns + get_global_id(0);
    tile[y][x] = a[place];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[place] = tile[y][7 - x];
}
"""


def test_places_of_rows_are_neighbours_in_boxes() -> None:
    a = np.random.default_rng(6).random((32, 48), np.float32)
    b = np.zeros_like(a)
    kernel = opencl.Program(DCT_ROWS).copied
    kernel((48, 32), (8, 8), a, np.int32(48), b)
    assert (b == a.reshape(32, 6, 8)[:, :, ::-1].reshape(32, 48)).all()
    assert not any("turn out to be neighbours" in r.message for r in kernel.specializations()[-1].remarks)


IDS = "__kernel void ids(__global int *out) { int i = get_global_id(0); out[get_group_id(0)] = i < 0 ? -1 : i; }"


@pytest.mark.parametrize("first", [0, (1 << 30) - 1028, (1 << 31) - 4])
def test_ids_of_large_launches_have_what_int_has_room_for(first: int) -> None:
    out = np.zeros(8, np.int32)
    opencl.Program(IDS).ids(8, 1, out, global_offset=first)
    assert out.tolist() == [i if i < 1 << 31 else -1 for i in range(first, first + 8)]

"""Arrays that kernels of C dialects only update are updated in copies: the launcher knows how large they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl, ptx

pytest.importorskip("ziglang")

THREADS = 1 << 15
COUNT = """
{head} void count({space} int *counts, {space} const int *keys, int n) {{
    int i = {index};
    if (i < n) {add}(&counts[keys[i]], 3);
}}
"""
CUDA = COUNT.format(
    head='extern "C" __global__', space="", index="blockIdx.x * blockDim.x + threadIdx.x", add="atomicAdd"
)
OPENCL = COUNT.format(head="kernel", space="global", index="get_global_id(0)", add="atomic_add")
Launch = Callable[..., None]


def by_opencl() -> tuple[Any, Launch]:
    kernel = opencl.Program(OPENCL).count
    return kernel, lambda *args: kernel(THREADS, 64, *args)


def by_cuda_c() -> tuple[Any, Launch]:
    kernel = cuda.Module(CUDA).count
    return kernel, kernel[THREADS // 64, 64]


def by_ptx() -> tuple[Any, Launch]:
    kernel = ptx.Module(cuda.Module(CUDA)["count"].inspect_ptx()).count
    scope = np.zeros(64, np.uint8)
    return kernel, lambda *args: kernel[THREADS // 64, 64](*args, scope)


@pytest.mark.parametrize("door", [by_opencl, by_cuda_c, by_ptx])
def test_copies_are_as_large_as_the_arrays(
    door: Callable[[], tuple[Any, Launch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches by machine code look at the sizes; of parts of arrays what lies beside them may be updated, too."""
    monkeypatch.setenv("WEFT_CHECK", "0")
    kernel, launch = door()
    memory = np.zeros(1000, np.int32)
    counted = (np.zeros(100, np.int32), 0, 100), (memory, 0, 1000), (np.zeros(7, np.int32), 0, 7)
    for counts, low, high in (*counted, (memory[300:400], -300, 700), (memory[:10], 0, 1000), *counted):
        keys = np.random.default_rng(high).integers(low, high, THREADS, np.int32)
        found = memory if counts.base is memory else counts
        for _ in range(3):
            wanted = found + 3 * np.bincount(keys - low, minlength=high - low)
            launch(counts, keys, THREADS)
            np.testing.assert_array_equal(found, wanted)
    assert any("only updates" in remark.message for remark in kernel.remarks)

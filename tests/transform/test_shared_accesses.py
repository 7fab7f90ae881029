"""CUDA C++ casts the addresses of shared variables: accesses there are of shared memory again, and need no locks."""

import numpy as np

from weft import cuda
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.transform.groups.shared_accesses import access_shared

TEXT = """
declare ptr addrspace(3) @weft.shared(i32)
define i32 @f(ptr %a, i64 %k) {
  %own = call ptr addrspace(3) @weft.shared(i32 0)
  %p = addrspacecast ptr addrspace(3) %own to ptr
  %q = getelementptr inbounds i32, ptr %p, i64 %k
  %r = getelementptr i8, ptr %a, i64 %k
  store i32 7, ptr %q, align 4
  %x = atomicrmw add ptr %q, i32 1 monotonic, align 4
  %y = atomicrmw add ptr %r, i32 1 monotonic, align 4
  %s = select i1 true, ptr %q, ptr %r
  %z = load i32, ptr %s, align 4
  ret i32 %z
}
"""
SOURCE = """
extern "C" __global__ void count(const unsigned char *data, int n, int *counts)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256)
        atomicAdd(&own[data[i]], 1);
    __syncthreads();
    counts[threadIdx.x] = own[threadIdx.x];
}
"""


def test_accesses_through_a_cast_are_of_shared_memory() -> None:
    module = read_module(TEXT)
    assert access_shared(module.functions["f"]) == 2
    text = write_module(module)
    assert "store i32 7, ptr addrspace(3)" in text
    assert "atomicrmw add ptr addrspace(3)" in text
    assert "atomicrmw add ptr %r" in text
    assert "load i32, ptr %s" in text


def test_a_histogram_of_a_block_has_no_locks() -> None:
    module = cuda.Module(SOURCE)
    data = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
    counts = np.zeros(256, np.int32)
    module["count"][1, 256](data, 5000, counts)
    assert list(counts) == list(np.bincount(data, minlength=256))
    assert "atomicrmw" not in module["count"].inspect_llvm()

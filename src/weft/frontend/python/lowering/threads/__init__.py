"""What kernels have: ids, shared memory, barriers, warps, atomics."""

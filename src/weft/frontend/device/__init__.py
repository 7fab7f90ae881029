"""What front ends for kernels in C dialects share: OpenCL C and CUDA C, which clang makes LLVM IR of.

`clang` runs the compiler, `flatten` leaves one address space for all but the memory of a group, `arguments`, `memory`,
`primitives` and `printing` make P-LLVM of what a kernel is given and asks for, `metadata` says what its arguments are.
"""

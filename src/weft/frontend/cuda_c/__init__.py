"""CUDA C++: clang makes LLVM IR of its device code, and adoption makes P-LLVM of each kernel.

`weft.frontend.cuda_c.options` reads the options of nvcc that matter, `clang` runs the compiler, for nvptx64 and under
the headers in ``include/`` (CUDA's are not needed), `arguments` reads from debug information what kernels take, and
`adopt` makes one module of each kernel. What CUDA C shares with OpenCL C is in `weft.frontend.device`. Host code in a
file is read, and nothing is made of it.
"""

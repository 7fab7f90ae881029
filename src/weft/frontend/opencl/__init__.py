"""OpenCL C: clang makes LLVM IR of it, the library defines its builtins, and adoption makes P-LLVM of that.

`weft.frontend.opencl.options` reads build options, `clang` runs the compiler and keeps its diagnostics, `library`
(OpenCL C of our own) defines the builtins in terms of a few `primitives`, `flatten` leaves one address space for all
but local memory, and `adopt` makes one module of each kernel, in which primitives are weft's intrinsics.
"""

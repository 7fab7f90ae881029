"""Front doors for those who do not write kernels: parallel loops, elementwise functions, LLVM IR and C.

`weft.loops.llvm_ir` turns functions and loops of LLVM IR into SIMD code.
"""

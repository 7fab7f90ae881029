"""The CUDA-Python dialect: from a Python function to P-LLVM."""

"""Passes from P-LLVM to P-LLVM, one to a file."""

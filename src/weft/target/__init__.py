"""From LLVM IR to machine code through llvmlite."""

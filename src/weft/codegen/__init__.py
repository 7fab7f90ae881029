"""Work-group loops and widening: from control-uniform P-LLVM to plain LLVM IR."""

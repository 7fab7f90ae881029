"""The lock-step interpreter: the semantics of P-LLVM, executable on NumPy lanes."""

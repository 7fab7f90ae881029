"""From PTX to P-LLVM: what a kernel in PTX means, instruction by instruction."""

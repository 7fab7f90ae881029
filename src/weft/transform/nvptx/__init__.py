"""From the P-LLVM of a kernel for one thread to LLVM IR for NVIDIA's GPUs, where hardware has warps and ids."""

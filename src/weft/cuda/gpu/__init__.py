"""``cuda.jit(target="gpu")``: kernels on an NVIDIA GPU, through its driver, where there is one."""

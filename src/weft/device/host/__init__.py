"""What shared libraries for host programs in any language share: the OpenCL driver, and the CUDA runtime.

Such a library is C (``c/`` has what they share), compiled by clang when it is first asked for (`library`). It has no
Python in its host: kernels are compiled by a process of its own (`messages`) that hands them over as shared libraries
(`shared_library`).
"""

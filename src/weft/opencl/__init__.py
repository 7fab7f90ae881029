"""OpenCL C on the CPU, from Python.

>>> from weft import opencl
>>> program = opencl.Program("kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }")

`Program` compiles, its kernels are its attributes, and a call of one launches it. `LocalMemory` stands for a pointer to
local memory, `Image` and `Sampler` for images and samplers. ``docs/opencl.md`` has the language and what is left of it.
"""

from weft.device.images import Image, Sampler
from weft.device.parameters import LocalMemory
from weft.opencl.kernel import Kernel
from weft.opencl.program import Program

__all__ = ["Image", "Kernel", "LocalMemory", "Program", "Sampler"]

"""A cost model of GPUs that watches kernels on the interpreter: warps of 32 threads in lock step.

It counts what hardware would do, and predicts cycles from that. They are a model's cycles, not a GPU's.
"""

from weft.simt.coalescing import Coalescing, LineAccesses
from weft.simt.result import Simulation
from weft.simt.simulate import simulate

__all__ = ["Coalescing", "LineAccesses", "Simulation", "simulate"]

"""The lock-step interpreter: the semantics of P-LLVM, executable on NumPy lanes.

`run_function` runs one function with W threads, `launch` a kernel over a grid; both follow Moll, ch. 4 and 5,
and the semantics settled in docs/design.md. `weft.interp.sanitizer.sanitizer` watches a launch for undefined behaviour.
"""

from weft.interp.execute import Outcome, launch, run_function
from weft.interp.faults import FaultKind
from weft.interp.hooks import Hook
from weft.interp.lanes import POISON, UNDEF, Bundle, Lanes, LaneValue
from weft.interp.memory.memory import Memory
from weft.interp.program import Image, Program
from weft.interp.threads.geometry import Geometry

__all__ = [
    "POISON",
    "UNDEF",
    "Bundle",
    "FaultKind",
    "Geometry",
    "Hook",
    "Image",
    "LaneValue",
    "Lanes",
    "Memory",
    "Outcome",
    "Program",
    "launch",
    "run_function",
]

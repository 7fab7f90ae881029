"""Divergence analysis: what is alike in all threads of a set, and where threads part (Moll ch. 6).

`analyze_divergence` is the way in, `Divergence` what comes out. The thread set is a lane group, a work-group or the
grid (`Scope`); the lattice is any `Domain`.

Precondition: a valid P-LLVM function, before or behind linearization, in any form of loops. A claim about a value is
one about the threads of the set that execute the instruction, at each execution, less those in which the value is
poison. It holds as long as the program is not changed.
"""

from weft.analysis.divergence.api import analyze_divergence, is_kernel, uniform_argument
from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.divergence.result import AccessForm, Divergence, Form
from weft.analysis.divergence.summaries import Summaries
from weft.analysis.divergence.threads import Scope, ThreadSet

__all__ = [
    "AccessForm", "Divergence", "Form", "FunctionFacts", "Scope", "Summaries", "ThreadSet",
    "analyze_divergence", "is_kernel", "uniform_argument",
]  # fmt: skip

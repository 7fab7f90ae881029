"""Divergence analysis: what is alike in all threads of a set, and where threads part (Moll ch. 6).

`analyze_divergence` is the way in, `Divergence` what comes out. The thread set is a lane group, a work-group or the
grid (`Scope`); the lattice is any `Domain`.
"""

from weft.analysis.divergence.api import analyze_divergence, is_kernel
from weft.analysis.divergence.result import AccessForm, Divergence, Form
from weft.analysis.divergence.summaries import Summaries
from weft.analysis.divergence.threads import Scope, ThreadSet

__all__ = [
    "AccessForm", "Divergence", "Form", "Scope", "Summaries", "ThreadSet", "analyze_divergence", "is_kernel",
]  # fmt: skip

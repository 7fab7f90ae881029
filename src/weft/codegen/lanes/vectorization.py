"""What became of a function on its way to SIMD code, for remarks and statistics (Moll, Fig. 13.1)."""

from __future__ import annotations

from msgspec import Struct, field

from weft.codegen.said.statistics import MemoryStatistics
from weft.codegen.widen.widener import WideningNotes
from weft.diag.source import SourceSpan
from weft.ir import Function
from weft.transform.boscc.insertion import Gadget
from weft.transform.linearization.linearize import LinearizationSummary
from weft.transform.loops.loop_shape import LoopSummary
from weft.transform.scalar_replacement.replacement import ReplacementSummary


class VectorizationSummary(Struct):
    """What the passes did to a function.

    Parameters
    ----------
    width
        Lanes it runs at a time.
    alone
        What part of the time of its lanes they are expected to take one after the other, if they run so.
    guessed
        Where loops are that have 32 bits while their numbers fit, and a copy for when they do not.
    narrowed
        How many of its numbers have 32 bits instead of 64.
    small
        How many of them have 8 or 16 bits instead of more.
    together
        Where threads walk by one stack instead of each by its own.
    copied
        Where rows are read that are copied, since threads read them again and again.
    strips
        Where rows of threads' own are accessed a line of the cache at a time.
    aligned
        Whether there is a version for lane groups whose numbers are all of one stretch.
    front
        Whether there is a version for lane groups none of whose indices counts from the end.
    inner
        Whether there is a version for lane groups that are at no edge.
    full_loops
        Where loops are that have a copy for when all lanes stay.
    replacement
        Which loads were replaced by values.
    loops
        What became of its loops.
    gadgets
        Uniform branches that were inserted.
    branches
        What became of its branches.
    notes
        What widening kept scalar, and did lane by lane.
    memory
        How its accesses were widened.
    functions
        The SIMD functions that it has become, for whole lane groups.
    """

    width: int = 0
    alone: float | None = None
    guessed: list[SourceSpan | None] = field(default_factory=list)
    narrowed: int = 0
    small: int = 0
    together: list[SourceSpan | None] = field(default_factory=list)
    copied: list[SourceSpan | None] = field(default_factory=list)
    strips: list[SourceSpan | None] = field(default_factory=list)
    aligned: bool = False
    front: bool = False
    inner: bool = False
    full_loops: list[SourceSpan | None] = field(default_factory=list)
    replacement: ReplacementSummary = field(default_factory=ReplacementSummary)
    loops: list[LoopSummary] = field(default_factory=list)
    gadgets: list[Gadget] = field(default_factory=list)
    branches: LinearizationSummary = field(default_factory=lambda: LinearizationSummary(0, 0, 0))
    notes: WideningNotes = field(default_factory=WideningNotes)
    memory: MemoryStatistics = field(default_factory=MemoryStatistics)
    functions: list[Function] = field(default_factory=list)

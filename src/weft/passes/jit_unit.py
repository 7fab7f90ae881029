"""A Python function on its way through the passes for parallel loops."""

from __future__ import annotations

from msgspec import field

from weft.codegen.slots import SlotInterface
from weft.passes.loop_unit import LoopUnit


class JitUnit(LoopUnit, kw_only=True):
    """A Python function.

    Parameters
    ----------
    interface
        What its last parameters are.
    if_legal
        Whether a loop over `prange` that is not parallel runs in order, with a remark, instead of being refused.
    auto
        Whether plain loops that are found to be parallel run so.
    known
        Parameters by number, and the values that they have.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
    in_place
        The functions that run nests where they stood.
    """

    interface: SlotInterface
    if_legal: bool = False
    auto: bool = False
    known: tuple[tuple[int, int | float], ...] = ()
    row_numbers: tuple[tuple[int, int], ...] = ()
    all_cores: bool = True
    in_place: set[str] = field(default_factory=set)

    @property
    def plain_loops(self) -> bool:
        return self.auto

    @property
    def has_jobs(self) -> bool:
        """Whether loops are shared by threads, beside those that run where they stand."""
        return any(found.mined.chunk.name not in self.in_place for found in self.loops)

"""What a user can ask of a function with parallel loops; cheap to import."""

from __future__ import annotations

from collections.abc import Set
from typing import Literal

from msgspec import Struct

from weft.brush import BrushOption
from weft.fast_math import FastMath, fast_math
from weft.options import Overlap, require_lane_options
from weft.switches import ALL_ON, Switches

Tried = Literal["widths", "brushes"]
"""What is measured on the arguments of a first call."""


class JitOptions(Struct, frozen=True):
    """How functions with parallel loops are compiled.

    Parameters
    ----------
    fastmath
        The fast-math flags of float operations.
    width
        Lanes; None lets weft choose.
    boscc
        Branches around what no lane takes: ``off``, ``auto`` (where it is expected to pay) or ``on``.
    if_legal
        Whether a loop over `prange` that is not parallel runs in order, with a remark, instead of being refused.
    auto
        Whether plain loops that are found to be parallel run so.
    all_cores
        Whether parallel loops are shared by threads, rather than run on the one that calls.
    debug
        Whether division by zero, indices, assertions and variables without a value are checked.
    switches
        What vectorization makes use of.
    brush
        The lanes of nests; None for those of one loop.
    tune
        What is tried on the arguments of the first call: widths beside what `brush` says, or brushes; None for nothing.
    known
        Parameters by number, and the values that they have; the caller sees to that.
    small_arrays
        Whether arrays have less than 2^30 elements in all and along each dimension; the caller sees to that, too.
    overlap
        Whether array arguments may overlap, if the function writes to one of them; the caller sees to that, too.
    """

    fastmath: FastMath = False
    width: int | None = None
    boscc: str = "auto"
    if_legal: bool = False
    auto: bool = False
    all_cores: bool = True
    debug: bool = False
    switches: Switches = ALL_ON
    brush: BrushOption = None
    tune: Tried | None = None
    known: tuple[tuple[int, int | float], ...] = ()
    small_arrays: bool = False
    overlap: Overlap = Overlap.ANY


def jit_options(
    fastmath: bool | Set[str],
    width: int | None,
    boscc: str,
    if_legal: bool = False,
    auto: bool = False,
    all_cores: bool = True,
    debug: bool = False,
    switches: Switches = ALL_ON,
    brush: BrushOption = None,
    tune: Tried | None = None,
) -> JitOptions:
    """The options that a decorator is given.

    Raises
    ------
    SignatureError
        One has a value that it cannot have.
    """
    require_lane_options(width, boscc)
    return JitOptions(
        fast_math(fastmath), width, boscc, if_legal, auto, all_cores, bool(debug), switches, brush, tune
    )

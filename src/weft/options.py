"""What a user can ask of a compilation, and what it took; cheap to import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from msgspec import Struct

from weft.brush import AUTO, Brush, brush_of
from weft.diag.errors import SignatureError
from weft.fast_math import FastMath
from weft.switches import ALL_ON, Switches

BOSCC_MODES = ("off", "auto", "on")
MAX_WIDTH = 64
"""Threads of the widest lane group that a user may ask for."""


def require_lane_options(width: int | None, boscc: str) -> None:
    """See that `width` and `boscc` of any door are such.

    Raises
    ------
    SignatureError
        One has a value that it cannot have.
    """
    if width is not None and (type(width) is not int or not 1 <= width <= MAX_WIDTH or width & (width - 1)):
        raise SignatureError(
            f"a width of {width!r}", hint=f"it may be a power of two up to {MAX_WIDTH}, or None"
        )
    if boscc not in BOSCC_MODES:
        raise SignatureError(f"boscc={boscc!r}", hint=f"it may be {', '.join(map(repr, BOSCC_MODES))}")


def kernel_brush(brush: Any, projection: Any, width: int | None) -> Brush | None:
    """The brush that options of any door for kernels ask for; None lets weft choose, as ``"auto"`` does.

    Raises
    ------
    SignatureError
        They are no such things (`weft.brush.brush_of`).
    """
    asked = brush_of(brush, projection, width=width)
    return None if asked == AUTO else asked


class CompileOptions(Struct, frozen=True):
    """What a user can ask of code generation.

    Parameters
    ----------
    fastmath
        The fast-math flags of float operations.
    width
        Threads in a lane group; 1 runs thread after thread, None lets weft choose.
    warp
        Threads in a lane group of programs that ask what the threads of their warp do, whatever `width` says; None
        where such a program runs in lane groups of any width.
    boscc
        Branches around what no thread of a lane group takes: ``off``, ``auto`` (where it is expected to pay) or ``on``
        (wherever threads diverge).
    small_arrays
        Whether all arrays have less than 2 GiB, so that 32 bits are enough for places in them, and less than 2^30
        elements along each dimension; the launcher of a kernel sees to that.
    arrays_apart
        Whether no two arrays overlap; the launcher of a kernel sees to that, where `LaunchTerms.arrays_apart`
        (`weft.runtime.launch_terms`) says that the code makes use of it.
    array_begins
        Whether nothing lies in front of the arrays that kernels get, as they are no parts of others; the launcher sees
        to that.
    array_sizes
        Whether kernels get the sizes of arrays that their threads only update, behind their arguments
        (`weft.ir.array_sizes`); the launcher sees to that.
    lock_step
        Whether each work-group is one lane group: it has one row of at most `width` threads. The launcher sees to that.
    whole_rows
        Whether the rows of work-groups are whole lane groups, if the kernel has barriers and that makes for less code.
        `LaunchTerms.row_multiple` (`weft.runtime.launch_terms`) says of how many threads rows are to be multiples then;
        the launcher sees to that.
    block
        How many threads each work-group has along x, y and z, where lane groups may be boxes of them; the launcher sees
        to that. None for work-groups of any size.
    switches
        What vectorization makes use of.
    brush
        The lane group as a box of threads, in work-groups of any size; None lets weft choose.
    known
        Parameters by number, and the values that they have; the launcher sees to that.
    brush_chosen
        Whether weft has chosen the brush; the launcher of a kernel uses the code where work-groups have as much.
    """

    fastmath: FastMath = False
    width: int | None = None
    warp: int | None = None
    boscc: str = "auto"
    small_arrays: bool = True
    arrays_apart: bool = False
    array_begins: bool = False
    array_sizes: bool = False
    lock_step: bool = False
    whole_rows: bool = False
    block: tuple[int, int, int] | None = None
    switches: Switches = ALL_ON
    brush: Brush | None = None
    known: tuple[tuple[int, int | float], ...] = ()
    brush_chosen: bool = False


class Overlap(IntEnum):
    """For which calls code is, by whether arrays overlap of which one is written to."""

    ANY = 0
    NONE = 1
    SOME = 2


class Timings(Struct):
    """Seconds spent in each part of a compilation; a part within another one counts for itself only.

    Attributes
    ----------
    latest
        When a part ended last, by `time.perf_counter`.
    """

    frontend: float = 0.0
    passes: float = 0.0
    llvm: float = 0.0
    latest: float = 0.0

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time of the block to `part`."""
        start, before = time.perf_counter(), self._all
        try:
            yield
        finally:
            within, self.latest = self._all - before, time.perf_counter()
            setattr(self, part, getattr(self, part) + self.latest - start - within)

    @property
    def _all(self) -> float:
        return self.frontend + self.passes + self.llvm

    def as_dict(self) -> dict[str, float]:
        return {"frontend": self.frontend, "passes": self.passes, "llvm": self.llvm}


def latest_timings(made: Iterable[Timings]) -> dict[str, float]:
    """What the latest of some compilations took, as `Timings.as_dict`; zeros where nothing was compiled."""
    return max(made, key=lambda t: t.latest, default=Timings()).as_dict()


def checking() -> bool:
    """Whether ``WEFT_CHECK`` asks for every stage to be verified and kept, and for all or some of them to be run."""
    return os.environ.get("WEFT_CHECK", "0") not in ("", "0")


def check_step() -> int:
    """Every how many stages one is run, as ``WEFT_CHECK`` says: 1 for all of them."""
    asked = os.environ.get("WEFT_CHECK", "1")
    return max(1, int(asked)) if asked.isdecimal() else 1

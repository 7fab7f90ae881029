"""`prange`: a range whose iterations the user promises to be independent of each other."""

from __future__ import annotations


def prange(start: int, stop: int | None = None, step: int = 1, /) -> range:
    """Return ``range(start, stop, step)``, for loops that may run their iterations at the same time.

    In a function compiled by `weft.jit` an outermost ``for i in prange(n)`` runs in SIMD lanes and on all cores.
    Iterations must not touch what others write, but for reductions: scalars that the loop only adds to, multiplies,
    combines by ``&``, ``|`` or ``^``, or takes the minimum or maximum of. Elsewhere it is `range`.
    """
    return range(start) if stop is None else range(start, stop, step)


def in_place(stop: int, /) -> range:
    """Return ``range(stop)``, for loops of weft's own whose iterations are independent and run where they stand.

    They run in SIMD lanes, a nest of them in boxes, on the thread that comes there; with ``parallel="auto"`` they are
    found to be parallel as any others, and all cores share them.
    """
    return range(stop)

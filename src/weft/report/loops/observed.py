"""What was seen of a loop in a run of the user's program: trip counts, dependences, its share (Juravle, §4.1)."""

from __future__ import annotations

from msgspec import Struct, field


class ObservedDependence(Struct, frozen=True):
    """Iterations that touched the same bytes.

    Parameters
    ----------
    kind
        ``flow`` (written, then read), ``anti`` (read, then written) or ``output`` (written twice).
    source, sink
        The lines of the earlier and the later access.
    least, most
        How many iterations were between them.
    times
        How often it was seen.
    """

    kind: str
    source: int
    sink: int
    least: int
    most: int
    times: int


class ObservedLoop(Struct, frozen=True):
    """What a run did in a loop.

    Parameters
    ----------
    runs
        How often the loop was entered.
    least, most, mean
        Iterations of a run.
    share
        The part of all instructions that were executed in it, from 0 to 1.
    dependences
        What iterations had in common, but for what each has of its own.
    is_complete
        Whether all accesses were looked at; else the first so many.
    counts
        The numbers of iterations that were seen, if they are few.
    """

    runs: int
    least: int
    most: int
    mean: float
    share: float
    dependences: tuple[ObservedDependence, ...]
    is_complete: bool
    counts: frozenset[int] = field(default_factory=frozenset)

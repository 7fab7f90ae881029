"""Live intervals with holes, and the pressure on the register file.

Instructions are numbered in the order of the text. Instruction `k` reads at point ``2k`` and writes at ``2k + 1``, so a
value that it reads last and one that it writes can share a register.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from weft.ptx.regalloc.liveness import Liveness, members
from weft.ptx.syntax import Instruction


@dataclass(slots=True)
class Interval:
    """Where in the text a register holds a value that is needed.

    Attributes
    ----------
    register
        Its name.
    words
        Registers of 32 bits that it takes, 0 for a predicate.
    segments
        Stretches of points, each without its end, ascending and apart from each other: between them are holes.
    reads, writes
        The points at which it is read and written, ascending.
    """

    register: str
    words: int
    segments: list[tuple[int, int]]
    reads: list[int]
    writes: list[int]

    @property
    def begin(self) -> int:
        """The first point."""
        return self.segments[0][0]

    @property
    def end(self) -> int:
        """The point behind the last."""
        return self.segments[-1][1]

    def covers(self, point: int) -> bool:
        """Whether the register holds a value that is needed at a point."""
        return any(begin <= point < end for begin, end in self.segments)

    def next_use(self, point: int) -> int | None:
        """The first point from `point` on at which it is read or written, in the order of the text."""
        later = [
            points[at]
            for points in (self.reads, self.writes)
            if (at := bisect_left(points, point)) < len(points)
        ]
        return min(later, default=None)

    def overlaps(self, other: Interval) -> bool:
        """Whether both hold values at a point."""
        return any(a < d and c < b for a, b in self.segments for c, d in other.segments)


@dataclass(frozen=True, slots=True)
class Pressure:
    """How many registers a body needs at once.

    Attributes
    ----------
    words
        Registers of 32 bits at the worst point.
    point
        That point; the first where several are as bad, -1 where nothing is live.
    predicates
        Predicates at their worst point.
    by_instruction
        For each instruction in the order of the text, the words around it: those it needs at least, be it before or
        behind it.
    """

    words: int
    point: int
    predicates: int
    by_instruction: tuple[int, ...]


def instructions_in_order(liveness: Liveness) -> list[Instruction]:
    """The instructions as intervals count them."""
    return [access.instruction for row in liveness.accesses for access in row]


def intervals_of(liveness: Liveness, words: dict[str, int]) -> list[Interval]:
    """The intervals of all registers that are written or read, by their first point.

    Parameters
    ----------
    liveness
        Of the function.
    words
        The size of each register (`weft.ptx.regalloc.sizes`).
    """
    segments: list[list[tuple[int, int]]] = [[] for _ in liveness.registers]
    reads: list[list[int]] = [[] for _ in liveness.registers]
    writes: list[list[int]] = [[] for _ in liveness.registers]
    first = 0
    for block, row in enumerate(liveness.accesses):
        around = liveness.around(block)
        for number, access in enumerate(row):
            point = 2 * (first + number)
            before, after = around[number]
            for register in members(before):
                _extend(segments[register], point)
            for register in members(after):
                _extend(segments[register], point + 1)
            for register in members(access.reads):
                reads[register].append(point)
            for register in members(access.writes):
                writes[register].append(point + 1)
        first += len(row)
    found = [
        Interval(name, words[name], segments[number], reads[number], writes[number])
        for number, name in enumerate(liveness.registers)
        if segments[number]
    ]
    return sorted(found, key=lambda interval: interval.begin)


def _extend(segments: list[tuple[int, int]], point: int) -> None:
    if segments and segments[-1][1] == point:
        segments[-1] = (segments[-1][0], point + 1)
    else:
        segments.append((point, point + 1))


def pressure_of(liveness: Liveness, words: dict[str, int]) -> Pressure:
    """The pressure, from the live sets: holes are not counted."""
    sizes = [words[name] for name in liveness.registers]
    by_size: dict[int, int] = {}
    for number, size in enumerate(sizes):
        by_size[size] = by_size.get(size, 0) | 1 << number

    def total(live: int) -> int:
        return sum(size * (live & registers).bit_count() for size, registers in by_size.items())

    worst, at, predicates = 0, -1, 0
    around: list[int] = []
    for block in range(len(liveness.accesses)):
        for before, after in liveness.around(block):
            both = (total(before), total(after))
            for side, (needed, live) in enumerate(zip(both, (before, after), strict=True)):
                if needed > worst:
                    worst, at = needed, 2 * len(around) + side
                predicates = max(predicates, (live & by_size.get(0, 0)).bit_count())
            around.append(max(both))
    return Pressure(worst, at, predicates, tuple(around))

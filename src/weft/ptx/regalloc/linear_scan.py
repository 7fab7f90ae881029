"""Linear scan (Poletto and Sarkar, TOPLAS 1999), as Sampaio et al. §4 use it, on intervals with holes.

Intervals get words in the order in which they begin. Where there are not enough, the one with the farthest use is
spilled, of those that are there and the one that begins (Belady): it lives in memory from its first definition to its
last use, and takes words only around the instructions that access it. "Farthest" is the next use, or the last use of
all, by which Figures 17 and 19 of the paper come out.

Two values can share words where one is in a hole of the other. Postcondition: at no point do two values have a word in
common, and no word is beyond the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count

from weft.ptx.regalloc.allocation import Allocation, Problem, Words, scratch_words, unreachable_budget
from weft.ptx.regalloc.distances import Distances
from weft.ptx.regalloc.intervals import Interval, instructions_in_order, intervals_of

LAST, NEXT = "last", "next"
"""What is farthest: the last use, or the next one."""


@dataclass(slots=True)
class _Item:
    """What gets words for some points, a set of bits: an interval, an access of a spilled value, or scratch.

    Parameters
    ----------
    begin, points
        The first point, and all of them.
    need
        How many words.
    interval
        Whose it is; None for scratch.
    access
        The instruction, for accesses and scratch; -1 for an interval.
    """

    begin: int
    points: int
    need: int
    interval: Interval | None
    access: int = -1
    words: Words = ()
    before: bool = False


@dataclass(slots=True)
class _Scan:
    problem: Problem
    farthest: str
    intervals: dict[str, Interval]
    taken: list[int]
    distances: Distances
    numbers: dict[str, int]
    active: list[_Item] = field(default_factory=list)
    spilled: set[str] = field(default_factory=set)
    done: dict[str, _Item] = field(default_factory=dict)
    accesses: list[_Item] = field(default_factory=list)
    heap: list[tuple[int, int, int, _Item]] = field(default_factory=list)
    order: count[int] = field(default_factory=count)
    cached: list[str] = field(default_factory=list)

    def push(self, item: _Item) -> None:
        # At one point, what has to have words comes first.
        heappush(self.heap, (item.begin, 0 if item.access >= 0 else 1, next(self.order), item))

    def run(self) -> None:
        while self.heap:
            item = heappop(self.heap)[3]
            if item.interval is not None and item.access < 0 and item.interval.register in self.spilled:
                continue
            self.active = [a for a in self.active if a.points >> item.begin]
            self.place(item)

    def place(self, item: _Item) -> None:
        free = self.free(item)
        while len(free) < item.need:
            victim = self.victim(item)
            if victim is item:
                self.spill(item.interval, item.begin)
                return
            self.evict(victim, item.begin)
            free = self.free(item)
        words = tuple(sorted(self.chosen(item, free)[: item.need]))
        self.settle(item, words)

    def settle(self, item: _Item, words: Words) -> None:
        item.words = words
        for word in words:
            self.taken[word] |= item.points
            spilled = item.access >= 0 and item.interval is not None
            self.cached[word] = item.interval.register if spilled and item.interval else ""
        if item.access < 0:
            assert item.interval is not None
            self.active.append(item)
            self.done[item.interval.register] = item
        else:
            self.accesses.append(item)

    def free(self, item: _Item) -> list[int]:
        return [word for word, points in enumerate(self.taken) if not points & item.points]

    def chosen(self, item: _Item, free: list[int]) -> list[int]:
        """Free words, those to take first: the value's own, then those without a copy of something spilled."""
        own = item.interval.register if item.interval is not None else ""

        def worth(word: int) -> tuple[int, float]:
            cached = self.cached[word]
            if not cached:
                return (1, 0)
            if cached == own:
                return (0, 0)
            return (2, -self.next_use(cached, item.begin))

        return sorted(free, key=worth)

    def next_use(self, register: str, point: int) -> float:
        """How far the next use is, over the control-flow graph."""
        return float(self.distances.at(point)[self.numbers[register]])

    def victim(self, item: _Item) -> _Item:
        blocked = [
            a
            for a in self.active
            if a.points & item.points and a.interval is not None and self.may_go(a.interval, item)
        ]
        own = item.interval if item.access < 0 else None
        if own is not None and own.register not in self.problem.fixed:
            blocked.append(item)
        if not blocked:
            number = item.begin // 2
            instruction = instructions_in_order(self.problem.liveness)[number]
            raise unreachable_budget(self.problem.budget, instruction, self.needed(item))
        return max(blocked, key=lambda a: self.distance(a, item.begin))

    def may_go(self, interval: Interval, item: _Item) -> bool:
        """Whether spilling an interval gives words to an item: it takes some again where it is accessed."""
        if interval.register in self.problem.fixed:
            return False
        points = item.points if item.access >= 0 else 1 << item.begin
        return not any(accessed & points for _, _, accessed in _accesses(interval))

    def distance(self, item: _Item, point: int) -> tuple[float, int]:
        assert item.interval is not None
        interval = item.interval
        far = self.next_use(interval.register, point) if self.farthest == NEXT else interval.end
        return (far, -interval.begin)

    def needed(self, item: _Item) -> int:
        held = [a for a in (*self.active, *self.accesses) if a.points & item.points]
        return item.need + sum(a.need for a in held)

    def evict(self, item: _Item, point: int) -> None:
        assert item.interval is not None
        self.active.remove(item)
        del self.done[item.interval.register]
        for word in item.words:
            self.taken[word] &= ~item.points
            self.cached[word] = item.interval.register
        self.spill(item.interval, point, item.words)

    def spill(self, interval: Interval | None, point: int, words: Words = ()) -> None:
        """An interval lives in memory: accesses before `point` keep its words, others get some in their turn."""
        assert interval is not None
        self.spilled.add(interval.register)
        for begin, access, points in _accesses(interval):
            made = _Item(begin, points, interval.words, interval, access)
            if begin < point and words:
                made.words = words
                for word in words:
                    self.taken[word] |= points
                self.accesses.append(made)
            else:
                self.push(made)


def _accesses(interval: Interval) -> list[tuple[int, int, int]]:
    """First point, instruction and points of each access; a read and a write of one instruction are one."""
    found: dict[int, int] = {}
    for point in (*interval.reads, *interval.writes):
        found[point // 2] = found.get(point // 2, 0) | 1 << point
    return [((points & -points).bit_length() - 1, number, points) for number, points in sorted(found.items())]


def linear_scan(problem: Problem, farthest: str = NEXT) -> Allocation:
    """Allocate registers by linear scan.

    Parameters
    ----------
    problem
        What is to be allocated.
    farthest
        By which use a value is chosen for memory: ``"last"`` or ``"next"``.

    Returns
    -------
    Allocation
        With all values of ``problem.spilled`` in memory, and others that had to go. Only if there are no others has
        the spill code of all got its scratch.

    Raises
    ------
    PtxError
        An instruction alone needs more words than there are. Without a place, but with the instruction.
    """
    intervals = {i.register: i for i in intervals_of(problem.liveness, dict(problem.words)) if i.words}
    numbers = {name: number for number, name in enumerate(problem.liveness.registers)}
    scan = _Scan(
        problem, farthest, intervals, [0] * problem.budget, Distances(problem.liveness), numbers,
        cached=[""] * problem.budget,
    )  # fmt: skip
    _enter(scan)
    scan.run()
    return _allocation(scan)


def _enter(scan: _Scan) -> None:
    problem = scan.problem
    reloads: dict[int, list[str]] = {}
    stores: dict[int, list[str]] = {}
    for interval in scan.intervals.values():
        if interval.register in problem.spilled:
            scan.spill(interval, 0)
            for point in interval.reads:
                reloads.setdefault(point // 2, []).append(interval.register)
            for point in interval.writes:
                stores.setdefault(point // 2, []).append(interval.register)
        else:
            points = 0
            for begin, end in interval.segments:
                points |= ((1 << (end - begin)) - 1) << begin
            scan.push(_Item(interval.begin, points, interval.words, interval))
    for table, side in ((reloads, 0), (stores, 1)):
        for number, names in table.items():
            need = scratch_words(problem.spilled, names, reload=side == 0)
            if need:
                point = 2 * number + side
                scan.push(_Item(point, 1 << point, need, None, number, before=side == 0))
    heapify(scan.heap)


def _allocation(scan: _Scan) -> Allocation:
    accesses: dict[tuple[int, str], Words] = {}
    before: dict[int, Words] = {}
    behind: dict[int, Words] = {}
    for item in scan.accesses:
        if item.interval is not None:
            accesses[item.access, item.interval.register] = item.words
        else:
            (before if item.before else behind)[item.access] = item.words
    liveness = scan.problem.liveness
    reads: list[dict[str, Words]] = []
    writes: list[dict[str, Words]] = []
    scratch: list[tuple[Words, Words]] = []
    number = 0
    for row in liveness.accesses:
        for access in row:
            for found, registers in ((reads, access.reads), (writes, access.writes)):
                found.append(
                    {
                        name: _words(scan, accesses, number, name)
                        for name in liveness.names(registers)
                        if scan.problem.words[name]
                    }
                )
            scratch.append((before.get(number, ()), behind.get(number, ())))
            number += 1
    return Allocation(frozenset(scan.spilled), reads, writes, scratch)


def _words(scan: _Scan, accesses: dict[tuple[int, str], Words], number: int, name: str) -> Words:
    if name in scan.spilled:
        return accesses[number, name]
    item = scan.done.get(name)
    # What nobody has written may be anywhere.
    return item.words if item is not None else tuple(range(scan.problem.words[name]))

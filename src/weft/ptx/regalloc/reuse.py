"""Which reloads can be left out, because the value is still in a register, and which stores nobody reloads.

Splitting live ranges after the fact: a spilled value that was reloaded or written stays in its words until something
else gets these (Sampaio et al. Fig. 17, where s is reloaded at L14 and still there at L24). A forward analysis finds
where that is so on every way, and a backward one which slots are still read. Both are exact about words, so nothing is
assumed of how the allocator chose them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.graph.cfg import reverse_postorder
from weft.ptx.regalloc.allocation import Allocation, Problem, Words
from weft.ptx.registers import kills, updates
from weft.ptx.syntax import Instruction

State = dict[str, Words]
"""Spilled values that are in some words, too."""


@dataclass(slots=True)
class Reuse:
    """What spill code is needed.

    Attributes
    ----------
    sources
        For each instruction, the words from which it reads each spilled value.
    reloads
        For each instruction, the values that are reloaded before it.
    stores
        For each instruction, the values that are stored behind it.
    """

    sources: list[State]
    reloads: list[tuple[str, ...]]
    stores: list[tuple[str, ...]]


def everywhere(problem: Problem, allocation: Allocation) -> Reuse:
    """Spill everywhere, as Ocelot does: a reload before each read, a store behind each write."""
    spilled = allocation.spilled
    sources = [{n: w for n, w in row.items() if n in spilled} for row in allocation.reads]
    return Reuse(
        sources,
        [tuple(row) for row in sources],
        [tuple(name for name in row if name in spilled) for row in allocation.writes],
    )


def reused(problem: Problem, allocation: Allocation, stored: Mapping[str, bool] | None = None) -> Reuse:
    """Spill code without what is not needed.

    Parameters
    ----------
    problem, allocation
        What was allocated how.
    stored
        For each spilled value whether a write has to put it somewhere at all; by default all have.
    """
    walk = _Walk(problem, allocation)
    walk.solve()
    found = everywhere(problem, allocation)
    for block, first in enumerate(walk.first):
        state = dict(walk.arriving[block] or {})
        for number, access in enumerate(problem.liveness.accesses[block], first):
            sources, reloads = walk.step(state, number, access.instruction)
            found.sources[number] = sources
            found.reloads[number] = tuple(name for name in sources if name in reloads)
    _drop_dead_stores(problem, found, walk.first)
    return found


@dataclass(slots=True)
class _Walk:
    problem: Problem
    allocation: Allocation
    arriving: list[State | None]
    first: list[int]

    def __init__(self, problem: Problem, allocation: Allocation) -> None:
        self.problem, self.allocation = problem, allocation
        self.first = []
        count = 0
        for row in problem.liveness.accesses:
            self.first.append(count)
            count += len(row)
        self.arriving = [None] * len(self.first)
        self.arriving[0] = {}

    def solve(self) -> None:
        cfg = self.problem.liveness.flow.cfg
        order = reverse_postorder(cfg.succs)
        changed = True
        while changed:
            changed = False
            for block in order:
                arriving = self.arriving[block]
                if arriving is None:
                    continue
                state = dict(arriving)
                for number, access in enumerate(self.problem.liveness.accesses[block], self.first[block]):
                    self.step(state, number, access.instruction)
                for successor in cfg.distinct_succs(block):
                    changed |= self.join(block, successor, dict(state))

    def join(self, block: int, successor: int, state: State) -> bool:
        for move in self.allocation.moves.get((block, successor), ()):
            _forget(state, move.target)
        known = self.arriving[successor]
        if known is None:
            self.arriving[successor] = state
            return True
        kept = {name: words for name, words in known.items() if state.get(name) == words}
        if len(kept) == len(known):
            return False
        self.arriving[successor] = kept
        return True

    def step(self, state: State, number: int, instruction: Instruction) -> tuple[State, set[str]]:
        """Go over an instruction; return where it reads spilled values, and which have to be reloaded first."""
        allocation = self.allocation
        read = {n: w for n, w in allocation.reads[number].items() if n in allocation.spilled}
        before, behind = allocation.scratch[number]
        both = updates(instruction) if read else ()
        sources: State = {}
        reloads: set[str] = set()
        for name, words in read.items():
            there = state.get(name)
            others = {w for other, own in read.items() if other != name for w in own} | set(before)
            if there is not None and (there == words or (name not in both and others.isdisjoint(there))):
                sources[name] = there
                continue
            sources[name] = words
            reloads.add(name)
        for name in reloads:
            _forget(state, read[name])
        if reloads:
            _forget(state, before)
        for name in reloads:
            state[name] = read[name]
        self._write(state, number, instruction, behind)
        return sources, reloads

    def _write(self, state: State, number: int, instruction: Instruction, behind: Words) -> None:
        written = self.allocation.writes[number]
        if not written:
            return
        for words in written.values():
            _forget(state, words)
        certain = kills(instruction)
        for name, words in written.items():
            if name in self.allocation.spilled:
                state.pop(name, None)
                if name in certain:
                    state[name] = words
        if behind:
            _forget(state, behind)


def _forget(state: State, words: Words) -> None:
    if words:
        gone = [name for name, own in state.items() if not set(own).isdisjoint(words)]
        for name in gone:
            del state[name]


def _drop_dead_stores(problem: Problem, found: Reuse, first: list[int]) -> None:
    cfg = problem.liveness.flow.cfg
    live_in: list[frozenset[str]] = [frozenset()] * len(first)
    dead: dict[int, set[str]] = {}
    changed = True
    while changed:
        changed = False
        dead = {}
        for block in range(len(first) - 1, -1, -1):
            live: set[str] = set().union(*(live_in[s] for s in cfg.succs[block]))
            row = problem.liveness.accesses[block]
            for offset in range(len(row) - 1, -1, -1):
                number = first[block] + offset
                certain = kills(row[offset].instruction) if found.stores[number] else ()
                for name in found.stores[number]:
                    if name not in live:
                        dead.setdefault(number, set()).add(name)
                    elif name in certain:
                        live.discard(name)
                live.update(found.reloads[number])
            if live != live_in[block]:
                live_in[block] = frozenset(live)
                changed = True
    for number, names in dead.items():
        found.stores[number] = tuple(name for name in found.stores[number] if name not in names)

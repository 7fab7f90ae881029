"""Register allocation on SSA form (Hack and Goos, IPL 2006): spill to the budget, then colour without failing.

In SSA form two values interfere only where one is live at the definition of the other, the interference graph is
chordal, and a walk over the dominator tree that gives each definition any free words is optimal: where no more words
are live than there are, it never fails. So spilling comes first, everywhere by the farthest next use (Belady, with
distances over the control-flow graph in which leaving a loop is far, as Braun and Hack have it), until each point fits.

SSA form is kept aside: a web is one value of many definitions, and where several meet, at the iterated dominance
frontier, it gets words anew and moves on the edges. A definition under a guard keeps the words of the value before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.graph.cfg import reverse_postorder
from weft.graph.dominators import DominatorTree, dominance_frontier, dominator_tree
from weft.ptx.regalloc.allocation import (
    Allocation,
    Edge,
    Move,
    Problem,
    Words,
    scratch_words,
    unreachable_budget,
)
from weft.ptx.regalloc.distances import Distances
from weft.ptx.regalloc.liveness import Access, members
from weft.ptx.registers import kills


def chordal(problem: Problem) -> Allocation:
    """Allocate registers on SSA form.

    Parameters
    ----------
    problem
        What is to be allocated; no ``brx``, and no values of 128 bits.

    Returns
    -------
    Allocation
        With all values of ``problem.spilled`` in memory, and others that had to go.

    Raises
    ------
    PtxError
        An instruction alone needs more words than there are. Without a place, but with the instruction.
    """
    spilled = _spilled(problem)
    return _Colouring(problem, spilled).run()


def _spilled(problem: Problem) -> set[str]:
    """The values that go to memory so that every point fits."""
    liveness = problem.liveness
    names = liveness.registers
    sizes = [problem.words[name] for name in names]
    distances = Distances(liveness)
    spilled = set(problem.spilled)
    gone = sum(1 << number for number, name in enumerate(names) if name in spilled)
    fixed = sum(
        1 << number for number, name in enumerate(names) if name in problem.fixed or not sizes[number]
    )
    for block in reverse_postorder(liveness.flow.cfg.succs):
        row, around = liveness.accesses[block], liveness.around(block)
        ahead = distances.ahead(block)
        for offset, (access, sides) in enumerate(zip(row, around, strict=True)):
            for side, (live, accessed) in enumerate(zip(sides, (access.reads, access.writes), strict=True)):
                while True:
                    kept = (live & ~gone) | accessed
                    named = [names[n] for n in members(accessed & gone)]
                    scratch = scratch_words(problem.spilled, named, reload=side == 0)
                    need = sum(sizes[n] for n in members(kept)) + scratch
                    if need <= problem.budget:
                        break
                    among = list(members(kept & ~accessed & ~fixed & ~gone))
                    if not among:
                        raise unreachable_budget(problem.budget, access.instruction, need)
                    far = ahead[offset + side]
                    victim = max(among, key=lambda n: (far[n], sizes[n], -n))
                    gone |= 1 << victim
                    spilled.add(names[victim])
    return spilled


@dataclass(slots=True)
class _Colouring:
    problem: Problem
    spilled: set[str]
    reads: list[dict[str, Words]] = field(default_factory=list)
    writes: list[dict[str, Words]] = field(default_factory=list)
    scratch: list[tuple[Words, Words]] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    ends: list[dict[str, Words]] = field(default_factory=list)
    begins: list[dict[str, Words]] = field(default_factory=list)
    liked: dict[str, Words] = field(default_factory=dict)

    def run(self) -> Allocation:
        liveness = self.problem.liveness
        count = 0
        for row in liveness.accesses:
            self.first.append(count)
            count += len(row)
        self.reads = [{} for _ in range(count)]
        self.writes = [{} for _ in range(count)]
        self.scratch = [((), ()) for _ in range(count)]
        blocks = len(liveness.accesses)
        self.begins = [{} for _ in range(blocks)]
        self.ends = [{} for _ in range(blocks)]
        tree = dominator_tree(liveness.flow.cfg)
        meets = self.meets(tree)
        work = [0]
        while work:
            block = work.pop()
            self.begin(block, tree, meets[block])
            self.block(block)
            work += reversed(tree.children[block])
        return Allocation(frozenset(self.spilled), self.reads, self.writes, self.scratch, self.moves(tree))

    def meets(self, tree: DominatorTree) -> list[set[str]]:
        """For each block the values of which several definitions meet there: their φs."""
        liveness = self.problem.liveness
        frontier = dominance_frontier(tree, liveness.flow.cfg.preds)
        meets: list[set[str]] = [set() for _ in frontier]
        writers: dict[int, set[int]] = {}
        for block, row in enumerate(liveness.accesses):
            for access in row:
                for number in members(access.writes):
                    writers.setdefault(number, set()).add(block)
        for number, blocks in writers.items():
            name = liveness.registers[number]
            if name in self.spilled or not self.problem.words[name]:
                continue
            work = list(blocks)
            while work:
                for block in frontier[work.pop()]:
                    if liveness.live_in[block] >> number & 1 and name not in meets[block]:
                        meets[block].add(name)
                        work.append(block)
        return meets

    def begin(self, block: int, tree: DominatorTree, meets: set[str]) -> None:
        """Words of what is live where a block begins."""
        liveness = self.problem.liveness
        above = self.ends[tree.idom[block]] if block else {}
        live = [n for n in liveness.names(liveness.live_in[block]) if self.is_kept(n)]
        here = {name: above[name] for name in live if name not in meets and name in above}
        for name in live:
            if name not in here:
                here[name] = self.choose(name, here)
        self.begins[block] = here

    def is_kept(self, name: str) -> bool:
        return name not in self.spilled and bool(self.problem.words[name])

    def choose(self, name: str, held: dict[str, Words], more: Words = ()) -> Words:
        """Free words for a value: those that it had, else those that nobody likes."""
        taken = {word for words in held.values() for word in words} | set(more)
        free = [word for word in range(self.problem.budget) if word not in taken]
        need = self.problem.words[name]
        liked = self.liked.get(name, ())
        order = [w for w in liked if w in free] + [w for w in free if w not in liked]
        found = tuple(sorted(order[:need]))
        assert len(found) == need, f"{name} has no words"
        if name not in self.spilled:
            self.liked.setdefault(name, found)
        return found

    def block(self, block: int) -> None:
        liveness = self.problem.liveness
        held = dict(self.begins[block])
        behind = [before for before, _ in liveness.around(block)[1:]] + [liveness.live_out[block]]
        for number, (access, live) in enumerate(
            zip(liveness.accesses[block], behind, strict=False), self.first[block]
        ):
            self.instruction(number, access, live, held)
        self.ends[block] = held

    def instruction(self, number: int, access: Access, live: int, held: dict[str, Words]) -> None:
        """Give words to what an instruction reads and writes; `live` is what is needed behind it."""
        liveness, problem = self.problem.liveness, self.problem
        names = liveness.names
        read = [n for n in names(access.reads) if problem.words[n]]
        reloaded: dict[str, Words] = {}
        for name in read:
            if name in self.spilled:
                reloaded[name] = self.choose(name, {**held, **reloaded})
                self.liked[name] = reloaded[name]
        before = self.some(scratch_words(problem.spilled, list(reloaded), reload=True), {**held, **reloaded})
        for name in read:
            there = held.get(name)
            self.reads[number][name] = reloaded.get(name) or there or tuple(range(problem.words[name]))
        after = set(names(live))
        written = sorted(
            (n for n in names(access.writes) if problem.words[n]), key=lambda n: n not in reloaded
        )
        kept = {name: words for name, words in held.items() if name in after and name not in written}
        certain = kills(access.instruction)
        for name in written:
            if name in held and (name not in certain or name in read):
                kept[name] = held[name]
        here: dict[str, Words] = {}
        for name in written:
            if name in kept:
                self.writes[number][name] = kept[name]
                continue
            if name in reloaded and set(reloaded[name]).isdisjoint(
                w for ws in {**kept, **here}.values() for w in ws
            ):
                found = reloaded[name]
            else:
                found = self.choose(name, {**kept, **here})
            self.writes[number][name] = found
            here[name] = found
        stored = [n for n in written if n in self.spilled]
        behind = self.some(scratch_words(problem.spilled, stored, reload=False), {**kept, **here})
        self.scratch[number] = (before, behind)
        held.clear()
        held.update(kept)
        held.update({n: w for n, w in here.items() if self.is_kept(n)})
        for name in [n for n in held if n not in after]:
            del held[name]

    def some(self, need: int, held: dict[str, Words]) -> Words:
        taken = {word for words in held.values() for word in words}
        free = [word for word in range(self.problem.budget) if word not in taken]
        assert len(free) >= need, "spill code has no scratch"
        return tuple(free[:need])

    def moves(self, tree: DominatorTree) -> dict[Edge, tuple[Move, ...]]:
        cfg = self.problem.liveness.flow.cfg
        found: dict[Edge, tuple[Move, ...]] = {}
        for block in range(len(cfg)):
            if not tree.reaches(block):
                continue
            for successor in cfg.distinct_succs(block):
                end = self.ends[block]
                moves = tuple(
                    Move(name, end[name], words)
                    for name, words in self.begins[successor].items()
                    if name in end and end[name] != words
                )
                if moves:
                    found[block, successor] = moves
        return found

"""Rebounding the exits of one divergent loop: the construction behind `divergent_loops` (Moll, §9.1.1).

Names follow the drawing there: N the new header with the φs of the old one, L the new latch, E the block on a
former exit edge, D the first of the blocks that send threads to their exits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from weft.ir import FALSE, TRUE, BasicBlock, Builder, Constant, Function, Instruction, Module, Poison, Value
from weft.ir.intrinsics import declare
from weft.ir.types import I1, VOID, Type

Edge = tuple[BasicBlock, BasicBlock]


@dataclass(slots=True)
class LoopSummary:
    """What happened to a loop, for remarks and statistics."""

    header: BasicBlock
    divergent: bool
    guarded: bool = False
    kept_exits: int = 0
    rebound_exits: int = 0
    trackers: int = 0


@dataclass(slots=True, eq=False)
class LoopShape:
    """A loop in terms of blocks, kept up to date while inner loops change.

    `uniform_exits` are edges that all live threads take together, `divergent_exits` the others;
    `may_be_empty` tells that the loop may be reached without a live thread.
    """

    header: BasicBlock
    blocks: set[BasicBlock]
    parent: LoopShape | None
    divergent_exits: list[Edge] = field(default_factory=list)
    uniform_exits: list[Edge] = field(default_factory=list)
    may_be_empty: bool = False

    def ancestors(self) -> Iterator[LoopShape]:
        loop = self.parent
        while loop is not None:
            yield loop
            loop = loop.parent

    def add(self, block: BasicBlock) -> None:
        """Make `block` part of this loop and those around it."""
        self.blocks.add(block)
        for outer in self.ancestors():
            outer.blocks.add(block)

    def replace_exit(self, old: Edge, new: list[Edge]) -> None:
        """An exit edge of this loop became others, because an inner loop's exits were rebound."""
        for exits in (self.uniform_exits, self.divergent_exits):
            if old in exits:
                exits.remove(old)
                self.divergent_exits.extend(e for e in new if e not in self.divergent_exits)


def preheader_of(loop: LoopShape) -> BasicBlock:
    """The one block outside `loop` from which it is entered, which does nothing else."""
    outside = [b for b in loop.header.predecessors if b not in loop.blocks]
    assert len(outside) == 1 and len(outside[0].successors) == 1, f"{loop.header.name} has no preheader"
    return outside[0]


@dataclass(slots=True, eq=False)
class _Tracker:
    """A value kept for threads that have left: one value for each exit edge that sets it.

    For an exit mask, `is_mask`, the value is true on the edges to one exit block and false on all others.
    """

    name: str
    type: Type
    at_exit: dict[Edge, Value]
    is_mask: bool = False
    track: Instruction | None = None
    final: Value | None = None


@dataclass(slots=True)
class LoopRebounding:
    """The transformation of one loop."""

    module: Module
    function: Function
    loop: LoopShape
    summary: LoopSummary

    def run(self) -> None:
        loop, function = self.loop, self.function
        header, preheader = loop.header, preheader_of(loop)
        latch = next(b for b in header.predecessors if b in loop.blocks)
        body = [b for b in function.blocks if b in loop.blocks]
        exits = [*loop.uniform_exits, *loop.divergent_exits]
        targets = list(dict.fromkeys(target for _, target in exits))
        trackers, exit_phis = self._plan_values(targets)
        masks = [self._exit_mask(t, exits) for t in targets[:-1]]

        new_header = function.add_block(f"{header.name}.live", after=preheader)
        new_latch = function.add_block(f"{header.name}.latch", after=body[-1])
        dispatch = [function.add_block(f"{header.name}.dispatch") for _ in targets[1:] or targets]
        _place_after(function, new_latch, dispatch)
        entering = Builder(before=preheader.terminator).call(
            declare(self.module, "weft.mask"), (), name="entering"
        )
        live = Builder(new_header).phi(I1, "live", shadow=FALSE)
        live.add_incoming(entering, preheader)
        for block in body:
            if block.predicate is None:
                block.set_predicate(live)

        taken = {edge: self._break_exit_edge(edge) for edge in exits}
        rebound = [taken[e] for e in loop.divergent_exits]
        latch.terminator.replace_operand(header, new_latch)
        preheader.terminator.replace_operand(header, new_header)
        self._move_header_phis(header, new_header, latch, new_latch, rebound)

        update = Builder(new_latch)
        update.total = True
        stays = _merge(new_latch, I1, "stays", {latch: TRUE, **dict.fromkeys(rebound, FALSE)})
        live.add_incoming(update.select(live, stays, FALSE, name="live.next"), new_latch)
        for tracker in [*masks, *trackers]:
            self._track(tracker, preheader, new_header, latch, new_latch, taken, live, update)
        update.build("br", VOID, blocks=(new_header,), total=False)
        for block in rebound:
            Builder(block).br(new_latch)

        test = Builder(new_header)
        any_live = test.call(declare(self.module, "weft.any"), (live,), name="stay")
        any_live.total = True
        test.cond_br(any_live, header, dispatch[0])
        self._leave(taken, dispatch[0], new_header, live, [*masks, *trackers])
        self._send(dispatch, targets, masks, exit_phis)
        self._note(new_header, new_latch, taken, dispatch, targets, trackers)

    def _plan_values(
        self, targets: Sequence[BasicBlock]
    ) -> tuple[list[_Tracker], dict[Instruction, _Tracker]]:
        """One tracker for each value, or set of values, that the φs of the exit blocks take.

        A value that comes from outside the loop needs none: it is the same in every iteration.
        """
        trackers: dict[tuple[object, ...], _Tracker] = {}
        of_phi: dict[Instruction, _Tracker] = {}
        for target in targets:
            for phi in target.phis():
                values = tuple(phi.operands)
                if len(set(values)) == 1 and not self._is_inside(values[0]):
                    of_phi[phi] = _Tracker(phi.name, phi.type, {}, final=values[0])
                    continue
                # φs of different exits that take the same single value share its tracker: a thread takes one exit.
                key = ("value", values[0]) if len(set(values)) == 1 else ("phi", phi)
                tracker = trackers.get(key)
                if tracker is None:
                    tracker = trackers[key] = _Tracker(f"{phi.name}.track", phi.type, {})
                tracker.at_exit.update(((source, target), value) for value, source in phi.incoming())
                of_phi[phi] = tracker
        return list(trackers.values()), of_phi

    def _is_inside(self, value: Value) -> bool:
        return isinstance(value, Instruction) and value.block in self.loop.blocks

    def _exit_mask(self, target: BasicBlock, exits: Sequence[Edge]) -> _Tracker:
        values: dict[Edge, Value] = {e: TRUE if e[1] is target else FALSE for e in exits}
        return _Tracker(f"{target.name}.mask", I1, values, is_mask=True)

    def _break_exit_edge(self, edge: Edge) -> BasicBlock:
        """A new block on an exit edge, still without terminator."""
        source, target = edge
        block = self.function.add_block(f"{target.name}.leave", after=source)
        source.terminator.replace_operand(target, block)
        return block

    def _move_header_phis(
        self,
        header: BasicBlock,
        new_header: BasicBlock,
        latch: BasicBlock,
        new_latch: BasicBlock,
        rebound: Sequence[BasicBlock],
    ) -> None:
        """The φs of H go to N; on the way back, threads that left carry nothing."""
        for phi in list(header.phis()):
            phi.detach()
            new_header.insert(new_header.first_insertion, phi)
            for i, (value, source) in enumerate(list(phi.incoming())):
                if source is not latch:
                    continue
                if isinstance(value, Instruction):
                    none = dict.fromkeys(rebound, Poison(phi.type))
                    value = _merge(new_latch, phi.type, f"{phi.name}.next", {latch: value, **none})
                phi.set_operand(i, value)
                phi.set_block(i, new_latch)

    def _track(
        self,
        tracker: _Tracker,
        preheader: BasicBlock,
        new_header: BasicBlock,
        latch: BasicBlock,
        new_latch: BasicBlock,
        taken: dict[Edge, BasicBlock],
        live: Instruction,
        update: Builder,
    ) -> None:
        """φ of N and update in L: live threads take the value at their exit, others keep theirs."""
        nothing: Value = FALSE if tracker.is_mask else Poison(tracker.type)
        track = Builder(new_header).phi(tracker.type, tracker.name)
        values: dict[BasicBlock, Value] = {latch: nothing}
        for edge in self.loop.divergent_exits:
            values[taken[edge]] = tracker.at_exit.get(edge, nothing)
        now = _merge(new_latch, tracker.type, f"{tracker.name}.now", values)
        track.add_incoming(nothing, preheader)
        track.add_incoming(update.select(live, now, track, name=f"{tracker.name}.next"), new_latch)
        tracker.track = track

    def _leave(
        self,
        taken: dict[Edge, BasicBlock],
        first: BasicBlock,
        new_header: BasicBlock,
        live: Instruction,
        trackers: Sequence[_Tracker],
    ) -> None:
        """Uniform exits go straight to D, live threads with the values there, the others with what is tracked."""
        for tracker in trackers:
            assert tracker.track is not None
            final = tracker.final = Builder(first).phi(tracker.type, tracker.name.removesuffix(".track"))
            final.add_incoming(tracker.track, new_header)
        for edge in self.loop.uniform_exits:
            builder = Builder(taken[edge])
            builder.total = True
            for tracker in trackers:
                assert tracker.track is not None and isinstance(tracker.final, Instruction)
                value = tracker.at_exit.get(edge)
                if value is None:
                    value = FALSE if tracker.is_mask else Poison(tracker.type)
                chosen = builder.select(live, value, tracker.track, name=f"{tracker.final.name}.here")
                tracker.final.add_incoming(chosen, taken[edge])
            builder.build("br", VOID, blocks=(first,), total=False)

    def _send(
        self,
        dispatch: Sequence[BasicBlock],
        targets: Sequence[BasicBlock],
        masks: Sequence[_Tracker],
        exit_phis: dict[Instruction, _Tracker],
    ) -> None:
        """D and its successors branch on the exit masks; the φs of the exits take the tracked values."""
        for i, block in enumerate(dispatch):
            if i and self._leaves_a_loop(targets, i):
                self._close_over(block, dispatch[i - 1], targets[i:], masks[i:], exit_phis)
            last = targets[-1] if i + 1 == len(dispatch) else None
            if not masks:
                Builder(block).br(targets[0])
            else:
                mask = masks[i].final
                assert mask is not None
                Builder(block).cond_br(mask, targets[i], last or dispatch[i + 1])
            for target in dict.fromkeys((targets[i], last or targets[i])):
                _take_from(target, block, exit_phis)

    def _leaves_a_loop(self, targets: Sequence[BasicBlock], i: int) -> bool:
        """Whether dispatch block `i` lies outside a loop that the one before it lies in."""
        return any(
            targets[i - 1] in outer.blocks and not any(t in outer.blocks for t in targets[i:])
            for outer in self.loop.ancestors()
        )

    def _close_over(
        self,
        block: BasicBlock,
        source: BasicBlock,
        targets: Sequence[BasicBlock],
        masks: Sequence[_Tracker],
        exit_phis: dict[Instruction, _Tracker],
    ) -> None:
        """Loop-closed form: what is needed from here on enters `block` through φs."""
        needed = [*masks, *(tracker for phi, tracker in exit_phis.items() if phi.block in targets)]
        for tracker in dict.fromkeys(needed):
            assert tracker.final is not None
            if isinstance(tracker.final, Constant):
                continue
            phi = Builder(block).phi(tracker.type, tracker.final.name)
            phi.add_incoming(tracker.final, source)
            tracker.final = phi

    def _note(
        self,
        new_header: BasicBlock,
        new_latch: BasicBlock,
        taken: dict[Edge, BasicBlock],
        dispatch: Sequence[BasicBlock],
        targets: Sequence[BasicBlock],
        trackers: Sequence[_Tracker],
    ) -> None:
        """Keep the loops' block sets, the exits of outer loops and the summary up to date."""
        loop = self.loop
        loop.header = new_header
        for block in (new_header, new_latch, *(taken[e] for e in loop.divergent_exits)):
            loop.add(block)
        for outer in loop.ancestors():
            # Some exit leads on to the latch of each loop around this one, so its first dispatch block is inside.
            outer.blocks.update(taken[e] for e in loop.uniform_exits)
            outer.blocks.update(
                b for i, b in enumerate(dispatch) if any(t in outer.blocks for t in targets[i:])
            )
            left = [
                (b, t) for b in dispatch for t in b.successors if b in outer.blocks and t not in outer.blocks
            ]
            for edge in [*loop.uniform_exits, *loop.divergent_exits]:
                outer.replace_exit(edge, left)
        self.summary.kept_exits = len(loop.uniform_exits)
        self.summary.rebound_exits = len(loop.divergent_exits)
        self.summary.trackers = len(trackers)


def _merge(block: BasicBlock, type: Type, name: str, values: dict[BasicBlock, Value]) -> Value:
    """A φ of `block`, or the value itself where all edges bring the same constant."""
    distinct = set(values.values())
    only = next(iter(distinct))
    if len(distinct) == 1 and not isinstance(only, Instruction):
        return only
    phi = Builder(block).phi(type, name)
    for source, value in values.items():
        phi.add_incoming(value, source)
    return phi


def _take_from(target: BasicBlock, source: BasicBlock, exit_phis: dict[Instruction, _Tracker]) -> None:
    """Let the φs of an exit block take the tracked values, over the one edge that is left."""
    for phi in target.phis():
        tracker = exit_phis[phi]
        assert tracker.final is not None
        for i in reversed(range(len(phi.blocks))):
            phi.remove_incoming(i)
        phi.add_incoming(tracker.final, source)


def _place_after(function: Function, block: BasicBlock, moved: Sequence[BasicBlock]) -> None:
    """Move blocks in the function's block list to right behind `block`."""
    rest = [b for b in function.blocks if b not in moved]
    at = rest.index(block) + 1
    function.blocks = [*rest[:at], *moved, *rest[at:]]

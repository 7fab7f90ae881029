"""Rebounding the exits of one divergent loop: the construction behind `divergent_loops` (Moll, §9.1.1).

Names follow the drawing there: N the new header with the φs of the old one, L the new latch, E the block on a
former exit edge, D the first of the blocks that send threads to their exits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from weft.ir import FALSE, TRUE, BasicBlock, Builder, Function, Instruction, Module, Poison, Value
from weft.ir.intrinsics import declare
from weft.ir.opcodes import OPCODES
from weft.ir.types import I1, VOID, Type
from weft.transform.linearization.masks import both, either, negated
from weft.transform.loops.loop_exits import Dispatch, Tracker
from weft.transform.loops.loop_shape import Edge, LoopShape, LoopSummary, preheader_of
from weft.transform.loops.still_lanes import shrinking_phis

SOON_LEFT = 0.5
"""A loop that threads stay in with no greater chance has few iterations."""


class LoopRebounding(Struct):
    """The transformation of one loop."""

    module: Module
    function: Function
    loop: LoopShape
    summary: LoopSummary
    is_varying: Callable[[Value], bool]

    def run(self) -> None:
        if self._asks_at_top():
            self._rebound_at_top()
        else:
            self._rebound()

    def _asks_at_top(self) -> bool:
        """Whether it is asked before an iteration's body who stays: its one exit is at the header, and soon taken.

        Of many iterations one more for nobody is a small part, and they are one block where the end asks.
        """
        header, exits = self.loop.header, [*self.loop.uniform_exits, *self.loop.divergent_exits]
        branch = header.terminator
        if (
            len(exits) != 1
            or exits[0][0] is not header
            or header in header.successors
            or branch.chance is None
        ):
            return False
        return (branch.chance if branch.blocks[1] is exits[0][1] else 1 - branch.chance) <= SOON_LEFT

    def _rebound_at_top(self) -> None:
        loop, function = self.loop, self.function
        header, preheader = loop.header, preheader_of(loop)
        latch = next(b for b in header.predecessors if b in loop.blocks)
        (edge,) = loop.divergent_exits
        target = edge[1]
        trackers, exit_phis = self._plan_values([target])
        for tracker in trackers:
            self._hold(tracker, latch)
        kept = self._kept_phis(trackers)
        new_header = function.add_block(f"{header.name}.live", after=preheader)
        dispatch = [function.add_block(f"{header.name}.dispatch")]
        _place_after(function, max(loop.blocks, key=function.blocks.index), dispatch)
        live = self._enter(preheader, new_header)
        branch = header.terminator
        goes_first = branch.blocks[0] is not target
        body, condition, loc = branch.blocks[not goes_first], branch.operands[0], branch.loc
        chance = branch.chance
        branch.erase()
        asks = Builder(header)
        asks.total, asks.loc = True, loc
        stay = both(asks, live, condition if goes_first else negated(asks, condition), "stay")
        for block in loop.blocks:
            if block.predicate is None:
                block.set_predicate(live if block is header else stay)
        live.add_incoming(stay, latch)
        for phi in list(header.phis()):
            phi.detach()
            new_header.insert(new_header.first_insertion, phi)
        latch.terminator.replace_operand(header, new_header)
        preheader.terminator.replace_operand(header, new_header)
        update = Builder(before=latch.terminator)
        update.total = True
        for phi in kept:
            _keep(phi, latch, stay, update)
        for tracker in trackers:
            if not tracker.held:
                track = Builder(new_header).phi(tracker.type, tracker.name)
                value = tracker.at_exit.get(edge, tracker.nothing)
                updated = asks.select(live, value, track, name=f"{tracker.name}.next")
                track.add_incoming(tracker.nothing, preheader)
                track.add_incoming(updated, latch)
                tracker.track = updated
        Builder(new_header).br(header)
        any_stays = asks.call(declare(self.module, "weft.any"), (stay,), name="stays")
        asked = asks.build("br", VOID, (any_stays,), blocks=(body, dispatch[0]), total=False)
        if chance is not None:
            asked.attrs["chance"] = chance if goes_first else 1 - chance
        sending = Dispatch(loop, dispatch, [target], [], exit_phis)
        sending.leave({}, header, live, trackers)
        sending.send()
        self._note([new_header], {}, dispatch, [target], trackers)

    def _enter(self, preheader: BasicBlock, new_header: BasicBlock) -> Instruction:
        """The mask of live threads: at first of all that enter."""
        entering = Builder(before=preheader.terminator).call(
            declare(self.module, "weft.mask"), (), name="entering"
        )
        live = Builder(new_header).phi(I1, "live", shadow=FALSE)
        live.add_incoming(entering, preheader)
        return live

    def _rebound(self) -> None:
        loop, function = self.loop, self.function
        header, preheader = loop.header, preheader_of(loop)
        latch = next(b for b in header.predecessors if b in loop.blocks)
        body = [b for b in function.blocks if b in loop.blocks]
        exits = [*loop.uniform_exits, *loop.divergent_exits]
        targets = list(dict.fromkeys(target for _, target in exits))
        trackers, exit_phis = self._plan_values(targets)
        masks = [self._exit_mask(t, exits) for t in targets[:-1]]
        for tracker in trackers:
            self._hold(tracker, latch)
        kept = self._kept_phis(trackers)

        new_header = function.add_block(f"{header.name}.live", after=preheader)
        new_latch = function.add_block(f"{header.name}.latch", after=body[-1])
        dispatch = [function.add_block(f"{header.name}.dispatch") for _ in targets[1:] or targets]
        _place_after(function, new_latch, dispatch)
        live = self._enter(preheader, new_header)
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
        live_next = update.select(live, stays, FALSE, name="live.next")
        live.add_incoming(live_next, new_latch)
        for phi in kept:
            _keep(phi, new_latch, live_next, update)
        for tracker in [*masks, *trackers]:
            if not tracker.held:
                self._track(tracker, preheader, new_header, latch, new_latch, taken, live, update)
        update.build("br", VOID, blocks=(new_header,), total=False)
        for block in rebound:
            Builder(block).br(new_latch)

        test = Builder(new_header)
        any_live = test.call(declare(self.module, "weft.any"), (live,), name="stay")
        any_live.total = True
        test.cond_br(any_live, header, dispatch[0])
        sending = Dispatch(loop, dispatch, targets, masks, exit_phis)
        sending.leave(taken, new_header, live, [*masks, *trackers])
        sending.send()
        self._note([new_header, new_latch], taken, dispatch, targets, trackers)

    def _plan_values(self, targets: Sequence[BasicBlock]) -> tuple[list[Tracker], dict[Instruction, Tracker]]:
        """One tracker for each value, or set of values, that the φs of the exit blocks take.

        A value that comes from outside the loop needs none: it is the same in every iteration.
        """
        trackers: dict[tuple[object, ...], Tracker] = {}
        of_phi: dict[Instruction, Tracker] = {}
        for target in targets:
            for phi in target.phis():
                values = tuple(phi.operands)
                if len(set(values)) == 1 and not self._is_inside(values[0]):
                    of_phi[phi] = Tracker(phi.name, phi.type, {}, final=values[0])
                    continue
                # φs of different exits that take the same single value share its tracker: a thread takes one exit.
                key = ("value", values[0]) if len(set(values)) == 1 else ("phi", phi)
                tracker = trackers.get(key)
                if tracker is None:
                    tracker = trackers[key] = Tracker(f"{phi.name}.track", phi.type, {})
                tracker.at_exit.update(((source, target), value) for value, source in phi.incoming())
                of_phi[phi] = tracker
        return list(trackers.values()), of_phi

    def _hold(self, tracker: Tracker, latch: BasicBlock) -> None:
        """Let a φ of the header keep the value itself, where each iteration chooses anew whether to change it.

        Then to leave it unchanged for threads that have left is one more condition of that choice.
        """
        values = set(tracker.at_exit.values())
        value = values.pop()
        cast = value if isinstance(value, Instruction) and OPCODES[value.op].form == "cast" else None
        phi = value if cast is None else cast.operands[0]
        if values or not isinstance(phi, Instruction) or not phi.is_phi or phi.block is not self.loop.header:
            return
        following = phi.incoming_value(latch)
        if not isinstance(following, Instruction) or not self.is_varying(phi):
            return
        if phi.shadow is None and following.op in ("select", "phi") and phi in following.operands:
            tracker.track, tracker.cast, tracker.held = phi, cast, True

    def _kept_phis(self, trackers: Sequence[Tracker]) -> list[Instruction]:
        """The header's φs that threads keep when they have left, to be read behind the loop or to stay still."""
        held = [t.track for t in trackers if t.held and t.track is not None]
        still = (phi for phi in shrinking_phis(self.loop) if phi.shadow is None and self.is_varying(phi))
        return list(dict.fromkeys([*held, *still]))

    def _is_inside(self, value: Value) -> bool:
        return isinstance(value, Instruction) and value.block in self.loop.blocks

    def _exit_mask(self, target: BasicBlock, exits: Sequence[Edge]) -> Tracker:
        values: dict[Edge, Value] = {e: TRUE if e[1] is target else FALSE for e in exits}
        return Tracker(f"{target.name}.mask", I1, values, is_mask=True)

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
        tracker: Tracker,
        preheader: BasicBlock,
        new_header: BasicBlock,
        latch: BasicBlock,
        new_latch: BasicBlock,
        taken: dict[Edge, BasicBlock],
        live: Instruction,
        update: Builder,
    ) -> None:
        """φ of N and update in L: live threads take the value at their exit, others keep theirs."""
        nothing = tracker.nothing
        track = Builder(new_header).phi(tracker.type, tracker.name)
        values: dict[BasicBlock, Value] = {latch: nothing}
        for edge in self.loop.divergent_exits:
            values[taken[edge]] = tracker.at_exit.get(edge, nothing)
        now = _merge(new_latch, tracker.type, f"{tracker.name}.now", values)
        track.add_incoming(nothing, preheader)
        name = f"{tracker.name}.next"
        if tracker.is_mask:
            # A live thread has not left before.
            updated = either(update, both(update, live, now), track, name)
        else:
            updated = update.select(live, now, track, name=name)
        track.add_incoming(updated, new_latch)
        tracker.track = track

    def _note(
        self,
        made: Sequence[BasicBlock],
        taken: dict[Edge, BasicBlock],
        dispatch: Sequence[BasicBlock],
        targets: Sequence[BasicBlock],
        trackers: Sequence[Tracker],
    ) -> None:
        """Keep the loops' block sets, the exits of outer loops and the summary up to date; `made` begins the loop."""
        loop = self.loop
        loop.header = made[0]
        leaving = [taken[e] for e in loop.divergent_exits if e in taken]
        for block in (*made, *leaving):
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
        self.summary.trackers = sum(not t.held for t in trackers)
        self.summary.leaving = leaving


def _keep(phi: Instruction, latch: BasicBlock, stays: Value, update: Builder) -> None:
    i = phi.blocks.index(latch)
    phi.set_operand(i, update.select(stays, phi.operands[i], phi, name=f"{phi.name}.held"))


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


def _place_after(function: Function, block: BasicBlock, moved: Sequence[BasicBlock]) -> None:
    """Move blocks in the function's block list to right behind `block`."""
    rest = [b for b in function.blocks if b not in moved]
    at = rest.index(block) + 1
    function.blocks = [*rest[:at], *moved, *rest[at:]]

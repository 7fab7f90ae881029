"""Behind a loop whose exits were rebounded (Moll, §9.1.1): tracked values, masks, and ways to the old exits.

The dispatch blocks of the drawing in `divergent_loops`: D is where all threads leave together; there and in the
blocks behind it the exit masks send each thread to its own exit.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.ir import FALSE, BasicBlock, Builder, Constant, Instruction, Poison, Value
from weft.ir.types import VOID, Type
from weft.transform.loops.loop_shape import Edge, LoopShape


class Tracker(Struct, eq=False):
    """A value kept for threads that have left: one value for each exit edge that sets it.

    Parameters
    ----------
    name, type
        Of the value.
    at_exit
        The value on each exit edge.
    is_mask
        For an exit mask the value is true on the edges to one exit block and false on all others.
    track
        The φ of the loop's header that holds the value.
    final
        The value behind the loop.
    held
        Whether `track` is a φ that the loop had already, which threads keep when they have left.
    cast
        What turns `track` into the value, where it is no φ of the header but made from one.
    """

    name: str
    type: Type
    at_exit: dict[Edge, Value]
    is_mask: bool = False
    track: Instruction | None = None
    final: Value | None = None
    held: bool = False
    cast: Instruction | None = None

    @property
    def nothing(self) -> Value:
        """What is tracked for a thread that has not left by one of these edges."""
        return FALSE if self.is_mask else Poison(self.type)


class Dispatch(Struct):
    """The blocks behind a loop that send threads to `targets`; one mask for each target but the last."""

    loop: LoopShape
    blocks: Sequence[BasicBlock]
    targets: Sequence[BasicBlock]
    masks: Sequence[Tracker]
    of_phi: dict[Instruction, Tracker]

    def leave(
        self, taken: dict[Edge, BasicBlock], header: BasicBlock, live: Value, trackers: Sequence[Tracker]
    ) -> None:
        """Uniform exits go straight to D, live threads with the values there, the others with what is tracked."""
        first = self.blocks[0]
        for tracker in trackers:
            assert tracker.track is not None
            final = tracker.final = Builder(first).phi(
                tracker.track.type, tracker.name.removesuffix(".track")
            )
            final.add_incoming(tracker.track, header)
        for edge in self.loop.uniform_exits:
            builder = Builder(taken[edge])
            builder.total = True
            for tracker in trackers:
                assert tracker.track is not None and isinstance(tracker.final, Instruction)
                value: Value = tracker.track
                if not tracker.held:
                    at_exit = tracker.at_exit.get(edge, tracker.nothing)
                    value = builder.select(live, at_exit, value, name=f"{tracker.final.name}.here")
                tracker.final.add_incoming(value, taken[edge])
            builder.build("br", VOID, blocks=(first,), total=False)
        for tracker in trackers:
            if tracker.cast is not None:
                assert tracker.final is not None
                again = tracker.cast.clone()
                again.set_operand(0, tracker.final)
                tracker.final = Builder(first).insert(again)

    def send(self) -> None:
        """D and its successors branch on the exit masks; the φs of the exits take the tracked values."""
        for i, block in enumerate(self.blocks):
            if i and self._leaves_a_loop(i):
                self._close_over(i)
            if not self.masks:
                reached = [self.targets[0]]
                Builder(block).br(*reached)
            else:
                mask = self.masks[i].final
                assert mask is not None
                is_last = i + 1 == len(self.blocks)
                reached = [self.targets[i], *([self.targets[-1]] if is_last else [])]
                Builder(block).cond_br(mask, self.targets[i], reached[1] if is_last else self.blocks[i + 1])
            for target in reached:
                self._take_from(target, block)

    def _leaves_a_loop(self, i: int) -> bool:
        """Whether dispatch block `i` lies outside a loop that the one before it lies in."""
        return any(
            self.targets[i - 1] in outer.blocks and not any(t in outer.blocks for t in self.targets[i:])
            for outer in self.loop.ancestors()
        )

    def _close_over(self, i: int) -> None:
        """Loop-closed form: what is needed from dispatch block `i` on enters it through φs."""
        behind = self.targets[i:]
        needed = [*self.masks[i:], *(t for phi, t in self.of_phi.items() if phi.block in behind)]
        for tracker in dict.fromkeys(needed):
            assert tracker.final is not None
            if isinstance(tracker.final, Constant):
                continue
            phi = Builder(self.blocks[i]).phi(tracker.type, tracker.final.name)
            phi.add_incoming(tracker.final, self.blocks[i - 1])
            tracker.final = phi

    def _take_from(self, target: BasicBlock, source: BasicBlock) -> None:
        """Let the φs of an exit block take the tracked values, over the one edge that is left."""
        for phi in target.phis():
            tracker = self.of_phi[phi]
            assert tracker.final is not None
            for i in reversed(range(len(phi.blocks))):
                phi.remove_incoming(i)
            phi.add_incoming(tracker.final, source)

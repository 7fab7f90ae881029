"""Liveness: which values are still needed at a program point.

Program points are numbered: point ``i`` of a block lies before its ``i``-th instruction, and point
``len(block.instructions)`` at its end. A φ is defined at point 0 of its block and uses each incoming value at
the end of the incoming block; block predicates are used at point 0, unless the block computes its own, shadows
and guards where the instruction stands. Barriers are ordinary points: what a continuation (Karrenberg and Hack,
§2.3) must save is what is live right after the barrier.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Argument, BasicBlock, Function, Instruction, Value

ValueSet = dict[Value, None]
"""A set of values in a deterministic order."""


def _is_tracked(value: Value) -> bool:
    return isinstance(value, (Instruction, Argument))


def _local_uses(instruction: Instruction) -> list[Value]:
    """Values used at the instruction itself: not the incoming values of a φ, which are used on its edges."""
    used = instruction.used_values() if not instruction.is_phi else iter(())
    values = [v for v in used if _is_tracked(v)]
    if instruction.is_phi and instruction.shadow is not None and _is_tracked(instruction.shadow):
        values.append(instruction.shadow)
    return values


class Liveness(Struct):
    """Live values at block borders, and by walking a block at each point inside.

    ``live_in[b]`` holds at point 0 without the block's own φs; ``live_out[b]`` at the end, with the values
    that φs of successors take on the edges from `b`.
    """

    live_in: dict[BasicBlock, ValueSet]
    live_out: dict[BasicBlock, ValueSet]

    def at(self, block: BasicBlock, point: int) -> ValueSet:
        """The values live at `point` of `block`: defined before it and used at it or later."""
        live = dict(self.live_out[block])
        for instruction in reversed(block.instructions[point:]):
            live.pop(instruction, None)
            live.update(dict.fromkeys(_local_uses(instruction)))
        return live

    def after(self, instruction: Instruction) -> ValueSet:
        """The values live right after `instruction`, without its own result."""
        block = instruction.block
        assert block is not None
        live = self.at(block, block.instructions.index(instruction) + 1)
        live.pop(instruction, None)
        return live


def liveness(function: Function) -> Liveness:
    """Solve the backward data-flow problem to its least fixed point."""
    upward: dict[BasicBlock, ValueSet] = {}
    defined: dict[BasicBlock, ValueSet] = {}
    on_edges: dict[BasicBlock, ValueSet] = {b: {} for b in function.blocks}
    for block in function.blocks:
        uses: ValueSet = {}
        definitions: ValueSet = {}
        if block.predicate is not None and _is_tracked(block.predicate):
            uses[block.predicate] = None
        for instruction in block.instructions:
            for value in _local_uses(instruction):
                if value not in definitions:
                    uses[value] = None
            definitions[instruction] = None
            if instruction.is_phi:
                for value, source in instruction.incoming():
                    if _is_tracked(value):
                        on_edges[source][value] = None
        uses = {v: None for v in uses if v not in definitions}
        upward[block], defined[block] = uses, definitions

    live_in = {b: dict(upward[b]) for b in function.blocks}
    live_out = {b: dict(on_edges[b]) for b in function.blocks}
    work = dict.fromkeys(reversed(function.blocks))
    while work:
        block = next(iter(work))
        del work[block]
        out = live_out[block]
        for successor in block.successors:
            out.update(live_in[successor])
        before = len(live_in[block])
        inner = defined[block]
        live_in[block].update((v, None) for v in out if v not in inner)
        if len(live_in[block]) != before:
            work.update(dict.fromkeys(block.predecessors))
    return Liveness(live_in, live_out)

"""Where a loop has been unrolled: two loops, one behind the other, or a loop and what is left of it written out.

    before: br ..., middle, first.preheader          first: the first loop, of one block
    middle: φ from before and the first loop; br ..., after, second.preheader          second: the second one

In place of the second loop there may be a chain of blocks, each of which goes on to the next one or leaves to `after`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from weft.ir import BasicBlock, Function, Instruction, Value


class OneBlockLoop(Struct, frozen=True):
    """A loop of one block.

    Parameters
    ----------
    preheader, body, exit
        The blocks before it, the loop, and where it is left to; the first and last go nowhere else.
    """

    preheader: BasicBlock
    body: BasicBlock
    exit: BasicBlock

    @property
    def blocks(self) -> tuple[BasicBlock, ...]:
        return self.preheader, self.body, self.exit

    @property
    def phis(self) -> list[Instruction]:
        return list(self.body.phis())

    def following(self, phi: Instruction) -> Value:
        """What a φ becomes in the next round."""
        return phi.incoming_value(self.body)

    def first(self, phi: Instruction) -> Value:
        """What it is in the first round."""
        return phi.incoming_value(self.preheader)

    def handed_on(self, value: Value) -> Value:
        """What stands for a value of the loop behind it."""
        if (
            isinstance(value, Instruction)
            and value.is_phi
            and value.block is self.exit
            and len(value.operands) == 1
        ):
            return value.operands[0]
        return value


class Pair(Struct, frozen=True):
    """Two loops.

    Parameters
    ----------
    before, middle, after
        The blocks around them.
    first, second
        The loops; the second one may be a chain of blocks.
    """

    before: BasicBlock
    first: OneBlockLoop
    middle: BasicBlock
    second: OneBlockLoop | None
    chain: tuple[BasicBlock, ...]
    after: BasicBlock

    @property
    def blocks(self) -> set[BasicBlock]:
        """What is between before and after."""
        return {*self.first.blocks, self.middle, *(self.second.blocks if self.second else self.chain)}


def pairs(function: Function) -> Iterator[Pair]:
    """The places of this form in a function."""
    for body in function.blocks:
        first = _loop(body)
        if first is None:
            continue
        before, middle = _only(first.preheader.predecessors), _only(first.exit.successors)
        if before is None or middle is None or not _is_way_around(before, first.preheader, middle):
            continue
        if set(middle.predecessors) != {before, first.exit} or len(middle.successors) != 2:
            continue
        for after, way in (middle.successors, middle.successors[::-1]):
            body = _only(way.successors)
            second = _loop(body) if body is not None else None
            if second is not None and second.preheader is way and _only(second.exit.successors) is after:
                found = Pair(before, first, middle, second, (), after)
            elif chain := _chain(way, after):
                found = Pair(before, first, middle, None, chain, after)
            else:
                continue
            if _is_closed(found):
                yield found


def _loop(body: BasicBlock) -> OneBlockLoop | None:
    if body not in body.successors or len(body.successors) != 2:
        return None
    before = _only([b for b in body.predecessors if b is not body])
    exit = _only([b for b in body.successors if b is not body])
    if before is None or exit is None or len(before.successors) != 1 or len(exit.successors) != 1:
        return None
    if list(exit.predecessors) != [body] or any(True for i in exit.non_phis() if not i.is_terminator):
        return None
    return OneBlockLoop(before, body, exit)


def _chain(way: BasicBlock, after: BasicBlock) -> tuple[BasicBlock, ...]:
    found: list[BasicBlock] = []
    while len(way.predecessors) == 1 and not any(True for _ in way.phis()):
        found.append(way)
        on = [b for b in way.successors if b is not after]
        if not on:
            return tuple(found)
        if len(on) != 1 or after not in way.successors:
            break
        way = on[0]
    return ()


def _is_way_around(before: BasicBlock, way: BasicBlock, middle: BasicBlock) -> bool:
    return (
        len(before.successors) == 2 and set(before.successors) == {way, middle} and len(way.predecessors) == 1
    )


def _is_closed(pair: Pair) -> bool:
    """Whether nothing outside uses what is computed there, but φs behind it."""
    inside = pair.blocks
    return all(
        user.block in inside or (user.is_phi and user.block is pair.after)
        for block in inside
        for i in block.instructions
        for user in i.instruction_users()
    )


def _only(blocks: Iterable[BasicBlock]) -> BasicBlock | None:
    found = list(blocks)
    return found[0] if len(found) == 1 else None

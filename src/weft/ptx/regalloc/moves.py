"""Moves that happen at once on an edge, as instructions at places in the text.

A set of moves becomes a sequence in which nothing is overwritten that is still needed; what goes around in a circle is
swapped by three ``xor``, which take no register. They stand at the end of the block before the edge, or at the begin of
the one behind it, or, where neither is on that edge alone, in a block of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weft.ptx.flow import Flow
from weft.ptx.instructions import Effect, variant_of
from weft.ptx.regalloc.allocation import Allocation, Move, Words
from weft.ptx.syntax import Instruction, Label, Register, Statement, Symbol

RegisterOf = Callable[[str, Words], Register]


@dataclass(slots=True)
class PlacedMoves:
    """Moves by where they go.

    Attributes
    ----------
    before, behind
        By the position of a statement of the body.
    ahead
        By the number of an instruction: right before it, behind its reloads.
    replaced
        Statements in place of others.
    at_end
        Behind the body.
    made
        All instructions that were made.
    """

    before: dict[int, list[Statement]] = field(default_factory=dict)
    behind: dict[int, list[Statement]] = field(default_factory=dict)
    ahead: dict[int, tuple[Instruction, ...]] = field(default_factory=dict)
    replaced: dict[int, Statement] = field(default_factory=dict)
    at_end: list[Statement] = field(default_factory=list)
    made: list[Instruction] = field(default_factory=list)


def place_moves(flow: Flow, allocation: Allocation, register_of: RegisterOf) -> PlacedMoves:
    """Where the moves of an allocation go.

    Parameters
    ----------
    flow
        The body; no block with moves on its edges ends with ``brx``.
    allocation
        Its moves.
    register_of
        How a value in some words is called.
    """
    placed = PlacedMoves()
    first = _first_instructions(flow)
    for (block, successor), moves in allocation.moves.items():
        code = sequence(moves, register_of)
        if not code:
            continue
        placed.made += code
        where = flow.blocks[block]
        last = _last(flow, block)
        if len(flow.cfg.distinct_preds(successor)) == 1:
            placed.before.setdefault(_begin(flow, successor), []).extend(code)
        elif len(flow.cfg.distinct_succs(block)) == 1:
            if last is not None and variant_of(last).effects & Effect.BRANCH:
                number = first[block] + len(flow.instructions(block)) - 1
                placed.ahead[number] = (*placed.ahead.get(number, ()), *code)
            else:
                placed.behind.setdefault(where.last - 1, []).extend(code)
        elif successor == flow.cfg.succs[block][-1]:
            # Only what does not branch comes by here.
            placed.behind.setdefault(where.last - 1, []).extend(code)
        else:
            _on_the_way(flow, block, successor, code, placed)
    return placed


def _on_the_way(flow: Flow, block: int, successor: int, code: list[Instruction], placed: PlacedMoves) -> None:
    position = flow.blocks[block].last - 1
    branch = (flow.function.body or [])[position]
    assert isinstance(branch, Instruction)
    target = branch.operands[-1]
    assert isinstance(target, Symbol)
    label = f"$moves_{block}_{successor}"
    placed.replaced[position] = dataclasses.replace(branch, operands=(*branch.operands[:-1], Symbol(label)))
    if not placed.at_end:
        placed.at_end.append(Instruction("ret"))
    placed.at_end += [Label(label), *code, Instruction("bra", (), (target,))]


def _first_instructions(flow: Flow) -> list[int]:
    first, count = [], 0
    for block in range(len(flow.blocks)):
        first.append(count)
        count += len(flow.instructions(block))
    return first


def _last(flow: Flow, block: int) -> Instruction | None:
    row = flow.instructions(block)
    return row[-1] if row else None


def _begin(flow: Flow, block: int) -> int:
    """The position of the first statement of a block behind its labels."""
    where = flow.blocks[block]
    body = flow.function.body or []
    position = where.first
    while position < where.last - 1 and isinstance(body[position], Label):
        position += 1
    return position


def sequence(moves: Sequence[Move], register_of: RegisterOf) -> list[Instruction]:
    """Moves that happen at once, one after the other."""
    code: list[Instruction] = []
    waiting: dict[str, tuple[str, int]] = {}
    for move in moves:
        source, target = register_of(move.register, move.source), register_of(move.register, move.target)
        if source != target:
            waiting[target.name] = (source.name, 0)
    sizes = {
        register_of(m.register, m.target).name: _suffix(register_of(m.register, m.target).name, m)
        for m in moves
    }
    while waiting:
        needed = {source for source, _ in waiting.values()}
        ready = [target for target in waiting if target not in needed]
        if ready:
            for target in ready:
                source, _ = waiting.pop(target)
                code.append(Instruction("mov", (sizes[target],), (Register(target), Register(source))))
            continue
        # All that is left goes around in circles: swapping settles one register of a circle at a time.
        target, (source, _) = next(iter(waiting.items()))
        code += _swap(target, source, sizes[target])
        del waiting[target]
        for other, (theirs, size) in list(waiting.items()):
            if theirs == target:
                if other == source:
                    del waiting[other]
                else:
                    waiting[other] = (source, size)
    return code


def _suffix(name: str, move: Move) -> str:
    return {1: "b32", 2: "b64"}[len(move.target)]


def _swap(one: str, other: str, type: str) -> list[Instruction]:
    a, b = Register(one), Register(other)
    return [
        Instruction("xor", (type,), (a, a, b)),
        Instruction("xor", (type,), (b, b, a)),
        Instruction("xor", (type,), (a, a, b)),
    ]

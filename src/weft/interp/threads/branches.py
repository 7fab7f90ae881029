"""Semantics of terminators: where threads go (Moll, Fig. 4.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import BlockCode, EdgeKey
from weft.interp.faults import FaultKind
from weft.interp.lanes import Lanes, is_poison
from weft.interp.threads.active import EMPTY, ActiveSet
from weft.ir.block import BasicBlock
from weft.ir.instruction import Instruction
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Terminate = Callable[["Frame", BlockCode], None]
Numbers = dict[BasicBlock, int]


def decode_br(decoder: Decoder, i: Instruction, code: BlockCode, numbers: Numbers) -> Terminate:
    """``br``, with or without a condition."""
    source = code.number
    first = numbers[i.blocks[0]]
    key = code.edges[first]
    if not i.operands:
        # Passive threads accept any successor, and there is only this one.
        return lambda frame, block: frame.go(source, key, frame.control)
    slot = decoder.slot(i.operands[0])
    second = numbers[i.blocks[1]]
    other = code.edges[second]
    voted = _is_vote_of_all(i.operands[0])

    def terminate(frame: Frame, block: BlockCode) -> None:
        active = frame.active
        taken = not_taken = EMPTY
        if active.count:
            condition = frame.env[slot]
            if condition.flags is not None:
                _check_condition(frame, i, condition, active)
            taken, not_taken = active.split(condition.data)
            for listener in frame.machine.hooks.on_branch:
                listener(frame.machine, i, [(0, taken), (1, not_taken)])
            if taken.count:
                frame.go(source, key, taken)
            if not_taken.count:
                frame.go(source, other, not_taken)
        if active is not frame.control:
            leading = [(k, t) for k, t in ((key, taken), (other, not_taken)) if t.count]
            if voted:
                # The same for all threads of a lane group, active ones and others.
                condition = frame.env[slot]
                for k, threads in zip((key, other), frame.control.split(condition.data), strict=True):
                    if threads.count:
                        leading.append((k, threads))
            frame.send_passive(block, leading)

    return terminate


def _is_vote_of_all(condition: Value) -> bool:
    """Whether a condition is what all threads of a lane group have said, whichever are active."""
    return (
        isinstance(condition, Instruction)
        and condition.total
        and condition.callee_name in ("weft.any", "weft.all")
    )


def _check_condition(frame: Frame, i: Instruction, condition: Lanes, active: ActiveSet) -> None:
    poison = is_poison(condition.flags)
    if poison is None:
        return
    culprits = active.split(poison)[0]
    if culprits.count:
        machine = frame.machine
        machine.fault(FaultKind.POISON, i, culprits.mask(machine.lanes), "branch on a value that is poison")


def decode_switch(decoder: Decoder, i: Instruction, code: BlockCode, numbers: Numbers) -> Terminate:
    """``switch``: the target of the equal case, else the default."""
    slot = decoder.slot(i.operands[0])
    source = code.number
    default = code.edges[numbers[i.blocks[0]]]
    cases = [
        (value, code.edges[numbers[target]], position)
        for position, (value, target) in enumerate(zip(i.attrs["cases"], i.blocks[1:], strict=True), 1)
    ]

    def terminate(frame: Frame, block: BlockCode) -> None:
        rest = frame.active
        leading: list[tuple[EdgeKey, ActiveSet]] = []
        if rest.count:
            value = frame.env[slot]
            _check_condition(frame, i, value, rest)
            targets: list[tuple[int, ActiveSet]] = []
            for number, key, position in cases:
                if not rest.count:
                    break
                equal, rest = rest.split(value.data == number)
                if equal.count:
                    frame.go(source, key, equal)
                    leading.append((key, equal))
                    targets.append((position, equal))
            if rest.count:
                frame.go(source, default, rest)
                leading.append((default, rest))
                targets.append((0, rest))
            for listener in frame.machine.hooks.on_branch:
                listener(frame.machine, i, targets)
        if frame.active is not frame.control:
            frame.send_passive(block, leading)

    return terminate


def decode_ret(decoder: Decoder, i: Instruction, code: BlockCode, numbers: Numbers) -> Terminate:
    """``ret``: the active threads leave the function."""
    slot = decoder.slot(i.operands[0]) if i.operands else -1

    def terminate(frame: Frame, block: BlockCode) -> None:
        frame.finish(frame.env[slot] if slot >= 0 else None)

    return terminate


def decode_unreachable(decoder: Decoder, i: Instruction, code: BlockCode, numbers: Numbers) -> Terminate:
    """``unreachable``: undefined behaviour for whoever gets there."""

    def terminate(frame: Frame, block: BlockCode) -> None:
        machine = frame.machine
        if frame.active.count:
            where = np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,))
            machine.fault(FaultKind.UNREACHABLE, i, where, "unreachable code was reached")
        frame.active = EMPTY
        frame.finish(None)

    return terminate

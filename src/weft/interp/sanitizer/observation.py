"""Telling hooks which values are assigned, and for which threads they are defined (Moll, Def. 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import BlockCode, Edges, Mode, Step
from weft.interp.threads.active import all_lanes
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.frame import Frame


def observe_step(frame: Frame, step: Step) -> None:
    """Report an instruction other than a φ: defined where it was active, everywhere if total."""
    if step.slot < 0:
        return
    lanes = frame.machine.lanes
    threads = frame.machine.everyone if step.mode == Mode.TOTAL else frame.active
    mask = threads.mask(lanes) if threads.count else np.zeros(lanes, np.bool_)
    _tell(frame, step.slot, step.instruction, mask)


def observe_phis(frame: Frame, block: BlockCode, edges: Edges) -> None:
    """Report the φs of a block: defined where control enters and the incoming value, or shadow, is."""
    outside = ~np.broadcast_to(frame.control.mask(frame.machine.lanes), (frame.machine.lanes,))
    masks: list[np.ndarray] = []
    for phi in block.phis:
        inherited = [
            threads.mask(frame.machine.lanes) & _defined(frame, phi.sources[source])
            for source, threads in edges
        ]
        mask = np.bitwise_or.reduce(inherited)
        if phi.shadow >= 0:
            mask = mask | (outside & _defined(frame, phi.shadow))
        masks.append(mask)
    for phi, mask in zip(block.phis, masks, strict=True):
        _tell(frame, phi.slot, phi.instruction, mask)


def _defined(frame: Frame, slot: int) -> np.ndarray:
    """Where a value is defined: everywhere for constants and arguments."""
    known = frame.definitions.get(slot)
    return all_lanes(frame.machine.lanes) if known is None else known


def _tell(frame: Frame, slot: int, instruction: Instruction, mask: np.ndarray) -> None:
    known = frame.definitions.get(slot)
    # What a thread was assigned stays its own under FR; under OBL a passive thread loses it.
    frame.definitions[slot] = mask if known is None or frame.oblivious else known | mask
    for listener in frame.machine.hooks.on_value:
        listener(frame.machine, instruction, frame.env[slot], mask)

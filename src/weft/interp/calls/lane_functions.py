"""Lane functions: a call by one thread runs them in as many lanes as their attribute ``weft.lanes`` says.

The body of a parallel loop is one until it is vectorized (`weft.codegen.parallel.parallel_loops`). Of a lane group that
calls one, each thread has lanes of its own, one thread after the other. With the attribute ``weft.oblivious`` its
passive lanes get ⊤ (OBL).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.lanes import Bundle, Lanes, LaneValue
from weft.interp.threads.active import ActiveSet
from weft.interp.threads.geometry import Geometry
from weft.ir.intrinsics import OBLIVIOUS_ATTRIBUTE

if TYPE_CHECKING:
    from weft.interp.frame import Frame
    from weft.ir.function import Function


def run_in_lanes(
    frame: Frame, callee: Function, extents: tuple[int, ...], arguments: list[LaneValue], active: ActiveSet
) -> None:
    """Run a lane function, which returns nothing, for each active thread of a frame in a box of lanes."""
    machine, frame_of = frame.machine, type(frame)
    code = machine.image.program.code(callee)
    x, y, z = (*extents, 1, 1)[:3]
    block = (x, y, z)
    oblivious = callee.attribute(OBLIVIOUS_ATTRIBUTE) is not None
    for thread in np.flatnonzero(np.broadcast_to(active.mask(machine.lanes), (machine.lanes,))):
        lanes = machine.beside(Geometry((1, 1, 1), block, width=prod(extents)), oblivious)
        frame_of(lanes, code).run([_of_thread(a, int(thread)) for a in arguments], lanes.everyone)
        machine.steps = lanes.steps


def _of_thread(value: LaneValue, thread: int) -> LaneValue:
    """A thread's value, the same in all lanes."""
    if isinstance(value, Bundle):
        return Bundle(tuple(_of_thread(member, thread) for member in value.members))
    return Lanes(_row(value.data, thread), None if value.flags is None else _row(value.flags, thread))


def _row(data: np.ndarray, thread: int) -> np.ndarray:
    return data if data.shape[0] == 1 else data[thread : thread + 1]

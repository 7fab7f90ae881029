"""The pass that vectorizes the bodies of parallel loops, which the lists for loops share."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from weft.codegen.lanes.lane_passes import LANES
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.order.walks import by_own_stacks
from weft.codegen.parallel.parallel_loops import StripMinedLoop, widen_loop
from weft.codegen.said.box_remarks import remark_box
from weft.codegen.said.remarks import remark_alone, remark_vectorization
from weft.codegen.trials import BOTH_WAYS
from weft.diag.remarks import RemarkKind
from weft.passes.declared import Meaning, Pass
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.passes.runner import Runner
from weft.passes.stages import StageLog, heard_through
from weft.target.vector_math import math_finder


def _run_in_lanes(unit: LoopUnit) -> bool:
    find_math = _no_math if unit.exact_math else math_finder(unit.math, unit.spec)
    for found in unit.loops:
        if found.mined.lane_functions:
            switches = unit.switches
            if found.in_step:
                # What one iteration alone may load earlier another one may write.
                switches = replace(switches, scalar_replacement="off")
            for mined in (found.mined, found.totals):
                if mined is not None:
                    unit.called |= widen_loop(
                        unit.module, mined, find_math, unit.boscc, _runner(unit, mined), switches
                    )
            if found.own_stacks is not None:
                own, runner = found.own_stacks, by_own_stacks(unit.runner.watched_by())
                unit.called |= widen_loop(unit.module, own, find_math, unit.boscc, runner, switches)
        _remark(unit, found)
    for name, summary in unit.called.items():
        remark_vectorization(unit.remarks, name, "called once for all of them", summary, "iterations")
    # The passes that this is made of have been seen one by one.
    return False


def _no_math(callee: str, lanes: int) -> None:
    """Each lane calls the scalar function."""


def _remark(unit: LoopUnit, found: FoundLoop) -> None:
    mined, subject = found.mined, found.subject
    if mined.alone is not None:
        remark_alone(unit.remarks, mined.alone, "iterations")
    if mined.width > 1:
        remark_vectorization(
            unit.remarks, subject, mined.plan.choice.reason, mined.summary, "iterations", found.span, found.behind
        )  # fmt: skip
        remark_box(unit.remarks, mined.summary.functions, mined.lanes, unit.isa, "iteration", found.span)
        if mined.plan.open_choice is not None:
            other = "iterations one after the other"
            if found.own_stacks is not None:
                other = "iterations in lanes that each walk by a stack of its own"
            message = (
                f"{subject} has code for {other}, too, as the data decide what is faster: calls try both"
            )
            unit.remarks.add(RemarkKind.TRANSFORM, message, found.span, pass_name=BOTH_WAYS)
        return
    because = f", because {mined.plan.obstacle}" if mined.plan.obstacle else f", {mined.plan.choice.reason}"
    message = f"{subject} runs iteration after iteration{found.behind}{because}"
    unit.remarks.add(RemarkKind.LANE_BY_LANE, message, found.span, pass_name="parallel loops")


def _runner(unit: LoopUnit, mined: StripMinedLoop) -> Runner:
    """The runner for passes on the lane functions of a loop, of which the log hears what they mean."""
    whole = mined.outlined.body.name
    return heard_through(unit.runner, lambda log: _LaneLog(unit, whole, log))


class _LaneLog(Struct, frozen=True):
    """Tells the log of the function of a pass on the body of one of its loops, `whole` for whole lane groups."""

    unit: LoopUnit
    whole: str
    log: StageLog

    def __call__(self, done: Pass[Any], unit: LaneUnit) -> None:
        if done.meaning is Meaning.BOTH:
            self.unit.oblivious.add(unit.function.name)
        self.log.keep(done.name + ("" if unit.source == self.whole else " (partial lane groups)"))


IN_LANES: Pass[LoopUnit] = Pass(
    "lanes",
    "bodies of parallel loops run as SIMD code, lane group by lane group",
    _run_in_lanes,
    Meaning.SCALAR,
    applies=lambda unit: bool(unit.loops),
    parts=LANES,
    source="Moll, §3.1",
)

"""The check of functions of other compilers, which nobody calls here: of their loops, and of versions for W lanes.

A function whose loops become SIMD code is whole behind every pass, and is called with arguments that are made up or
that the user gives. A version for W lanes is compared with the function itself, run once for each lane.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analysis.shapes import Shape
from weft.check.budget import MAX_ENTRY_STEPS, Budget, TooLong
from weft.check.compare import first_difference, slack_of
from weft.check.generate import Arguments
from weft.check.inputs import Content, LaunchInputs, Workspace
from weft.check.iterations import IterationRaces
from weft.check.prepare import prepared
from weft.check.results import Result, first_result_difference
from weft.diag.errors import MiscompilationError, UnsupportedError, WeftError
from weft.interp import Program, run_function
from weft.interp.lanes import POISON, Bundle, Lanes, LaneValue, dtype_of
from weft.ir import Function, Value
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.reader import read_module
from weft.passes.stages import Form, Stage
from weft.target.vector_math import MathSymbol

_log = logging.getLogger("weft.check")

Outcome = tuple[list[Content], list[Result]]


@dataclass(frozen=True, slots=True)
class LaneCalls:
    """How a function for one lane is called in several.

    Parameters
    ----------
    shapes
        How its parameters differ from lane to lane.
    lanes
        How many there are.
    masked
        Whether the version for all of them takes a mask.
    """

    shapes: Mapping[Value, Shape]
    lanes: int
    masked: bool

    @property
    def masks(self) -> list[NDArray[np.bool_]]:
        """The lanes that call."""
        every = np.ones(self.lanes, np.bool_)
        return [every, np.arange(self.lanes) % 3 != 1] if self.masked else [every]


def check_loops(
    name: str, stages: Sequence[Stage], math: Mapping[str, MathSymbol], given: Sequence[Any] | None
) -> None:
    """Compare what a function does behind each pass on its loops.

    Parameters
    ----------
    stages
        The programs.
    given
        Arguments of the user.

    Raises
    ------
    MiscompilationError
        A pass changed what it does.
    """

    def call(stage: Stage, program: Program, inputs: LaunchInputs, hooks: Sequence[object]) -> Outcome:
        workspace = Workspace(inputs)
        outcome = run_function(
            program, stage.full.function, workspace.slots, 1, memory=workspace.memory, hooks=hooks
        )
        return workspace.contents(), _results(outcome.value)

    # Where its pointers lead shows once it is canonical.
    canonical = next(stage for stage in stages if stage.name == "canonical")
    function = read_module(canonical.text).functions[name]
    _check(name, Arguments(function, given=given), stages, math, call)


def check_lanes(
    name: str,
    function: Function,
    stages: Sequence[Stage],
    math: Mapping[str, MathSymbol],
    calls: LaneCalls,
    given: Sequence[Any] | None,
) -> None:
    """Compare the version of a function for W lanes behind each pass with the function itself, lane by lane.

    Raises
    ------
    MiscompilationError
        A pass changed what it does.
    """
    lanes = calls.lanes
    for mask in calls.masks:

        def call(
            stage: Stage, program: Program, inputs: LaunchInputs, hooks: Sequence[object], mask: Any = mask
        ) -> Outcome:
            workspace = Workspace(inputs)
            called = program.function(stage.full.function)
            columns = np.array(workspace.slots, object).reshape(-1, lanes)
            values: list[Any] = [_column(column) for column in columns]
            wide = stage.full.form is Form.LANES
            if len(called.args) > len(values):
                values.append(mask)
            active = mask if len(columns) == len(values) else None
            if wide:
                values = [
                    Lanes(np.asarray(v)[None, :].astype(dtype_of(p.type))) if p.type.is_vector else v[0]
                    for v, p in zip(values, called.args, strict=True)
                ]
            outcome = run_function(
                program, called.name, values, 1 if wide else lanes, memory=workspace.memory, hooks=hooks,
                active=None if wide or active is None else active, semantics="OBL" if stage.full.oblivious else "FR",
            )  # fmt: skip
            return workspace.contents(), _by_lane(outcome.value, wide, mask)

        arguments = Arguments(function, dict(calls.shapes), lanes, given)
        _check(name, arguments, stages, math, call)


Call = Callable[[Stage, Program, LaunchInputs, Sequence[object]], Outcome]


def _check(
    name: str, arguments: Arguments, stages: Sequence[Stage], math: Mapping[str, MathSymbol], call: Call
) -> None:
    programs = [(stage, prepared(stage, math)) for stage in stages]
    if asks_for_lanes(programs[0][1].module) and stages[0].full.form is Form.CALL:
        _log.info(
            "%s is checked behind loops only: what operations on lanes do depends on how many there are", name
        )
        programs = [(stage, program) for stage, program in programs if stage.has_lanes]
    done = False
    try:
        for inputs, _kept in arguments.attempts():
            done |= _compare(name, programs, inputs, call)
    except UnsupportedError as error:
        _log.info("%s is not checked: %s", name, error.message)
        return
    if not done:
        _log.info("%s is not checked: no arguments are known with which it has a defined result", name)


def _compare(name: str, programs: Sequence[tuple[Stage, Program]], inputs: LaunchInputs, call: Call) -> bool:
    """Whether the program does something defined for these inputs, and each stage the same."""
    wanted: Outcome | None = None
    reorders = False
    for stage, program in programs:
        try:
            got = call(stage, program, inputs, [Budget(MAX_ENTRY_STEPS)])
        except TooLong:
            _log.info("%s is not checked after %s: it takes too long", name, stage.name)
            continue
        except WeftError as error:
            if isinstance(error, UnsupportedError):
                _log.info("%s is not checked after %s: %s", name, stage.name, error.message)
                continue
            if wanted is None:
                _log.info("%s is not checked with some arguments: %s", name, error.message)
                return False
            _raise(name, stage.name, error.message, programs, inputs, call)
            return True
        if wanted is not None:
            first = stage.reorders and not reorders
            slack = slack_of(inputs, wanted[0], [r.data for r in wanted[1]]) if first else None
            got = _without_frozen(got)
            found = first_difference(inputs, wanted[0], got[0], slack)
            found = found or first_result_difference(wanted[1], got[1], slack)
            if found is not None:
                _raise(name, stage.name, found, programs, inputs, call)
                return True
        if wanted is None or (stage.reorders and not reorders):
            wanted = got
        reorders = stage.reorders
    return wanted is not None


def _raise(
    name: str,
    stage: str,
    difference: str,
    programs: Sequence[tuple[Stage, Program]],
    inputs: LaunchInputs,
    call: Call,
) -> None:
    for looked_at, program in programs:
        if looked_at.name == "loops":
            races = IterationRaces(program)
            try:
                call(looked_at, program, inputs, [races, Budget(MAX_ENTRY_STEPS)])
            except (TooLong, WeftError):
                break
            if races.found:
                _log.info("%s is not checked: iterations of a loop touch the same memory", name)
                return
    raise MiscompilationError(
        f"'{stage}' changed what {name} computes: {difference}",
        hint="this is a defect of weft; please report it with the function",
    )


def _without_frozen(outcome: Outcome) -> Outcome:
    """The outcome, where what comes from frozen values counts by what it is.

    Pointers to functions are frozen before lanes that call the same one are looked for; which lanes these are is masked
    bit by bit, and the interpreter keeps no such account of bits.
    """
    contents = [Content(c.data, None if c.state is None else c.state & POISON) for c in outcome[0]]
    results = [Result(r.name, r.data, None if r.state is None else r.state & POISON) for r in outcome[1]]
    return contents, results


def _column(values: NDArray[Any]) -> NDArray[Any]:
    """A parameter's values in all lanes."""
    if isinstance(values[0], (float, np.floating)):
        return values.astype(np.float64)
    return np.array([int(v) & ((1 << 64) - 1) for v in values], np.uint64)


def _results(value: LaneValue | None, name: str = "the result") -> list[Result]:
    if value is None:
        return []
    if isinstance(value, Bundle):
        return [r for k, member in enumerate(value.members) for r in _results(member, f"{name}[{k}]")]
    flags = None if value.flags is None else np.broadcast_to(value.flags, value.data.shape).copy()
    return [Result(name, value.data, flags)]


def _by_lane(value: LaneValue | None, wide: bool, mask: NDArray[np.bool_]) -> list[Result]:
    """The results of the lanes that call; a result that is one for all is each lane's."""
    made: list[Result] = []
    for result in _results(value):
        data, state = result.data, result.state
        if wide:
            data, state = data[0], None if state is None else state[0]
        data = np.broadcast_to(data, mask.shape)[mask]
        state = None if state is None else np.broadcast_to(state, mask.shape)[mask].copy()
        made.append(Result(result.name, data.copy(), state))
    return made

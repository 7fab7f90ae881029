"""The check of functions of other compilers, which nobody calls here: of their loops, and of versions for W lanes.

A function whose loops become SIMD code is whole behind every pass, and is called with arguments that are made up or
that the user gives. A version for W lanes is compared with the function itself, run once for each lane.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from weft.check.budget import MAX_ENTRY_STEPS, Budget, TooLong, shared
from weft.check.compare import first_difference, slack_of
from weft.check.generate import Arguments
from weft.check.inputs import Content, LaunchInputs, Workspace
from weft.check.iterations import IterationRaces
from weft.check.machine_code import MachineCode
from weft.check.prepare import PreparedStage
from weft.check.results import Place, Result, first_result_difference
from weft.check.sampling import run_sampled
from weft.diag.errors import MiscompilationError, UnsupportedError, WeftError
from weft.interp import Program, run_function
from weft.interp.lanes import POISON, Bundle, Lanes, LaneValue, dtype_of
from weft.ir import Function
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.reader import read_module
from weft.ir.types import PointerType
from weft.options import check_step
from weft.passes.foreign_unit import ForeignFunctionUnit, ForeignLoopUnit, ForeignUnit
from weft.passes.stages import Form, Stage
from weft.target.vector_math import MathSymbol

_log = logging.getLogger("weft.check")

Outcome = tuple[list[Content], list[Result]]

_ELSEWHERE = 1 << 63
"""Stands for pointers that lead nowhere into the arguments' memory."""


def check_loops(
    unit: ForeignLoopUnit, text: str, stages: Sequence[Stage], given: Sequence[Any] | None
) -> None:
    """Compare what a function does behind each pass on its loops, and as machine code.

    Parameters
    ----------
    unit, text
        The function, and the program as the passes leave it.
    stages
        The programs between them.
    given
        Arguments of the user.

    Raises
    ------
    MiscompilationError
        A pass changed what it does.
    """

    def call(stage: Stage, program: Program, inputs: LaunchInputs, hooks: Sequence[object]) -> Outcome:
        workspace = Workspace(inputs)
        function = program.function(stage.full.function)
        outcome = run_function(
            program, function.name, workspace.slots, 1, memory=workspace.memory, hooks=hooks
        )
        results = _results(outcome.value)
        return workspace.contents(), _placed(results, function, workspace.place)

    def call_code(code: MachineCode, inputs: LaunchInputs) -> Outcome:
        value = code.call([np.array([slot]) for slot in inputs.slots])
        results = [] if value is None else _results(Lanes(value.data.reshape(-1)))
        return inputs.contents(), _placed(results, code.function, inputs.place)

    # Where its pointers lead shows once it is canonical.
    canonical = next(stage for stage in stages if stage.name == "canonical")
    function = read_module(canonical.text).functions[unit.name]
    code = _Code(unit, text, unit.name, unit.name)
    _check(unit.name, Arguments(function, given=given), stages, unit.math, call, code, call_code)


def check_lanes(
    unit: ForeignFunctionUnit,
    function: Function,
    text: str,
    stages: Sequence[Stage],
    given: Sequence[Any] | None = None,
) -> None:
    """Compare a function for W lanes behind each pass, and as machine code, with that for one, lane by lane.

    Parameters
    ----------
    unit
        The function for W lanes.
    function
        The one for one lane, of which `unit` has the shapes of the parameters.
    text, stages, given
        As of `check_loops`.

    Raises
    ------
    MiscompilationError
        A pass changed what it does.
    """
    assert unit.width is not None
    lanes, code = unit.width, _Code(unit, text, unit.subject, unit.simd_name)
    every = np.ones(lanes, np.bool_)
    for mask in [every, np.arange(lanes) % 3 != 1] if unit.masked else [every]:

        def values_of(slots: Sequence[Any], called: Function, mask: Any = mask) -> list[Any]:
            values: list[Any] = [_column(column) for column in np.array(slots, object).reshape(-1, lanes)]
            return [*values, mask] if len(called.args) > len(values) else values

        def call(
            stage: Stage, program: Program, inputs: LaunchInputs, hooks: Sequence[object], mask: Any = mask
        ) -> Outcome:
            workspace = Workspace(inputs)
            called = program.function(stage.full.function)
            values = values_of(workspace.slots, called)
            wide = stage.full.form is Form.LANES
            active = None if wide or len(values) > len(workspace.slots) // lanes else mask
            if wide:
                values = [
                    Lanes(np.asarray(v)[None, :].astype(dtype_of(p.type))) if p.type.is_vector else v[0]
                    for v, p in zip(values, called.args, strict=True)
                ]
            outcome = run_function(
                program, called.name, values, 1 if wide else lanes, memory=workspace.memory, hooks=hooks,
                active=active, semantics="OBL" if stage.full.oblivious else "FR",
            )  # fmt: skip
            results = _by_lane(outcome.value, wide, mask)
            return workspace.contents(), _placed(results, called, workspace.place)

        def call_code(code: MachineCode, inputs: LaunchInputs, mask: Any = mask) -> Outcome:
            called = code.function
            columns = zip(values_of(inputs.slots, called), called.args, strict=True)
            value = code.call([v if p.type.is_vector else v[:1] for v, p in columns])
            return inputs.contents(), _placed(_by_lane(value, True, mask), called, inputs.place)

        arguments = Arguments(function, dict(unit.shapes), lanes, given)
        _check(unit.subject, arguments, stages, unit.math, call, code, call_code)


Call = Callable[[Stage, Program, LaunchInputs, Sequence[object]], Outcome]

_Compared = tuple[bool, Outcome | None]


class _Facts(Struct, frozen=True):
    """What running a stage needs to know beside its program: vector math functions that it calls, by symbol."""

    math: Mapping[str, MathSymbol]


ForeignStage = PreparedStage[_Facts]


class _Code:
    """The machine code of a unit's function, made once it is wanted; none where it cannot be called.

    Parameters
    ----------
    unit, text
        What the code is made for, and the program.
    subject
        How messages call the function.
    symbol
        What is called.
    """

    def __init__(self, unit: ForeignUnit, text: str, subject: str, symbol: str) -> None:
        self.unit = unit
        self.text = text
        self.subject = subject
        self.symbol = symbol
        self._refused = False

    @functools.cached_property
    def _made(self) -> MachineCode:
        unit = self.unit
        return MachineCode(self.text, self.symbol, unit.spec, unit.isa, unit.math)

    def run(self, call: Callable[[MachineCode], Outcome]) -> tuple[Outcome, bool] | None:
        """What a call of it does, and whether it may round otherwise than the interpreter."""
        if self._refused:
            return None
        try:
            return call(self._made), self._made.rounds
        except UnsupportedError as error:
            self._refused = True
            _log.info("%s is not checked as machine code: %s", self.subject, error.message)
            return None


def _check(
    name: str,
    arguments: Arguments,
    stages: Sequence[Stage],
    math: Mapping[str, MathSymbol],
    call: Call,
    code: _Code,
    call_code: Callable[[MachineCode, LaunchInputs], Outcome],
) -> None:
    programs = [PreparedStage(stage, _Facts(math)) for stage in stages]
    if asks_for_lanes(programs[0].program.module) and stages[0].full.form is Form.CALL:
        _log.info(
            "%s is checked behind loops only: what operations on lanes do depends on how many there are", name
        )
        programs = [prepared for prepared in programs if prepared.stage.has_lanes]
    done = False
    try:
        for turn, (inputs, _kept) in enumerate(arguments.attempts()):

            def compare(some: Sequence[ForeignStage], inputs: LaunchInputs = inputs) -> _Compared:
                return _compare(name, some, programs, inputs, call)

            defined, wanted = run_sampled(programs, check_step(), compare, turn)
            done |= defined
            got = None if wanted is None else code.run(lambda code, inputs=inputs: call_code(code, inputs))
            if wanted is not None and got is not None:
                found = _difference(inputs, wanted, got[0], got[1])
                if found is not None:
                    _raise(name, "machine code", found, programs, inputs, call)
    except UnsupportedError as error:
        _log.info("%s is not checked: %s", name, error.message)
        return
    if not done:
        _log.info("%s is not checked: no arguments are known with which it has a defined result", name)


def _compare(
    name: str,
    some: Sequence[ForeignStage],
    programs: Sequence[ForeignStage],
    inputs: LaunchInputs,
    call: Call,
) -> _Compared:
    """Whether the program does something defined for these inputs; what some stages do, if they do the same."""
    wanted: Outcome | None = None
    reorders = False
    agreed: ForeignStage | None = None
    for prepared in some:
        stage = prepared.stage
        if agreed is not None and prepared.repeats(agreed):
            continue
        try:
            got = call(stage, prepared.program, inputs, [Budget(shared(MAX_ENTRY_STEPS, check_step()))])
        except TooLong:
            _log.info("%s is not checked after %s: it takes too long", name, stage.name)
            continue
        except WeftError as error:
            if isinstance(error, UnsupportedError):
                _log.info("%s is not checked after %s: %s", name, stage.name, error.message)
                continue
            if wanted is None:
                _log.info("%s is not checked with some arguments: %s", name, error.message)
                return False, None
            _raise(name, stage.name, error.message, programs, inputs, call)
            return True, None
        first = stage.reorders and not reorders
        if wanted is not None:
            found = _difference(inputs, wanted, _without_frozen(got), first)
            if found is not None:
                _raise(name, stage.name, found, programs, inputs, call)
                return True, None
        if wanted is None or first:
            wanted = got
        reorders = stage.reorders
        agreed = prepared
    return wanted is not None, wanted


def _difference(inputs: LaunchInputs, wanted: Outcome, got: Outcome, loosely: bool) -> str | None:
    slack = slack_of(inputs, wanted[0], [r.data for r in wanted[1]]) if loosely else None
    return first_difference(inputs, wanted[0], got[0], slack) or first_result_difference(
        wanted[1], got[1], slack
    )


def _raise(
    name: str,
    stage: str,
    difference: str,
    programs: Sequence[ForeignStage],
    inputs: LaunchInputs,
    call: Call,
) -> None:
    for prepared in programs:
        if prepared.stage.name == "loops":
            races = IterationRaces(prepared.program)
            try:
                call(prepared.stage, prepared.program, inputs, [races, Budget(MAX_ENTRY_STEPS)])
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


def _placed(results: list[Result], function: Function, place: Place) -> list[Result]:
    """The results, where pointers into the arguments' memory count by where they lead."""
    if not isinstance(function.fn_type.result.scalar, PointerType):
        return results

    def moved(address: int) -> int:
        # One behind the last element is a place, too; what is elsewhere is at another address in each run.
        found, behind = place(address), place(address - 1)
        if found is None and behind is None:
            return _ELSEWHERE if address else 0
        region, offset = found or behind or (0, 0)
        return (region + 1 << 48) + offset + (found is None)

    return [
        replace(r, data=np.array([moved(int(a)) for a in r.data.flat], np.uint64).reshape(r.data.shape))
        for r in results
    ]


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

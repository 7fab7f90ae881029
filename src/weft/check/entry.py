"""The entry point of a function with loops that first lets the interpreter judge each pass."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.check.budget import MAX_CALL_STEPS, MAX_FUNCTION_STEPS, Budget, TooLong, shared
from weft.check.calls import CallFacts, CallOutcome, CallProgram, outcome_of_code
from weft.check.compare import slack_of
from weft.check.inputs import LaunchInputs
from weft.check.iterations import IterationRaces
from weft.check.order import order_dependence
from weft.check.sampling import run_sampled
from weft.diag.errors import MiscompilationError, WeftError
from weft.options import check_step
from weft.runtime.results import Description

if TYPE_CHECKING:
    from weft.jit_options import JitOptions
    from weft.passes.lower_function import LoweredFunction
    from weft.runtime.packing import ArgumentPacker

MAX_BYTES = 1 << 24
"""Bytes of the arrays of the largest call that is checked."""

CALLS_OF_A_SHAPE = 2
"""How many calls with arguments of the same shape are checked."""

_log = logging.getLogger("weft.check")


class CheckedEntry:
    """Calls a function's machine code after running the program behind each pass on the interpreter.

    Parameters
    ----------
    entry
        Runs the machine code: takes the slots of the arguments, and memory for those of the results.
    packer
        The function's parameters.
    description
        The type of its result.
    lowered
        Gives the function with its stages.
    options
        How it was compiled.

    Attributes
    ----------
    checked
        The passes whose programs the latest call that was checked ran and found to agree; ``machine code`` is the last.
    """

    def __init__(
        self,
        entry: Callable[[bytes, Any], Any],
        packer: ArgumentPacker,
        description: Description,
        lowered: Callable[[], LoweredFunction],
        options: JitOptions,
    ) -> None:
        self._entry = entry
        self._packer = packer
        self._description = description
        self._lowered = lowered
        self._options = options
        self._stages: list[CallProgram] | None = None
        self._spent = 0
        self._seen: Counter[tuple[Any, ...]] = Counter()
        self._called = 0
        self.checked: list[str] = []

    def __call__(self, slots: bytes, memory: Any) -> None:
        """Call the function.

        Raises
        ------
        MiscompilationError
            A pass, or the generation of machine code, changed what it does. Unless it was the latter, nothing has
            been written.
        """
        inputs = LaunchInputs.of_slots(self._packer, slots) if self._is_new() else None
        if inputs is None or not self._counts(inputs):
            self._entry(slots, memory)
            return
        self.checked = []
        reason = self._why_not(inputs)
        if reason:
            _log.info("%s is not checked: %s", self._packer.kernel, reason)
        wanted = None if reason else self._interpret(inputs)
        self._entry(slots, memory)
        if wanted is not None:
            stages = self._programs()
            got = outcome_of_code(inputs, self._description, bytes(memory))
            # A vector math library may round otherwise than the C library.
            rounds = bool(stages[0].facts.math)
            slack = slack_of(inputs, wanted.contents, [r.data for r in wanted.results]) if rounds else None
            self._judge("machine code", wanted.difference(inputs, got, slack), inputs)

    def _is_new(self) -> bool:
        return self._spent < shared(MAX_FUNCTION_STEPS, check_step())

    def _counts(self, inputs: LaunchInputs) -> bool:
        """Whether calls with arguments of this shape have not been checked often enough."""
        shape = tuple(o.shape for region in inputs.regions for o in region.operands)
        self._seen[shape] += 1
        return self._seen[shape] <= CALLS_OF_A_SHAPE

    def _programs(self) -> list[CallProgram]:
        if self._stages is None:
            lowered = self._lowered()
            facts = CallFacts(lowered.interface, self._description, lowered.math)
            self._stages = [CallProgram(stage, facts) for stage in lowered.stages]
        return self._stages

    def _why_not(self, inputs: LaunchInputs) -> str | None:
        if (spanned := sum(region.data.size for region in inputs.regions)) > MAX_BYTES:
            return f"arrays of {spanned} bytes are too large to be copied for each pass"
        if self._options.fastmath:
            return "fastmath lets passes change results"
        try:
            lowered = self._lowered()
        except WeftError as error:
            # The code is from the cache, and the program is not at hand.
            return error.message
        # Of the canonical program: before it, every result is stored in a variable.
        return order_dependence(self._programs()[1].program.module) if lowered.parallel else None

    def _interpret(self, inputs: LaunchInputs) -> CallOutcome | None:
        """What the call does, by all stages alike that are run; None when that cannot be said."""
        turn, self._called = self._called, self._called + 1
        return run_sampled(self._programs(), check_step(), lambda stages: self._run(stages, inputs), turn)

    def _run(self, stages: Sequence[CallProgram], inputs: LaunchInputs) -> CallOutcome | None:
        self.checked = []
        wanted: CallOutcome | None = None
        reorders = False
        before: CallProgram | None = None
        for stage in stages:
            if before is not None and stage.repeats(before):
                self.checked.append(stage.stage.name)
                continue
            before = None
            name, budget = stage.stage.name, Budget(MAX_CALL_STEPS)
            try:
                got = stage.run(inputs, budget)
            except TooLong:
                # Of the stages behind it, those that run in lanes take fewer steps.
                _log.info("%s is not checked after %s: it takes too long", self._packer.kernel, name)
                continue
            except WeftError as error:
                if wanted is None:
                    _log.info("%s is not checked: %s", self._packer.kernel, error.message)
                    return None
                self._judge(name, error.message, inputs)
                return None
            finally:
                self._spent += budget.spent
            if wanted is not None:
                # Sums of floats are formed lane by lane from here on, and stay so.
                first = stage.stage.reorders and not reorders
                slack = slack_of(inputs, wanted.contents, [r.data for r in wanted.results]) if first else None
                if not self._judge(name, wanted.difference(inputs, got, slack), inputs):
                    return None
                if first:
                    _log.info("%s is compared loosely after %s: %s", self._packer.kernel, name, REORDERED)
                    wanted = got
            else:
                wanted = got
            reorders = stage.stage.reorders
            self.checked.append(name)
            before = stage
        return wanted

    def _judge(self, stage: str, difference: str | None, inputs: LaunchInputs) -> bool:
        """Whether a stage agrees with those before it; false when the program has no defined result at all."""
        if difference is None:
            if stage == "machine code":
                self.checked.append(stage)
            return True
        race = self._race(inputs)
        if race is not None:
            _log.info("%s is not checked: %s", self._packer.kernel, race)
            return False
        raise MiscompilationError(
            f"'{stage}' changed what {self._packer.kernel} computes: {difference}",
            hint="this is a defect of weft; please report it with the function and its arguments",
        )

    def _race(self, inputs: LaunchInputs) -> str | None:
        """Where iterations of a parallel loop depend on each other's order, None where none do."""
        for stage in self._programs():
            if stage.stage.name == "parallel loops":
                races = IterationRaces(stage.program)
                try:
                    stage.run(inputs, races, Budget(MAX_CALL_STEPS))
                except (TooLong, WeftError):
                    return None
                if races.found:
                    return f"iterations of a parallel loop touch the same memory{_at(races.found)}"
        return None


REORDERED = "sums of floats are formed in another order"


def _at(found: Any) -> str:
    return f" in line {found.line}" if hasattr(found, "line") else ""

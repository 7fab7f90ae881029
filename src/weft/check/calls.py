"""Running the program after a pass on a function that is called, on the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from weft.check.compare import first_difference
from weft.check.inputs import Content, LaunchInputs, Workspace, bytes_at
from weft.check.prepare import PreparedStage
from weft.check.results import Result, first_result_difference, read_results
from weft.codegen.slots import SlotInterface
from weft.interp import Memory, run_function
from weft.interp.lanes import Lanes
from weft.passes.stages import Form
from weft.runtime.results import Description, slots_of
from weft.target.vector_math import MathSymbol

_FRAME_BYTES = 16
"""What is told of a frame behind the slots of results: its blocks, and the error."""


class CallFacts(Struct, frozen=True):
    """What running a stage needs to know of a function beside its program.

    Parameters
    ----------
    interface
        What its last parameters are.
    description
        The type of its result.
    math
        Vector math functions that the code calls.
    """

    interface: SlotInterface
    description: Description
    math: Mapping[str, MathSymbol]


class CallOutcome(Struct, frozen=True):
    """What a call did.

    Parameters
    ----------
    contents
        What the memory of its arguments holds behind it.
    results
        What it gave; nothing if it raised.
    error
        The number of the error that it raised, 0 for none.
    """

    contents: list[Content]
    results: list[Result]
    error: int

    def difference(self, inputs: LaunchInputs, got: CallOutcome, slack: float | None) -> str | None:
        """Say what another run did otherwise, None if nothing."""
        if self.error != got.error:
            return f"it {_raises(got.error)}, and {_raises(self.error)} before"
        found = first_difference(inputs, self.contents, got.contents, slack)
        return found or first_result_difference(self.results, got.results, slack)


def _raises(error: int) -> str:
    return f"raises its error {error}" if error else "raises nothing"


class CallProgram(PreparedStage[CallFacts]):
    """A stage of the passes on functions with loops, ready to run."""

    def run(self, inputs: LaunchInputs, *hooks: object) -> CallOutcome:
        """What a call does; `hooks` watch it, a `Budget` ends it.

        Raises
        ------
        TooLong
            It takes too many steps.
        WeftError
            The program does something that has no defined meaning.
        """
        workspace, facts = Workspace(inputs), self.facts
        memory, size = workspace.memory, 8 * facts.interface.results
        results = memory.allocate(size + _FRAME_BYTES, "results", align=8)
        results.state_bytes()[size:] = 0
        frame = results.base + size
        if self.stage.full.form is Form.SLOTS:
            given: list[Any] = [memory.place_bytes(workspace.packed(), "arguments"), results.base]
        else:
            given = list(workspace.slots)
            if facts.interface.has_frame:
                given.append(frame)
            if facts.interface.results > 1:
                given += [results.base + 8 * k for k in range(facts.interface.results)]
        outcome = run_function(
            self.program,
            self.stage.full.function,
            given,
            1,
            memory=memory,
            hooks=hooks,
        )
        if outcome.value is not None:
            assert isinstance(outcome.value, Lanes)
            data = (
                outcome.value.data.astype(np.uint8)
                if outcome.value.data.dtype == bool
                else outcome.value.data
            )
            width = data.dtype.itemsize
            results.data[:width] = np.frombuffer(data.tobytes(), np.uint8)
            flags = outcome.value.flags
            results.state_bytes()[:width] = 0 if flags is None else flags.reshape(-1)[0]
        error = memory.heap_frames[frame].error if frame in memory.heap_frames else 0
        slots = Content(results.data, results.state)
        values = (
            []
            if error
            else read_results(
                facts.description, slots, lambda low, size: _content(memory, low, size), workspace.place
            )
        )
        return CallOutcome(workspace.contents(), values, error)


def outcome_of_code(inputs: LaunchInputs, description: Description, slots: bytes) -> CallOutcome:
    """What machine code did that has left `slots`, results and a frame."""
    count = 8 * slots_of(description)
    data = np.frombuffer(slots, np.uint8)
    error = int(data[count + 8 : count + 16].view(np.int64)[0])
    values = (
        []
        if error
        else read_results(
            description, Content(data[:count]), lambda low, size: Content(bytes_at(low, size)), inputs.place
        )
    )
    return CallOutcome(inputs.contents(), values, error)


def _content(memory: Memory, low: int, size: int) -> Content | None:
    found = memory.find(low)
    if found is None or low + size > found.end:
        return None
    span = slice(low - found.base, low - found.base + size)
    return Content(found.data[span].copy(), None if found.state is None else found.state[span].copy())

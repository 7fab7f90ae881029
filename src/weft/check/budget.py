"""How long the interpreter may take for a stage."""

from __future__ import annotations

from weft.ir import BasicBlock

MAX_STEPS = 200_000
"""Instructions that are interpreted of a stage of a kernel before it counts as too long."""

MAX_ENTRY_STEPS = 40_000
"""As `MAX_STEPS`, of an entry point, which runs one thread or lane group of each work-group after the other."""

MAX_CALL_STEPS = 6_000
"""As `MAX_STEPS`, of a function with loops, which for the most part does one thing after the other."""

MAX_FUNCTION_STEPS = 40_000
"""Instructions that are interpreted of all stages and calls of such a function before no further call is checked."""

MOST_SHARE = 4
"""By how much such numbers are divided at most where stages are left out: as many calls are checked as without."""


def shared(steps: int, step: int) -> int:
    """How many of some steps are for the stages of a function that are run where about every `step`-th is."""
    return steps // min(step, MOST_SHARE)


class TooLong(Exception):
    """The interpreter would take too long for a stage."""


class Budget:
    """A hook that ends a run which executes too many instructions."""

    __slots__ = ("left", "steps")

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = self.steps = steps

    @property
    def spent(self) -> int:
        """How many it has executed."""
        return self.steps - self.left

    def on_block(self, machine: object, block: BasicBlock, active: object) -> None:
        self.left -= len(block.instructions)
        if self.left < 0:
            raise TooLong

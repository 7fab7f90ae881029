"""Which width the model chooses for a program: planned once, asked often."""

from __future__ import annotations

from dataclasses import dataclass
from unittest import mock

from bench.fits.codes import make, under
from bench.fits.program import Program
from weft.analysis.divergence import Divergence
from weft.codegen.order.width import WidthChoice, choose_width
from weft.costs.constants import Constants
from weft.machine.host import chosen
from weft.machine.targets import Isa


@dataclass(frozen=True, slots=True)
class Planned:
    """A program, and what its width is chosen by."""

    program: Program
    divergence: Divergence

    def width_under(self, constants: Constants) -> int:
        """Return the width that is chosen under these constants."""
        with under(constants):
            return choose_width(self.divergence, chosen().isa).width


class _PlannedError(Exception):
    """Ends a compilation at the plan."""


def planned(program: Program) -> Planned | None:
    """Take a program to where its width is chosen; None where nothing of the kind is asked."""
    seen: list[Divergence] = []

    def stop(divergence: Divergence, isa: Isa, **how: object) -> WidthChoice:
        seen.append(divergence)
        raise _PlannedError

    # The analysis holds for the program as it is then, so that passes behind it must not run.
    with mock.patch("weft.passes.lane_plan.choose_width", stop):
        try:
            make(program, "")
        except _PlannedError:
            return Planned(program, seen[0])
    return None

"""Loops through small arrays of a thread's own, for every door: written out, and the arrays replaced by values."""

from __future__ import annotations

from typing import Protocol

from weft.diag.remarks import RemarkKind
from weft.ir.locations import span_of
from weft.passes.declared import Pass
from weft.passes.runner import Runner
from weft.passes.scalar import CANONICAL, PLAIN, RemarkedUnit
from weft.transform.loops.write_out_arrays import write_out_arrays

WIDE = 256
"""Bits of a register from which on arrays are worth it. With SSE2 elimination in 6 x 6 matrices took 1.03 times as
long, and FFT of 16 points 0.77 of the time as a kernel, 1.4 times as long as a loop: a register has two elements."""


class ArrayUnit(RemarkedUnit, Protocol):
    """One that runs passes itself."""

    @property
    def runner(self) -> Runner:
        """Runs passes."""
        ...


def _write_out(unit: ArrayUnit) -> bool:
    asked = [i for function in unit.module.definitions() for i in write_out_arrays(function)]
    for span in dict.fromkeys(map(span_of, asked)):
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            "this loop is written out: the small arrays that it runs through are values then",
            span,
            pass_name=OWN_ARRAYS.name,
        )
    if asked:
        unit.runner.watched_by().run((CANONICAL,), unit)
    return bool(asked)


OWN_ARRAYS: Pass[ArrayUnit] = Pass(
    "own arrays",
    "no loop of known rounds is left through small arrays of a thread's own, which are values",
    _write_out,
    requires=(PLAIN,),
    optional=True,
    applies=lambda unit: unit.spec.isa.vector_bits >= WIDE,
)

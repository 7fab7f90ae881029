"""Taking a loop out of its function once something else does its work.

Precondition: a counted loop in loop-closed form, and the values that its counters and reductions have behind it.
Postcondition: the preheader goes straight to the exit, and the loop is gone. Under FR.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.counted_loops import CountedLoop, Counter
from weft.ir import Builder, ConstInt, Value
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.types import I64


def counter_after(builder: Builder, loop: CountedLoop, counter: Counter, iterations: Value) -> Value:
    """Compute a counter's value when the loop is left: that of its φ, behind a bottom-tested loop the next to last."""
    type = counter.type
    steps = iterations
    if type.bits != I64.bits:
        steps = builder.cast("trunc" if type.bits < I64.bits else "zext", iterations, type)
    if not loop.top_tested:
        steps = builder.binary("sub", steps, ConstInt(type, 1))
    if counter.step != 1:
        steps = builder.binary("mul", steps, ConstInt(type, counter.step))
    return builder.binary("add", counter.start, steps)


def replace_loop(loop: CountedLoop, values: Mapping[Value, Value]) -> None:
    """Remove the loop; `values` has what each of its values is that the exit's φs take."""
    function = loop.header.function
    assert function is not None
    phis = [(phi, phi.incoming_value(loop.exiting)) for phi in loop.exit.phis()]
    loop.preheader.terminator.erase()
    Builder(loop.preheader).br(loop.exit)
    for phi, value in phis:
        phi.add_incoming(values.get(value, value), loop.preheader)
    remove_unreachable_blocks(function)

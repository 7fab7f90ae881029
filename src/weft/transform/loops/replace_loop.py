"""Taking a loop out of its function once something else does its work.

Precondition: a counted loop in loop-closed form, and the values that its counters and reductions have behind it.
Postcondition: what was built behind the preheader goes to the exit, and the loop is gone. Under FR.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.loops.counted_loops import CountedLoop, Counter
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


def open_preheader(loop: CountedLoop) -> Builder:
    """A builder at the end of the preheader, which no longer goes to the loop."""
    terminator = loop.preheader.terminator
    builder = Builder(loop.preheader)
    # A call needs a location to be inlined into a function with debug information.
    builder.loc = loop.exiting.terminator.loc or terminator.loc
    terminator.erase()
    return builder


def replace_loop(loop: CountedLoop, builder: Builder, values: Mapping[Value, Value]) -> None:
    """Go on to the exit from where `builder` is, and remove the loop.

    `values` has what each of its values is that the exit's φs take.
    """
    function, last = loop.header.function, builder.block
    assert function is not None and last is not None
    phis = [(phi, phi.incoming_value(loop.exiting)) for phi in loop.exit.phis()]
    builder.br(loop.exit)
    for phi, value in phis:
        phi.add_incoming(values.get(value, value), last)
    remove_unreachable_blocks(function)

"""Loops and their iterations in the names of the program."""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, line_of
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression, floor_division
from weft.ir import Instruction


def line_of_loop(loop: LoopContext) -> int:
    """The line of a loop's head."""
    for instruction in (loop.header.terminator, *loop.header.instructions):
        if line_of(instruction):
            return line_of(instruction)
    return min((line_of(i) for b in loop.blocks for i in b.instructions if line_of(i)), default=0)


def loops_around(loop: LoopContext) -> Iterator[LoopContext]:
    """A loop and those around it."""
    context: LoopContext | None = loop
    while context is not None:
        yield context
        context = context.parent


def counter_of(made: Reconstruction, loop: LoopContext) -> tuple[Instruction, Expression, int] | None:
    """The φ that the program calls the loop's counter, its first value, and its step."""
    counted = loop.counted
    phis = [counted.counter.phi] if isinstance(counted, CountedLoop) else []
    for phi in (*phis, *loop.header.phis()):
        if not hasattr(phi.type, "bits"):
            continue
        for signed in (True, False):
            parts = made.of(loop.scope, phi, signed).coefficients(loop.iteration)
            if len(parts) == 2 and parts[1].constant:
                return phi, parts[0], parts[1].offset
    return None


def counter_name(made: Reconstruction, loop: LoopContext) -> str | None:
    """What the program calls the loop's counter."""
    counter = counter_of(made, loop)
    return None if counter is None else value_name(counter[0])


def in_program_names(made: Reconstruction, value: Expression) -> Expression:
    """An expression with the counters of loops in the place of the numbers of their iterations."""
    known = made.in_names.get(value)
    if known is None:
        known = made.in_names[value] = _in_program_names(made, value)
    return known


def _in_program_names(made: Reconstruction, value: Expression) -> Expression:
    for _ in range(8):
        replaced: dict[Atom, Expression] = {}
        for symbol in value.symbols():
            if isinstance(symbol.origin, LoopContext):
                counter = counter_of(made, symbol.origin)
                if counter is None:
                    continue
                phi, start, step = counter
                here = as_expression(Symbol(value_name(phi), symbol.rank))
                value = _with_step(value, symbol, here - start, step)
                distance = here - start if step > 0 else start - here
                replaced[symbol] = floor_division(distance, abs(step))
        if not replaced:
            return value
        value = value.substitute(replaced)
    return value


def _with_step(value: Expression, iteration: Symbol, distance: Expression, step: int) -> Expression:
    """``step·iteration`` is what the counter has moved, with no division."""
    parts = value.coefficients(iteration)
    if len(parts) != 2 or any(c % step for c in parts[1].terms.values()):
        return value
    slope = Expression({m: c // step for m, c in parts[1].terms.items()})
    return parts[0] + slope * distance

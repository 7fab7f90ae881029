"""Lane groups of which all threads have one quotient: as wide as the stretches in which positions are divided.

``row, column = t // 16, t % 16`` gives sixteen threads to a row. What they load and test for the row, as how many
entries it has and which ones, is the same for a lane group of sixteen threads that begins at a multiple of sixteen;
wider ones have several rows, wait for the longest, and look up each one's entries lane by lane:

    for p in range(begin[t // 16], begin[t // 16 + 1]):        16 lanes: one row, a uniform loop, neighbours
        total += table[index[p], t % 16]                       32 lanes: two rows, masks, gathers

So widths up to the greatest power of two that divides the divisor are held against what is chosen without: they may be
narrower than a register, or wider than what is best for threads of which each is in a loop of its own.

Precondition: lane groups begin at multiples of their width along what is divided. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence import Divergence
from weft.codegen.order.width import MAX_WIDTH, WidthChoice, choose_width, cycles_of_choice
from weft.costs.one_thread import cycles_alone
from weft.ir import ConstInt, Instruction, Value
from weft.machine.targets import Isa
from weft.transform.groups.id_divisors import LARGEST, Division

MOST_DIVISORS = 3
"""Widths that are looked at, each of which takes an analysis."""

CLEARLY = 0.8
"""Of the cycles of a thread, what it has to take at most in such a lane group."""


def stretch_widths(divergence: Divergence) -> list[int]:
    """The most lanes of which all have one quotient, by what positions of neighbours are divided by; least first."""
    found: set[int] = set()
    for instruction in divergence.function.instructions():
        number, divisor = _divided(instruction)
        if divisor > 1 and divergence.shape(number).strides == (1,):
            found.add(min(MAX_WIDTH, divisor & -divisor))
    return sorted(found - {1})[:MOST_DIVISORS]


def _divided(instruction: Instruction) -> tuple[Value, int]:
    """What is divided by which constant; 0 for none. Without low bits a number is a quotient's multiple."""
    division = Division.of(instruction)
    if division is not None and not division.remainder and isinstance(division.divisor, ConstInt):
        return division.number, division.divisor.value
    if instruction.op == "and" and isinstance(mask := instruction.operands[1], ConstInt) and mask.value:
        # All bits but the lowest are left, or all that positions have.
        least = mask.value & -mask.value
        above = mask.value + least
        if above & (above - 1) == 0 and above >= LARGEST:
            return instruction.operands[0], least
    return instruction, 0


def choose_stretch(
    plain: Divergence,
    widths: list[int],
    analyzed: Callable[[int], Divergence],
    isa: Isa,
    *,
    in_loop: bool = False,
) -> WidthChoice | None:
    """The best width up to one of `widths` whose lanes have one quotient, if it is clearly better than without.

    `plain` is the divergence of lane groups that begin anywhere, `analyzed` that of those that begin at multiples of
    their width.
    """
    without = choose_width(plain, isa, in_loop=in_loop)
    limit = CLEARLY * cycles_of_choice(without, plain, isa, in_loop=in_loop)
    # What all lanes share takes as long as in one thread, which goes from one look-up to the next.
    shared = cycles_alone(plain, isa) if plain.facts.propagation.loops.loops else 0.0
    best: WidthChoice | None = None
    for most in widths:
        divergence = analyzed(most)
        choice = choose_width(divergence, isa, in_lanes=True, in_loop=in_loop, most=most)
        if choice.width < min(most, without.width):
            # Fewer lanes than there may be of one quotient are no better by that.
            continue
        cycles = max(cycles_of_choice(choice, divergence, isa, in_loop=in_loop), shared / choice.width)
        if cycles < limit:
            limit = cycles
            best = WidthChoice(choice.width, f"which have one quotient by a multiple of {most}", choice.bits)
    return best

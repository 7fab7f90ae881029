"""Loops that work at every other number, or every fourth: ``if (x + y) % 2 == colour``.

    for x in range(s, n):                     for t in range(m):
        if (x + y) % 2 == colour:                 x = s + (colour - y - s) % 2 + 2*t
            ...                                   ...

Of what is masked the counter is a summand, so the condition says which remainder it has. Nothing has to be tested:
a remainder that there is not, as 2, is no iteration's. Loops of a known length stay what they are, to be written out,
where the program does not say the remainder.

Precondition: canonical P-LLVM.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.loops.idle_guards import Guard, conditions, is_plain
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView

_MOST_STEPS = 8
_MOST_BITS = 6


class Residue(Struct, frozen=True):
    """Which remainder of the counter a condition asks for.

    Parameters
    ----------
    wanted
        What is compared with.
    bits
        Of so many low bits.
    undone
        What is done to it, in this order, to have the counter's remainder: an operation, and what is known before.
    """

    wanted: Value
    bits: int
    undone: tuple[tuple[str, Value], ...]

    @property
    def constant(self) -> int | None:
        """The counter's remainder, where the program says it, and there is one."""
        step = 1 << self.bits
        if not isinstance(self.wanted, ConstInt) or self.wanted.value >= step:
            return None
        rest = self.wanted.value
        for op, other in self.undone:
            if not isinstance(other, ConstInt):
                return None
            rest = {"add": rest + other.value, "sub": rest - other.value, "xor": rest ^ other.value}[op]
        return rest % step


class ResidueLoop(Struct, frozen=True):
    """A loop that works where its counter has a remainder.

    Parameters
    ----------
    loop
        The loop; no iteration hands anything on but the counter.
    residue
        The remainder.
    guard
        The condition that says so.
    """

    loop: CountedLoop
    residue: Residue
    guard: Guard


def residue_loop(view: CFGView, loop: Loop) -> ResidueLoop | None:
    """For which remainder a loop works, if it is one."""
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or not is_plain(counted):
        return None
    for guard in conditions(counted):
        residue = _residue(guard, counted)
        if residue is not None and (residue.constant is not None or known_iterations(counted) is None):
            return ResidueLoop(counted, residue, guard)
    return None


def _residue(guard: Guard, loop: CountedLoop) -> Residue | None:
    condition, inside = guard.condition, set(loop.blocks)
    if condition.op != "icmp" or condition.predicate not in ("eq", "ne"):
        return None
    masked, wanted = condition.operands
    if not isinstance(masked, Instruction) or masked.op != "and" or masked.block not in inside:
        masked, wanted = wanted, masked
    if not isinstance(masked, Instruction) or masked.op != "and" or _is_inside(wanted, inside):
        return None
    number, mask = masked.operands
    if (
        not isinstance(mask, ConstInt)
        or mask.value & (mask.value + 1)
        or not 0 < mask.value < 1 << _MOST_BITS
    ):
        return None
    if masked.type != loop.counter.type:
        return None
    if (condition.predicate == "eq") is not guard.holds:
        # What is not one of two remainders is the other one.
        if mask.value != 1 or not isinstance(wanted, ConstInt) or wanted.value > 1:
            return None
        wanted = const_int(1 - wanted.value, loop.counter.type)
    undone = _undone(number, loop.counter.phi, inside)
    return Residue(wanted, mask.value.bit_length(), undone) if undone is not None else None


def _undone(
    number: Value, counter: Instruction, inside: set[BasicBlock]
) -> tuple[tuple[str, Value], ...] | None:
    """What is done to the sum to have the counter alone."""
    undone: list[tuple[str, Value]] = []
    while number is not counter:
        if (
            not isinstance(number, Instruction)
            or number.op not in ("add", "sub", "xor")
            or len(undone) == _MOST_STEPS
        ):
            return None
        a, b = number.operands
        if number.op != "sub" and not _is_inside(a, inside):
            a, b = b, a
        if not _is_inside(a, inside) or _is_inside(b, inside):
            return None
        undone.append(({"add": "sub", "sub": "add"}.get(number.op, number.op), b))
        number = a
    return tuple(undone)


def _is_inside(value: Value, inside: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block in inside

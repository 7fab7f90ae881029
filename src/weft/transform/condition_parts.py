"""The conditions that a condition is made of."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import FALSE, TRUE, Instruction, Value


def parts_of(condition: Value, holds: bool) -> Iterator[tuple[Value, bool]]:
    """The conditions that all have to be as given for `condition` to be true, or false."""
    if isinstance(condition, Instruction):
        if condition.op == "xor" and condition.operands[1] == TRUE:
            yield from parts_of(condition.operands[0], not holds)
            return
        if condition.op == "select" and condition.operands[2 if holds else 1] == (FALSE if holds else TRUE):
            yield from parts_of(condition.operands[0], holds)
            yield from parts_of(condition.operands[1 if holds else 2], holds)
            return
        if condition.op == ("and" if holds else "or"):
            yield from parts_of(condition.operands[0], holds)
            yield from parts_of(condition.operands[1], holds)
            return
    yield condition, holds

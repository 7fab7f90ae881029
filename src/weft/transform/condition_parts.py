"""The conditions that a condition is made of."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import FALSE, TRUE, Instruction, Value


def parts_of(condition: Value, holds: bool) -> Iterator[tuple[Value, bool]]:
    """The conditions that all have to be as given for `condition` to be true, or false."""
    work, seen = [(condition, holds)], set[tuple[Value, bool]]()
    while work:
        part = condition, holds = work.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(condition, Instruction):
            if condition.op == "xor" and condition.operands[1] == TRUE:
                work.append((condition.operands[0], not holds))
                continue
            if condition.op == "select" and condition.operands[2 if holds else 1] == (
                FALSE if holds else TRUE
            ):
                work += ((condition.operands[1 if holds else 2], holds), (condition.operands[0], holds))
                continue
            if condition.op == ("and" if holds else "or"):
                work += ((condition.operands[1], holds), (condition.operands[0], holds))
                continue
        yield part

"""What a value is computed of, or what is computed of it, each once.

Programs are graphs: sums of shared sums are reached on twice as many ways with each. What asks a question of every part
of a value asks it of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.ir.instruction import Instruction
from weft.ir.values import Value


def slice_of(value: Value, goes_into: Callable[[Instruction], bool]) -> Iterator[Value]:
    """A value and what it is computed of, first that; operands of what `goes_into` refuses are left out."""
    work, seen = [value], set[Value]()
    while work:
        part = work.pop()
        if part in seen:
            continue
        seen.add(part)
        yield part
        if isinstance(part, Instruction) and goes_into(part):
            work += reversed(part.operands)

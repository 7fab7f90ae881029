"""Unique names for the values and blocks of a function.

The first value in textual order that bears a name keeps it; later ones get ``.1``, ``.2``, ... behind it.
Values without a name, and values whose name is a number, are numbered in textual order: a number that is still
free and higher than all before is kept, so that a function read from text keeps its numbers.
"""

from __future__ import annotations

from weft.ir.function import Function
from weft.ir.types import VOID, quote_name
from weft.ir.values import Value


def local_names(function: Function) -> dict[Value, str]:
    """Each argument, block and result with its name as written (``%x``)."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    late: list[Value] = []
    next_number = 0
    for value in _named_values(function):
        name = value.name
        if not name or (name[0] in "0123456789" and name.isdecimal()):
            number = int(name) if name else next_number
            if number < next_number:
                number = next_number
            next_number = number + 1
            names[value] = f"%{number}"
        elif name in taken:
            late.append(value)
        else:
            taken.add(name)
            names[value] = f"%{quote_name(name)}"
    numbers: dict[str, int] = {}
    for value in late:
        base = value.name
        # All lower numbers are taken.
        numbers[base] = _unused_number(base, taken, numbers.get(base, 1))
        names[value] = f"%{quote_name(f'{base}.{numbers[base]}')}"
    return names


def unused_name(base: str, taken: set[str]) -> str:
    """`base` with the lowest number behind it that makes it new; it is taken then."""
    return f"{base}.{_unused_number(base, taken, 1)}"


def _unused_number(base: str, taken: set[str], number: int) -> int:
    """The lowest number from `number` on that makes a name new behind it; the name is taken then."""
    while (name := f"{base}.{number}") in taken:
        number += 1
    taken.add(name)
    return number


def _named_values(function: Function) -> list[Value]:
    values: list[Value] = [*function.args]
    if not function.blocks:
        return [v for v in values if v.name]
    for block in function.blocks:
        values.append(block)
        values += [i for i in block.instructions if i.type is not VOID]
    return values

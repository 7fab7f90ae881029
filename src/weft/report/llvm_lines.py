"""Where the instructions of a module stand in its LLVM text.

The reader of LLVM text keeps no positions: compilation needs none. A report on a ``.ll`` file shows the file, so its
lines are found here: an instruction begins on a line of its own, and the order is that of the module.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.ir import Function, Instruction
from weft.ir.lexer import name_of

_DEFINE = re.compile(r'^define\b.*?(@(?:[-\w$.\\]+|"[^"]*"))\s*\(')
_LABEL = re.compile(r'^(?:[-\w$.\\]+|"[^"]*"):')
_QUOTED = re.compile(r'"[^"]*"')


class FunctionText(Struct, frozen=True):
    """The lines of a definition, counted from 1: the first, the last, and the first of each instruction."""

    first: int
    last: int
    instructions: tuple[int, ...]


def definitions(text: str) -> dict[str, FunctionText]:
    """Each definition of the text by the name of its function."""
    found: dict[str, FunctionText] = {}
    lines = text.splitlines()
    position = 0
    while position < len(lines):
        match = _DEFINE.match(lines[position])
        if match:
            definition = _definition(lines, position)
            found[name_of(match[1])] = definition
            position = definition.last
        else:
            position += 1
    return found


def _definition(lines: list[str], begin: int) -> FunctionText:
    starts: list[int] = []
    open_brackets = 0
    position = begin + 1
    while position < len(lines) and not lines[position].startswith("}"):
        line = _QUOTED.sub('""', lines[position]).partition(";")[0].strip()
        if open_brackets or (line and not line.startswith("#") and not _LABEL.match(line)):
            if not open_brackets:
                starts.append(position + 1)
            open_brackets += line.count("[") - line.count("]")
        position += 1
    return FunctionText(begin + 1, position + 1, tuple(starts))


def instruction_lines(function: Function, definition: FunctionText) -> dict[Instruction, int]:
    """The line of each instruction; none where the text does not have one line an instruction."""
    instructions = list(function.instructions())
    if len(instructions) != len(definition.instructions):
        return {}
    return dict(zip(instructions, definition.instructions, strict=True))

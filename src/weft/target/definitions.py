"""LLVM's text taken apart: at the definitions of functions, and their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

NAME = re.compile(r'%(?:"[^"]*"|[-\w.$]+)')
LABEL = re.compile(r'(?:"[^"]*"|[-\w.$]+):')
LINE = re.compile(r'  (%(?:"[^"]*"|[-\w.$]+)) = (.*)')
"""A line that makes a value: its name, and of what."""
INCOMING = re.compile(r'\[ (?P<value>.+?), (?P<block>%(?:"[^"]*"|[-\w.$]+)) \]')
"""What comes to a φ, and from which block."""

WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
"""Bits of the types of elements."""


def unused_prefix(stem: str, text: str) -> str:
    """A beginning of names that a text has none with: it may have been changed so before LLVM looked at it again."""
    prefix = f"%weft.{stem}"
    while prefix in text:
        prefix += ".again"
    return prefix


def parts_by_definition(text: str) -> list[str]:
    """A module's text as what is before the first function that it defines, and from each one to the next.

    A regular expression would try each character for the beginning of a line.
    """
    if text.startswith("define "):
        return ["", *parts_by_definition("\n" + text)[1:]]
    first, *others = text.split("\ndefine ")
    parts = [first, *("define " + other for other in others)]
    return [part + "\n" for part in parts[:-1]] + parts[-1:]


def rewritten(text: str, change: Callable[[str], str | None]) -> str | None:
    """A module's text in which `change` has rewritten parts between definitions; None where it gives None for all."""
    parts = parts_by_definition(text)
    made = [change(part) for part in parts]
    if all(new is None for new in made):
        return None
    return "".join(part if new is None else new for part, new in zip(parts, made, strict=True))


def with_declarations(text: str, declarations: Iterable[str]) -> str:
    """A module's text that declares functions, which it may have done before."""
    return text + "".join(f"{line}\n" for line in sorted(declarations) if not _declares(text, line))


def _declares(text: str, line: str) -> bool:
    called = line[line.index("@") : line.index("(")]
    return re.search(rf"(?m)^declare .*{re.escape(called)}\(", text) is not None


class FunctionLines(Struct, frozen=True):
    """A function's text line by line.

    Parameters
    ----------
    lines
        The lines.
    blocks
        The number of the line that the block of each line begins with.
    defined
        The values that lines make: the number of the line, and what is right of its ``=``.
    """

    lines: list[str]
    blocks: list[int]
    defined: dict[str, tuple[int, str]]

    @classmethod
    def of(cls, text: str) -> FunctionLines:
        """The lines of a text."""
        made = cls(text.split("\n"), [], {})
        for number, line in enumerate(made.lines):
            made.blocks.append(number if LABEL.match(line) else made.blocks[-1] if number else 0)
            if found := LINE.match(line):
                made.defined[found[1]] = number, found[2]
        return made

    def defined_between(self, first: int, last: int) -> dict[str, tuple[int, str]]:
        """The values that the lines between two make, as these are now.

        These lines are read again: to look through all of a function's for each of its loops takes longer.
        """
        lines = enumerate(self.lines[first + 1 : last], first + 1)
        return {found[1]: (number, found[2]) for number, line in lines if (found := LINE.match(line))}

    def uses(self) -> dict[str, list[str]]:
        """What each value is used for, but for debuggers: names of values, or nothing where a line makes none."""
        found: dict[str, list[str]] = {name: [] for name in self.defined}
        for line in self.lines:
            if line.startswith("    #dbg_"):
                continue
            left, equals, right = line.partition(" = ")
            for name in NAME.findall(right if equals else line):
                if name in found:
                    found[name].append(left.strip() if equals else "")
        return found


def loops_of_one_block(function: FunctionLines) -> Iterator[tuple[int, int, str]]:
    """Blocks that branch to themselves: their first and last line, and their name."""
    for number, line in enumerate(function.lines):
        if not line.startswith("  br i1 "):
            continue
        first = function.blocks[number]
        label = LABEL.match(function.lines[first])
        name = f"%{label[0][:-1]}" if label else ""
        if name in NAME.findall(line)[-2:]:
            yield first, number, name

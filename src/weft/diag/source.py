"""Source spans: where in the user's files something is, and how to show it.

Lines and columns count from 1 and columns count characters, as editors do; Python's `ast` counts columns from
0 and in UTF-8 bytes, which `SourceSpan.of_node` translates. The end column is exclusive.
"""

from __future__ import annotations

import ast
import linecache
import unicodedata
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A stretch of source text.

    Parameters
    ----------
    file
        The name under which `linecache` finds the text; also what the user sees.
    line, column
        Where it begins, from 1. Column 0 means the whole line (LLVM's debug locations may lack a column).
    end_line, end_column
        Where it ends; 0 when not known, and then it is shown as one character.
    text
        The line itself, for text that no file holds (IR given as a string). Not part of the comparison.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    text: str | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of_node(
        cls, node: ast.expr | ast.stmt | ast.arg, file: str, lines: int = 0, indent: int = 0
    ) -> SourceSpan:
        """Return the span of a node of Python's AST.

        Parameters
        ----------
        node
            A located node.
        file
            The file that the parsed text is from.
        lines, indent
            How many lines precede the parsed text in the file, and how many columns were cut from each of its
            lines, when not the whole file was parsed (a function's source, dedented).
        """
        end = node.end_col_offset
        return cls.of_bytes(
            file,
            node.lineno + lines,
            node.col_offset + indent,
            (node.end_lineno or node.lineno) + lines,
            None if end is None else end + indent,
        )

    @classmethod
    def of_bytes(cls, file: str, line: int, column: int, end_line: int, end_column: int | None) -> SourceSpan:
        """Return the span whose columns Python gives: from 0, in UTF-8 bytes."""
        end = 0 if end_column is None else _character_column(file, end_line, end_column)
        return cls(file, line, _character_column(file, line, column), end_line, end)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    def source_line(self) -> str | None:
        """Return the first line of the span without its line end, or None when the text cannot be found."""
        text = self.text if self.text is not None else linecache.getline(self.file, self.line)
        return text.rstrip("\r\n") or None

    def excerpt(self) -> str | None:
        """Return the source line with its number and, under it, a caret where the span begins.

        >>> print(SourceSpan("k.py", 7, 5, 7, 8, text="y = abc(x)").excerpt())
        7 | y = abc(x)
          |     ^~~
        """
        source = self.source_line()
        if source is None:
            return None
        number = str(self.line)
        shown = f"{number} | {source}"
        if not 1 <= self.column <= len(source) + 1:
            return shown
        begin = self.column - 1
        end = len(source) if self.end_line > self.line else min(len(source), self.end_column - 1)
        underline = "^" + "~" * (_width(source[begin : max(begin, end)]) - 1)
        return f"{shown}\n{' ' * len(number)} | {_blank(source[:begin])}{underline}"


def render(label: str, message: str, span: SourceSpan | None, hint: str | None) -> str:
    """Return a diagnostic as people read it: position, label, message, source line with caret, hint."""
    head = ": ".join(part for part in (str(span) if span else "", label, message) if part)
    parts = [head]
    excerpt = span.excerpt() if span else None
    if excerpt:
        parts.extend("  " + line for line in excerpt.splitlines())
    if hint:
        parts.append(f"  hint: {hint}")
    return "\n".join(parts)


def _character_column(file: str, line: int, byte_offset: int) -> int:
    encoded = linecache.getline(file, line).encode()
    if byte_offset > len(encoded) or encoded.isascii():
        return byte_offset + 1
    return len(encoded[:byte_offset].decode(errors="replace")) + 1


def _width(text: str) -> int:
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _blank(text: str) -> str:
    """Return white space as wide as the text on a terminal; a tab stays a tab."""
    return "".join("\t" if character == "\t" else " " * _cells(character) for character in text)

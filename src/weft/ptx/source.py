"""Text that PTX is read from: where its lines begin, and spans of it for diagnostics."""

from __future__ import annotations

from bisect import bisect_right

from weft.diag.source import SourceSpan


class Source:
    """A named text.

    Attributes
    ----------
    filename
        What diagnostics call it.
    text
        All of it.
    starts
        The offset at which each line begins.
    """

    __slots__ = ("filename", "starts", "text")

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        self.starts = starts

    def line(self, offset: int) -> int:
        """The number, from 1, of the line that an offset is in."""
        return bisect_right(self.starts, offset)

    def span(self, begin: int, end: int) -> SourceSpan:
        """The text from one offset to another; on one line, if need be only up to its end."""
        number = self.line(begin)
        start = self.starts[number - 1]
        stop = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        column = begin - start + 1
        width = max(1, min(end, stop) - begin)
        return SourceSpan(self.filename, number, column, number, column + width, text=self.text[start:stop])

    def span_at(self, line: int, column: int) -> SourceSpan:
        """The word that begins at a line and column."""
        begin = self.starts[line - 1] + column - 1
        end = begin + 1
        while end < len(self.text) and not self.text[end].isspace() and self.text[end] not in ",;()[]{}":
            end += 1
        return self.span(begin, end)

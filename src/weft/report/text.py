"""A report as text: plain, or in colours on a terminal where rich is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from weft.report.styled import Style, StyledLine

_COLOURS = {
    Style.PLAIN: "",
    Style.HEADING: "bold",
    Style.MUTED: "dim",
    Style.SOURCE: "",
    Style.UNIFORM: "green",
    Style.STRIDED: "cyan",
    Style.AFFINE: "blue",
    Style.VARYING: "yellow",
    Style.DIVERGES: "bold red",
    Style.COST: "bold",
    Style.WARNING: "bold yellow",
    Style.ERROR: "bold red",
}


def plain(lines: Iterable[StyledLine]) -> str:
    """The lines without colours, ending in a line end."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def write(lines: Iterable[StyledLine], stream: TextIO) -> None:
    """Print the lines: in colours if the stream is a terminal and rich is installed, plain otherwise."""
    if stream.isatty() and _write_in_colours(lines, stream):
        return
    text = plain(lines)
    encoding = stream.encoding or "utf-8"
    # A source may hold characters that the terminal's encoding lacks.
    stream.write(text.encode(encoding, "replace").decode(encoding))


def _write_in_colours(lines: Iterable[StyledLine], stream: TextIO) -> bool:
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return False
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((text, _COLOURS[style]) for text, style in line)))
    return True

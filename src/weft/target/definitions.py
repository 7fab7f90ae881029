"""LLVM's text taken apart at the definitions of functions."""

from __future__ import annotations


def parts_by_definition(text: str) -> list[str]:
    """A module's text as what is before the first function that it defines, and from each one to the next.

    A regular expression would try each character for the beginning of a line.
    """
    if text.startswith("define "):
        return ["", *parts_by_definition("\n" + text)[1:]]
    first, *others = text.split("\ndefine ")
    parts = [first, *("define " + other for other in others)]
    return [part + "\n" for part in parts[:-1]] + parts[-1:]

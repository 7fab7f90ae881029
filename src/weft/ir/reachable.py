"""Functions within a module's text: each by its name, and what some of them reach."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.ir.types import quote_name

_FUNCTION = re.compile(r"^(?:define .*?^\}|declare .*?$)\n*", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r'@([-\w$.]+|"[^"]*")')
_NAME = re.compile(_SYMBOL.pattern + r"\(")


def reachable_text(text: str, roots: Iterable[str]) -> str:
    """The module without the functions that neither `roots` nor anything but functions leads to.

    Parameters
    ----------
    text
        A module as `write_module` writes it.
    roots
        Names of functions to keep. One that the module does not have is passed over.
    """
    functions = _functions_of(text)
    first, *others = _FUNCTION.split(text)
    # Names that only look like symbols, such as those within strings, keep a function too many at worst.
    waiting = [*map(_written_name, roots), *_symbols(first), *(n for part in others for n in _symbols(part))]
    kept: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in kept:
            kept.add(name)
            waiting += _symbols(functions[name])
    return "".join([first, *(body for name, body in functions.items() if name in kept), *others])


def _functions_of(text: str) -> dict[str, str]:
    """The text of each function of a module that `write_module` has written, by its `_written_name`."""
    return {_named(found): found for found in _FUNCTION.findall(text)}


def _written_name(name: str) -> str:
    """A function's name as it is written, without quotes."""
    return quote_name(name).strip('"')


def _named(function: str) -> str:
    found = _NAME.search(function)
    assert found is not None, "a function has a name, and parameters behind it"
    return found[1].strip('"')


def _symbols(text: str) -> list[str]:
    return [name.strip('"') for name in _SYMBOL.findall(text)]

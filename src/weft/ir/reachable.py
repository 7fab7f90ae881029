"""The part of a module's text that some functions reach: what has to be read to run them."""

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
    functions: dict[str, str] = {}
    rest: list[str] = []
    end = 0
    for match in _FUNCTION.finditer(text):
        rest.append(text[end : match.start()])
        end = match.end()
        functions[_named(match[0])] = match[0]
    rest.append(text[end:])
    # Names that only look like symbols, such as those within strings, keep a function too many at worst.
    waiting = [
        *(quote_name(r).strip('"') for r in roots),
        *(name for part in rest for name in _symbols(part)),
    ]
    kept: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in kept:
            kept.add(name)
            waiting += _symbols(functions[name])
    bodies = [body for name, body in functions.items() if name in kept]
    return "".join([*rest[:1], *bodies, *rest[1:]])


def _named(function: str) -> str:
    found = _NAME.search(function)
    assert found is not None, "a function has a name, and parameters behind it"
    return found[1].strip('"')


def _symbols(text: str) -> list[str]:
    return [name.strip('"') for name in _SYMBOL.findall(text)]

"""Tokens of PTX text.

A token is a string; its kind shows in its first character:

=====================  ====================================================================
``ld.global.v2.f32``   a name with all its parts: instruction, register, label, ``%tid.x``
``.visible``           a directive, one part only
``0x1fU`` ``0f3F80…``  a number
``"text"``             a string, with its quotes
``@@DWARF …``          a line of debug data of PTX 1.x
others                 operators and punctuation
=====================  ====================================================================

Comments and lines that begin with ``#`` are between tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.diag.errors import PtxError
from weft.ptx.source import Source

END = ""
"""The token after the last one."""

# The alternatives stand in the order of how often they match; blanks give nothing back. Groups are atomic ones:
# possessive ones are wrong in Python 3.11.0 to 3.11.4 where their last round fails. Behind the last token there is an
# empty one, so that no search for another one begins within a comment.
_TOKEN = re.compile(
    r"""
    \s*+ (?> (?: (?: //.*+ | /\*[^*]*+(?> (?:\*(?!/)[^*]*+)* )\*/ | (?<![^\n])\#.*+ ) \s*+ )* )
    (
        [A-Za-z_$%][\w$]*+ (?> (?: \.\w++ (?> (?: ::\w++ (?> (?: :\d++ )? ) )* ) )* )
      | [,;\[\]{}()]
      | 0[fF][0-9A-Fa-f]{8} | 0[dD][0-9A-Fa-f]{16}
      | 0[xX][0-9A-Fa-f]++U? | 0[bB][01]++U?
      | \d++ (?> (?: \.\d*+ (?> (?: [eE][-+]?\d++ )? ) | [eE][-+]?\d++ | U )? )
      | \.[A-Za-z_]\w*+ (?> (?: ::\w++ (?> (?: :\d++ )? ) )* ) | \.\d[\w]*+
      | "[^"\n]*+"
      | @@DWARF.*+
      | << | >> | <= | >= | == | != | && | \|\|
      | \S
      | \Z
    )
    """,
    re.VERBOSE | re.ASCII,
)
_LONE = frozenset("_$@|:<>=-+!?*%^&~,;[]{}()")


def tokenize(source: Source) -> tuple[list[str], list[int]]:
    """Cut text into tokens.

    Returns
    -------
    tokens, starts
        The tokens, `END` last, and the offset of each in the text.

    Raises
    ------
    PtxError
        A character stands where no token has it, or a string or comment does not end.
    """
    tokens: list[str] = []
    starts: list[int] = []
    for token, start in tokens_from(source, 0):
        tokens.append(token)
        starts.append(start)
    doubtful = {token for token in set(tokens) if len(token) == 1 and not (token.isalnum() or token in _LONE)}
    for number, token in enumerate(tokens) if doubtful else ():
        if token in doubtful and (token != "/" or source.text.startswith("/*", starts[number])):
            raise _stray(source, token, starts[number])
    tokens.append(END)
    starts.append(len(source.text.rstrip()))
    return tokens, starts


def tokens_from(source: Source, offset: int) -> Iterator[tuple[str, int]]:
    """The tokens, each with its offset, from an offset on at which one begins."""
    for match in _TOKEN.finditer(source.text, offset):
        if match[1]:
            yield match[1], match.start(1)


def _stray(source: Source, token: str, start: int) -> PtxError:
    span = source.span(start, start + 1)
    if token == "/":
        return PtxError("this comment does not end", source.span(start, start + 2))
    if token == '"':
        return PtxError("this string does not end on its line", span)
    return PtxError(f"{token!r} begins nothing in PTX", span)

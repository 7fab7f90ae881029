"""Tokens of LLVM text, and where they stand.

The reader is on the path of every just-in-time compilation, so tokens are plain strings that one regular
expression cuts; a token's kind shows in its first or last character:

=====================  =======================================================
``%x`` ``%"a b"``      local name
``@x`` ``@"a b"``      global name
``!12`` ``!foo``       metadata node, named metadata, attachment kind
``!"text"``            metadata string
``#0`` ``#dbg_value``  attribute group, debug record
``name:`` ``"a b":``   label, or field name of a metadata node
``!12 = ...``          a whole definition of a numbered metadata node
others                 words, numbers, ``"strings"``, single punctuation characters
=====================  =======================================================

A metadata definition is one token because modules with debug information hold more of them than
instructions, and most can be read by simpler means. Positions are found again only when an error needs one.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.diag.source import SourceSpan

END = "\0"
"""The token after the last one."""

# The alternatives stand in the order of how often they match, and give nothing back. Groups are atomic ones: possessive
# ones are wrong in Python 3.11.0 to 3.11.4 where their last round fails. Behind the last token there is an empty one,
# so that no search for another one begins within a comment.
_TOKEN = re.compile(
    r"""
    \s*+ (?> (?: ;.*+ \s*+ )* )                   # blanks and comments between tokens
    (
        # words, names, numbers, with 1.0e+00's +
        [%@#]?(?: [-\w.\\]|\$(?!") )[-\w$.\\]*+ (?> (?: \+\d++ )? ) :?+
      | [(),=\[\]{}<>]
        # a numbered node with its indented lines
      | !\d++[ \t]*+=.*+ (?> (?: \n(?![ \t]*+!\d++[ \t]*+=)[ \t)}] .*+ )* )
      | ![-\w$.\\]++
      | [%@!$]?"[^"]*+":?+
      | \S
      | \Z
    )
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")


def tokenize(text: str) -> list[str]:
    """Cut `text` into tokens; the list ends with `END`."""
    tokens = _TOKEN.findall(text)
    while tokens and not tokens[-1]:
        tokens.pop()
    tokens.append(END)
    return tokens


class SourceText(Struct, frozen=True):
    """A text to read, or (`outer` set) the part of token number `outer_token` of another from `skip` on."""

    text: str
    filename: str
    outer: SourceText | None = None
    outer_token: int = 0
    skip: int = 0

    def span(self, index: int) -> SourceSpan:
        """The place of the `index`-th token, as diagnostics show it."""
        begin, end = self._token_offsets(index)
        text, shift = self.text, 0
        if self.outer is not None:
            text = self.outer.text
            shift = self.outer._token_offsets(self.outer_token)[0] + self.skip
        return _span(text, self.filename, begin + shift, end + shift)

    def _token_offsets(self, index: int) -> tuple[int, int]:
        for number, match in enumerate(_TOKEN.finditer(self.text)):
            if number == index:
                return match.span(1)
        end = len(self.text.rstrip())
        return end, end


def _span(text: str, filename: str, begin: int, end: int) -> SourceSpan:
    line_start = text.rfind("\n", 0, begin) + 1
    line_end = text.find("\n", begin)
    line_end = len(text) if line_end < 0 else line_end
    number = text.count("\n", 0, begin) + 1
    column = begin - line_start + 1
    width = max(1, min(end, line_end) - begin)
    return SourceSpan(filename, number, column, number, column + width, text=text[line_start:line_end])


def is_definition(token: str) -> bool:
    """Whether the token is the definition of a numbered metadata node."""
    return token[0] == "!" and token[1:2].isdigit() and "=" in token


def unescape(text: str) -> bytes:
    r"""The bytes that the inside of a quoted string stands for (``\XX`` and ``\\`` resolved)."""
    raw = text.encode("utf-8", "surrogateescape")
    if b"\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), raw)


def decode(text: str) -> str:
    """As `unescape`, as a string; bytes that are no UTF-8 survive as surrogates."""
    if "\\" not in text:
        return text
    return unescape(text).decode("utf-8", "surrogateescape")


def escape(data: bytes) -> str:
    """`data` as it stands between quotes in LLVM text."""
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)


def name_of(token: str) -> str:
    """The name that a ``%``, ``@`` or ``$`` token refers to.

    A quoted name of digits (``%"5"``) is another value than the numbered ``%5``; since names made of digits
    mean numbered values in memory, it is called ``_5``.
    """
    if token[1] != '"':
        return token[1:]
    name = decode(token[2:-1])
    return f"_{name}" if name.isdigit() else name

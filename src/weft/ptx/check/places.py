"""Where in the text the parts of an instruction are, found again when an error needs to show them."""

from __future__ import annotations

from weft.diag.source import SourceSpan
from weft.ptx.reader.lexer import tokens_from
from weft.ptx.source import Source
from weft.ptx.syntax import Located

_OPENS = frozenset("{[(")
_CLOSES = frozenset("}])")


def name_span(source: Source | None, statement: Located) -> SourceSpan | None:
    """The opcode with its modifiers; the guard is left out."""
    parts = _parts(source, statement)
    return None if source is None or not parts else source.span(*parts[0])


def guard_span(source: Source | None, statement: Located) -> SourceSpan | None:
    """The predicate of a guarded instruction."""
    if source is None or not statement.line:
        return None
    tokens = tokens_from(source, source.starts[statement.line - 1] + statement.column)
    token, begin = next(tokens)
    if token == "!":
        token, begin = next(tokens)
    return source.span(begin, begin + len(token))


def operand_span(source: Source | None, statement: Located, number: int) -> SourceSpan | None:
    """The operand of a number (from 0); the whole instruction's name if there are not so many."""
    parts = _parts(source, statement)
    if source is None or not parts:
        return None
    return source.span(*parts[number + 1 if number + 1 < len(parts) else 0])


def _parts(source: Source | None, statement: Located) -> list[tuple[int, int]]:
    """Begin and end of the name and of each operand."""
    if source is None or not statement.line:
        return []
    tokens = tokens_from(source, source.starts[statement.line - 1] + statement.column - 1)
    token, begin = next(tokens)
    if token == "@":
        token, begin = next(tokens)
        if token == "!":
            next(tokens)
        token, begin = next(tokens)
    parts = [(begin, begin + len(token))]
    depth, first, end = 0, -1, -1
    for token, begin in tokens:
        if first < 0 and token[0] == "." and len(parts) == 1:
            parts[0] = (parts[0][0], begin + len(token))
            continue
        if token == ";" or (token == "," and depth == 0):
            if first >= 0:
                parts.append((first, end))
            if token == ";":
                break
            first = -1
            continue
        depth += (token in _OPENS) - (token in _CLOSES)
        first = begin if first < 0 else first
        end = begin + len(token)
    return parts

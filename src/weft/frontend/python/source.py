"""From a function object to its syntax tree, with the line numbers of its file.

`source_lines` gives the text of the file as it was imported. Only the function's own lines of it are parsed. They are
found through the positions in its code object, and an indented function is parsed under an ``if 1:`` so that columns
stay as they are.
"""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from msgspec import Struct

from weft.diag.errors import SourceError, UnsupportedError
from weft.diag.source import SourceSpan
from weft.frontend.python.encoding import encode_code
from weft.frontend.python.source_text import source_lines

FunctionNode = ast.FunctionDef | ast.Lambda


class FunctionSource(Struct, frozen=True, eq=False):
    """A function with its syntax tree.

    Parameters
    ----------
    function
        The Python function.
    node
        Its definition.
    file
        The name of its file, as `linecache` knows it.
    line_offset
        What to add to line numbers of the tree.
    """

    # Not declared as a FunctionType: type checkers would take an attribute of that type for a method.
    function: Any
    node: FunctionNode
    file: str
    line_offset: int

    @property
    def name(self) -> str:
        return self.function.__name__

    def span(self, node: ast.AST) -> SourceSpan:
        """Return the place of a located node in the file."""
        return SourceSpan.of_node(node, self.file, self.line_offset)  # type: ignore[arg-type]


def get_source(function: FunctionType) -> FunctionSource:
    """Return the syntax tree of a function.

    Raises
    ------
    SourceError
        The source text cannot be found, or is not that of the function any more.
    UnsupportedError
        The function is no plain ``def`` or ``lambda``.
    """
    code = function.__code__
    # Code objects are equal to Python wherever they are from, and whatever columns they stand in.
    encoded = encode_code(code)
    key = code.co_filename, encoded
    parsed = _parsed.get(key)
    if parsed is None:
        if len(_parsed) >= 1024:
            _parsed.clear()
        parsed = _parse(code, source_lines(code, function.__globals__))
        if encoded is not None:
            _parsed[key] = parsed
    return FunctionSource(function, parsed[0], code.co_filename, parsed[1])


_parsed: dict[tuple[str, bytes | None], tuple[FunctionNode, int]] = {}


def _parse(code: CodeType, lines: list[str]) -> tuple[FunctionNode, int]:
    first = code.co_firstlineno
    try:
        return _definition(code, lines)
    except SyntaxError as error:
        raise SourceError(
            f"the source text of {code.co_name}() cannot be read: {error.msg}",
            SourceSpan(code.co_filename, first),
            "import its module again, or start the program again",
        ) from None


def _definition(code: CodeType, lines: list[str]) -> tuple[FunctionNode, int]:
    first = code.co_firstlineno
    if code.co_name == "<lambda>":
        return _find_lambda("".join(lines), code), 0
    block = lines[first - 1 : _last_line(code)]
    prefix = "if 1:\n" if block[0][:1].isspace() else ""
    offset = first - 1 - (1 if prefix else 0)
    try:
        tree = ast.parse(prefix + "".join(block))
    except SyntaxError:
        tree = ast.parse(prefix + "".join(inspect.getblock(lines[first - 1 :])))
    return _find(tree, code, offset), offset


def _last_line(code: CodeType) -> int:
    """Return the last line that an instruction of the function, or of one inside it, comes from."""
    last = max((end for _, end, _, _ in code.co_positions() if end), default=code.co_firstlineno)
    nested = [_last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([last, *nested])


def _find_lambda(text: str, code: CodeType) -> ast.Lambda:
    found = [node for node in _lambdas_in(text) if _is_body_of(node, code)]
    if len(found) != 1:
        raise _not_found(code)
    return found[0]


@lru_cache(maxsize=8)
def _lambdas_in(text: str) -> tuple[ast.Lambda, ...]:
    """All lambdas of a text; a file may have many, each of which needs the whole text."""
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda))


def _find(tree: ast.Module, code: CodeType, offset: int) -> FunctionNode:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start + offset == code.co_firstlineno:
                return node
        if isinstance(node, ast.AsyncFunctionDef) and node.name == code.co_name:
            span = SourceSpan.of_node(node, code.co_filename, offset)
            raise UnsupportedError("an async function cannot be compiled", span, "write a plain def")
    raise _not_found(code)


def _not_found(code: CodeType) -> SourceError:
    return SourceError(
        f"the definition of {code.co_name}() was not found where it was compiled from",
        SourceSpan(code.co_filename, code.co_firstlineno),
        "the file may have changed since it was imported",
    )


def _is_body_of(node: ast.Lambda, code: CodeType) -> bool:
    body = node.body
    return any(
        line == body.lineno and column == body.col_offset and end_column == body.end_col_offset
        for line, _, column, end_column in code.co_positions()
    )

"""The text that a function was compiled from: found, and proved to be that by compiling it again.

A file may be edited after it was imported, and text from it would then be another program than the one that runs. Text
counts only if Python makes the function's own code object of it: from what `linecache` knows, from the file as it is
now, from what came with a pickle, or, where there is no file, from where `weft.frontend.python.unfiled_text` looks. An
import hook, such as pytest's, makes another code object than Python; its functions are taken on trust while their file
is older than this process.
"""

from __future__ import annotations
import __future__

import ast
import io
import linecache
import os
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from weft.diag.errors import SourceError
from weft.diag.source import SourceSpan
from weft.frontend.python.encoding import encode_code
from weft.frontend.python.unfiled_text import texts_of

_STARTED = time.time()

_FUTURE = 0
"""The flags of compilation that a code object keeps."""

for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

_carried: dict[str, list[list[str]]] = {}
"""Lines of files that came with functions from other processes."""


def carry_text(file: str, text: str) -> None:
    """Keep the text of a file that may not be found here."""
    lines = io.StringIO(text).readlines()
    texts = _carried.setdefault(file, [])
    if lines not in texts:
        texts.append(lines)


def text_of_file(code: CodeType, names: dict[str, Any]) -> str | None:
    """Return the text that a code object was compiled from, for another process; None when it is not at hand."""
    return next(("".join(lines) for lines in _texts(code, names) if _holds(lines, code)), None)


def source_lines(code: CodeType, names: dict[str, Any]) -> list[str]:
    """Return the lines of the file that a function's code was compiled from.

    Parameters
    ----------
    code
        The function's code.
    names
        Its globals, which say how its module was loaded.

    Raises
    ------
    SourceError
        There is no such text, or only a later one.
    """
    found, hooked = False, _is_hooked(code, names)
    is_filed = bool(linecache.getlines(code.co_filename, names))
    for lines in _texts(code, names):
        found = found or (is_filed and len(lines) >= code.co_firstlineno)
        # A file on trust is not compiled for each function that Python makes another code object of.
        if (found and hooked) or _holds(lines, code):
            return lines
    if not found:
        raise SourceError(
            f"the source text of {code.co_name}() cannot be found",
            hint="define it in a file or a notebook cell; of exec(text), call weft.keep_exec_source() before, "
            "or let the decorator run inside it with the text in a variable",
        )
    raise SourceError(
        f"the source text of {code.co_name}() has changed since it was imported",
        SourceSpan(code.co_filename, code.co_firstlineno),
        "import its module again, or start the program again",
    )


def _texts(code: CodeType, names: dict[str, Any]) -> Iterator[list[str]]:
    """What the text may be, the likeliest first."""
    file = code.co_filename
    known = linecache.getlines(file, names)
    yield known
    linecache.checkcache(file)
    fresh = linecache.getlines(file, names)
    if fresh is not known:
        yield fresh
    yield from _carried.get(file, ())
    for text in texts_of(code):
        yield io.StringIO(text).readlines()


def remember_text(function: Any) -> None:
    """Keep the text of a function that is in no file, while those that made it are still running."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not code.co_filename.startswith("<"):
        return
    if not linecache.getlines(code.co_filename, function.__globals__):
        text = text_of_file(code, function.__globals__)
        if text is not None:
            carry_text(code.co_filename, text)


def _holds(lines: list[str], code: CodeType) -> bool:
    """Whether Python makes this code object of a text."""
    columns = any(column is not None for _, _, column, _ in code.co_positions())
    wanted = encode_code(code, columns)
    if wanted is None or len(lines) < code.co_firstlineno:
        return False
    flags, text = code.co_flags & _FUTURE, "".join(lines)
    return any(wanted in _codes_in(text, code.co_filename, flags, columns, apart) for apart in (False, True))


@lru_cache(maxsize=32)
def _codes_in(text: str, file: str, flags: int, columns: bool, apart: bool) -> frozenset[bytes]:
    """All code objects of a text; without columns, as where byte code was made by ``python -X no_debug_ranges``.

    `apart`: of each statement by itself, as IPython compiles a cell's. Python 3.11 calls ``module.function()`` in
    another way where it has seen the import of the module.
    """
    # Cells of a notebook may await.
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        # What there is to warn of was said when the module was imported.
        warnings.simplefilter("ignore")
        try:
            parts: list[Any] = [text]
            if apart:
                parts = [ast.Module([statement], []) for statement in ast.parse(text, file).body]
            pending = [compile(part, file, "exec", flags, dont_inherit=True) for part in parts]
        except (SyntaxError, ValueError):
            return frozenset()
    found: set[bytes] = set()
    while pending:
        code = pending.pop()
        encoded = encode_code(code, columns)
        if encoded is not None:
            found.add(encoded)
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)


def _is_hooked(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether something else than Python made code of a file that has not changed while this process ran."""
    loader = getattr(names.get("__spec__"), "loader", None)
    if loader is None or type(loader) is SourceFileLoader:
        return False
    try:
        return os.stat(code.co_filename).st_ctime < _STARTED
    except OSError:
        return False

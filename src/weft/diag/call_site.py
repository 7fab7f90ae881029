"""Where the user's code called weft: the position of errors about a launch rather than about a kernel."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

from weft.diag.errors import WeftError
from weft.diag.source import SourceSpan

_P = ParamSpec("_P")
_R = TypeVar("_R")

_PACKAGE = __name__.partition(".")[0]


def call_site() -> SourceSpan | None:
    """The innermost call in progress that code outside of weft has written."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return None
    # Two bytes an instruction.
    found = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, column, end_column = found
    file = frame.f_code.co_filename
    if line is None or column is None:
        return SourceSpan(file, frame.f_lineno)
    return SourceSpan.of_bytes(file, line, column, end_line or line, end_column)


def located(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function that users call: errors without a position get that of the call."""

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except WeftError as error:
            error.at(call_site())
            raise

    return wrapper


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name == _PACKAGE or name.startswith(_PACKAGE + ".")

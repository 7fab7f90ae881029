"""Where the text of functions may be that are in no file: of ``python -c``, standard input, a prompt, `exec`.

The text that `exec` has run is gone once the function has returned that called it, unless the program has asked
(`keep_exec_source`) that such texts be kept.

What is found here is only offered: `weft.frontend.python.source_text` takes a text if Python makes the function's own
code object of it.
"""

from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from types import CodeType, FrameType
from typing import Any

_MOST = 1 << 22
"""Bytes of standard input that are read, and of a string that is looked at."""

_MOST_KEPT = 4096
"""Texts of `exec` that are kept."""

_OF_DATACLASSES = "def __create_fn__"
"""How the texts begin by which `dataclasses` make methods: there are many."""

_HISTORY = 1000
"""Lines of a prompt's history that are looked at."""


_kept: deque[str] = deque(maxlen=_MOST_KEPT)
"""Texts that were compiled for no file, the latest last."""


@cache
def keep_exec_source() -> None:
    """Keep the text of functions that `exec` and `compile` make from now on, so that they can be compiled any time.

    Python tells of each text by an audit hook, which stays for the rest of the process and costs a fraction of a
    microsecond at each event that is audited (https://docs.python.org/3/library/audit_events.html).
    """
    sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if event != "compile":
        return
    source, file = args
    text = source.decode(errors="replace") if isinstance(source, bytes) else source
    if not isinstance(text, str) or not isinstance(file, (str, bytes)) or len(text) > _MOST:
        return
    if os.fsdecode(file).startswith("<") and ("def " in text or "lambda" in text):
        if text.lstrip().startswith(_OF_DATACLASSES):
            return
        _kept.append(text)


def texts_of(code: CodeType) -> Iterator[str]:
    """Texts that the code may have been compiled from, the likeliest first."""
    if code.co_filename.startswith("<"):
        yield from (text for text in reversed(list(_kept)) if _may_define(text, code))
    if code.co_filename == "<string>":
        yield from _of_command_line()
        yield from _of_frames(code)
    elif code.co_filename.startswith("<stdin"):
        # A prompt numbers what it is given since Python 3.14: ``<stdin-3>``.
        yield from _of_standard_input()
        yield from _of_history(code)
    elif code.co_filename.startswith("<"):
        yield from _of_frames(code)


def _of_command_line() -> Iterator[str]:
    """The text of ``python -c``: the first argument behind an option that ends in c."""
    arguments = sys.orig_argv[1:]
    for option, text in itertools.pairwise(arguments):
        if option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            yield text
            return
        if not option.startswith("-"):
            return


def _of_standard_input() -> Iterator[str]:
    """What a file that standard input comes from begins with; what came through a pipe is gone."""
    try:
        yield os.pread(0, _MOST, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _of_history(code: CodeType) -> Iterator[str]:
    """Definitions in the history of Python's prompt, the latest first."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    last = readline.get_current_history_length()
    lines = [readline.get_history_item(at) or "" for at in range(max(1, last - _HISTORY), last + 1)]
    for at in reversed(range(len(lines))):
        if lines[at].startswith(("@", "def ")) or (code.co_name == "<lambda>" and "lambda" in lines[at]):
            try:
                block = inspect.getblock([f"{line}\n" for line in lines[at:]])
            except (SyntaxError, IndentationError):
                continue
            yield "".join(block)


def _of_frames(code: CodeType) -> Iterator[str]:
    """Strings that the functions hold that are running: one of them has called `exec`."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        for value in (*frame.f_locals.values(), *frame.f_code.co_consts):
            if isinstance(value, str) and len(value) < _MOST and _may_define(value, code):
                yield value
        frame = frame.f_back


def _may_define(text: str, code: CodeType) -> bool:
    return ("lambda" if code.co_name == "<lambda>" else f"def {code.co_name}") in text

"""Counts what Python calls: a test of what grows too fast neither waits for it nor rests on the time of a machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TooManyStepsError(AssertionError):
    """More functions were called than a test allows."""


@contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Let so many functions be called, those of C included, and fail at the next one."""
    left = calls

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                raise TooManyStepsError(
                    f"more than {calls} calls, the last one from {frame.f_code.co_qualname}"
                )

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)

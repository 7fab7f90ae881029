"""Sums of hundreds of terms, as programs write them, and where problems in them are."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from frontend.kernels import value_of
from weft.errors import TypingError


def made(text: str, name: str) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def test_a_sum_of_a_thousand_terms() -> None:
    terms = " + ".join(f"a * {n}" for n in range(1000))
    f = made(f"def f(a):\n    return {terms} - a // 2 % 3\n", "a thousand terms")
    assert value_of(f, np.int64(7)) == f(7)


def test_the_caret_is_under_the_part_of_the_sum() -> None:
    f = made("def f(a):\n    return a + 1 + a * None + a + 2\n", "a wrong term")
    with pytest.raises(TypingError) as caught:
        value_of(f, np.int64(7))
    assert caught.value.span is not None
    assert (caught.value.span.line, caught.value.span.column) == (2, 20)
    g = made("def f(a):\n    return a + 1 + None + a + 2\n", "a wrong sum")
    with pytest.raises(TypingError) as caught:
        value_of(g, np.int64(7))
    assert caught.value.span is not None
    assert (caught.value.span.column, caught.value.span.end_column) == (12, 24)

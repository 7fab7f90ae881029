"""Damaged text is refused as such or means what LLVM reads in it; nothing else comes out of the reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.diag.errors import IRSyntaxError
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.writer import write_module

HERE = Path(__file__).parent
PARTS = re.compile(r'\s+|"[^"]*"|[-%@!#\w$.]+|\S')
TEXTS = [PARTS.findall(path.read_text()) for path in sorted((HERE / "ll").glob("*.ll"))]
POOL = sorted({part for parts in TEXTS for part in parts})


def read_or_none(text: str) -> Module | None:
    """The module, or None when the text is refused at a line that it has."""
    try:
        return read_module(text)
    except IRSyntaxError as refusal:
        line = refusal.span.line if refusal.span is not None else 0
    assert 1 <= line <= text.count("\n") + 1
    return None


@given(st.data())
def test_damaged_text_is_refused_or_means_what_llvm_reads(
    normal_form: Callable[[str], str], data: st.DataObject
) -> None:
    parts = list(data.draw(st.sampled_from(TEXTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(parts) - 1))
        match data.draw(st.sampled_from(["drop", "replace", "insert", "cut", "swap"])):
            case "drop":
                del parts[at]
            case "replace":
                parts[at] = data.draw(st.sampled_from(POOL))
            case "insert":
                parts.insert(at, data.draw(st.sampled_from(POOL)))
            case "cut":
                parts = parts[: at + 1]
            case _:
                other = data.draw(st.integers(0, len(parts) - 1))
                parts[at], parts[other] = parts[other], parts[at]
    text = "".join(parts)
    module = read_or_none(text)
    if module is None:
        return
    try:
        expected = normal_form(text)
    except RuntimeError:
        return
    assert normal_form(write_module(module, plain=True)) == expected


@pytest.mark.parametrize("name", ["debug_info", "symbols"])
def test_blanks_and_line_ends_do_not_matter(name: str, normal_form: Callable[[str], str]) -> None:
    text = (HERE / "ll" / f"{name}.ll").read_text()
    spaced = re.sub(r"(?m)^(!\d+) = ", r"  \1   =", text).replace("\n", "\r\n")
    assert normal_form(write_module(read_module(spaced), plain=True)) == normal_form(text)

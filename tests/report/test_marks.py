"""The gutter says what the comments in the kernels themselves say."""

from __future__ import annotations

import re

import pytest

from report.marked_kernels import KERNELS

_EXPECTED = re.compile(r"# (?P<shape>U|T|S\S+)(?: \| (?P<control>[a-z ]*))?(?:\| (?P<memory>.*))?$")


@pytest.mark.parametrize("name", KERNELS)
def test_each_line_shows_what_its_comment_says(name, report_on_kernel) -> None:
    function, types = KERNELS[name]
    report = report_on_kernel(function, types)
    lines = report.functions[0].excerpts[0].lines
    checked = 0
    for line in lines:
        expected = _EXPECTED.search(line.text)
        if expected is None:
            continue
        checked += 1
        shown = (line.shape, line.control, ", ".join(line.memory))
        wanted = tuple((expected[part] or "").strip() for part in ("shape", "control", "memory"))
        assert shown == wanted, f"line {line.number}: {line.text}"
    assert checked >= 3

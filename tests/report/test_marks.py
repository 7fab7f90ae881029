"""The gutter says what the comments in the kernels themselves say."""

from __future__ import annotations

import re

import pytest

from report.marked_kernels import KERNELS
from weft.frontend.python.compile import compile_python
from weft.frontend.python.signatures import parse_signature
from weft.machine.targets import AVX512
from weft.report.build import ReportOptions
from weft.report.kernels import report_on_kernels

_EXPECTED = re.compile(r"# (?P<shape>U|T|S\S+)(?: \| (?P<control>[a-z ]*))?(?:\| (?P<memory>.*))?$")


@pytest.mark.parametrize("name", KERNELS)
def test_each_line_shows_what_its_comment_says(name) -> None:
    function, types = KERNELS[name]
    result = compile_python(function, parse_signature(types).args)
    report = report_on_kernels([result], ReportOptions(width=16, isa=AVX512))
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

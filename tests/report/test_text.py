"""Whole reports, as people read them."""

import io
import sys

import pytest

from report import marked_kernels
from report.programs import FOREIGN, TRAVERSAL
from weft.report import text


@pytest.mark.parametrize("name", ["collatz", "permute", "row_sums"])
def test_report_on_a_python_kernel(name, report_on_kernel, steady, golden) -> None:
    golden(steady(report_on_kernel(*marked_kernels.KERNELS[name])), f"{name}.txt")


def test_report_on_a_traversal_in_llvm_text(report_on_text, steady, golden) -> None:
    golden(steady(report_on_text(TRAVERSAL)), "traversal.txt")


def test_report_on_a_module_of_another_compiler(report_on_text, steady, golden) -> None:
    golden(steady(report_on_text(FOREIGN)), "foreign.txt")


def test_shapes_given_for_arguments_show_in_the_heading_and_count(report_on_text) -> None:
    report = report_on_text(FOREIGN, args="S4a8_U", names=("helper",))
    assert "arguments S4a8_U; result S4\n" in str(report)
    (function,) = report.functions
    assert {v.name: v.shape for v in function.values} == {"a": "S4a8", "b": "U", "sum": "S4"}


def test_plain_text_goes_to_what_is_no_terminal(report_on_text) -> None:
    stream = io.StringIO()
    report_on_text(TRAVERSAL).write(stream)
    assert "\x1b[" not in stream.getvalue()
    assert stream.getvalue() == str(report_on_text(TRAVERSAL))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_the_same_text(report_on_text, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report = report_on_text(TRAVERSAL)
    stream = _Terminal()
    report.write(stream)
    coloured = stream.getvalue()
    assert "\x1b[" in coloured
    plain = "".join(part.partition("m")[2] if i else part for i, part in enumerate(coloured.split("\x1b[")))
    assert [line.rstrip() for line in plain.splitlines()] == str(report).splitlines()


def test_without_rich_a_terminal_gets_plain_text(report_on_text, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    report = report_on_text(TRAVERSAL)
    stream = _Terminal()
    report.write(stream)
    assert stream.getvalue() == str(report)


def test_characters_that_a_stream_lacks_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    text.write([[("ⅰ µ", text.Style.PLAIN)]], stream)
    stream.flush()
    assert raw.getvalue() == b"? ?\n"

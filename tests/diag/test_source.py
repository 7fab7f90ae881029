import ast
import textwrap
from pathlib import Path

import pytest

from weft.diag.source import SourceSpan, render


def test_caret_stands_under_the_column_and_the_underline_ends_with_the_span() -> None:
    span = SourceSpan("k.py", 12, 5, 12, 8, text="y = abc(x)\n")
    assert span.excerpt() == "12 | y = abc(x)\n   |     ^~~"


@pytest.mark.parametrize(
    ("line", "column", "caret_line"),
    [
        ("\tx = 1", 2, "1 | \tx = 1\n  | \t^"),
        ("名 = y", 5, "1 | 名 = y\n  |      ^"),
        ("x", 2, "1 | x\n  |  ^"),
    ],
    ids=["tab", "wide character", "just after the end"],
)
def test_caret_is_aligned_on_a_terminal(line: str, column: int, caret_line: str) -> None:
    assert SourceSpan("k.py", 1, column, text=line).excerpt() == caret_line


def test_span_over_several_lines_is_underlined_to_the_end_of_its_first() -> None:
    span = SourceSpan("k.py", 3, 5, 4, 2, text="y = (a +")
    assert span.excerpt() == "3 | y = (a +\n  |     ^~~~"


def test_without_column_the_line_is_shown_without_caret() -> None:
    span = SourceSpan("k.ll", 3, text="ret void")
    assert span.excerpt() == "3 | ret void"
    assert str(span) == "k.ll:3"


def test_unknown_file_has_no_excerpt() -> None:
    assert SourceSpan("no such file.py", 3, 1).excerpt() is None
    assert render("error", "message", SourceSpan("no such file.py", 3, 1), None) == (
        "no such file.py:3:1: error: message"
    )


def test_node_of_a_dedented_function_is_found_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("class A:\n    def f(x):\n        größe = 'ä' + name\n")
    function = textwrap.dedent("".join(file.read_text().splitlines(keepends=True)[1:]))
    name = next(n for n in ast.walk(ast.parse(function)) if isinstance(n, ast.Name) and n.id == "name")
    span = SourceSpan.of_node(name, str(file), lines=1, indent=4)
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 23, 3, 27)
    assert span.excerpt() == "3 |         größe = 'ä' + name\n  |                       ^~~~"


def test_text_is_no_part_of_the_comparison() -> None:
    assert SourceSpan("a", 1, 1, text="x") == SourceSpan("a", 1, 1)
    assert len({SourceSpan("a", 1, 1, text="x"), SourceSpan("a", 1, 1)}) == 1

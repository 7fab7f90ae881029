"""Finding a function's syntax tree: decorators, indentation, lambdas, and the right line numbers."""

import ast
import functools
from collections import deque

import pytest

from weft.errors import UnsupportedError
from weft.frontend.python import source
from weft.frontend.python.source import get_source


def decorator(function=None, **options):
    del options
    return function if function is not None else decorator


def position_of(function, name: str) -> tuple[int, int]:
    """Line and column in the file of the first use of a name in a function."""
    source = get_source(function)
    node = next(n for n in ast.walk(source.node) if isinstance(n, ast.Name) and n.id == name)
    span = source.span(node)
    return span.line, span.column


def line_in_file(marker: str) -> tuple[int, int]:
    with open(__file__, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if marker in line and "line_in_file" not in line:
                return number, line.index(marker) + 1
    raise AssertionError(marker)


@decorator
@decorator(
    option=1,
)
def decorated(x):
    return mark_decorated + x  # noqa: F821


def test_decorated_function() -> None:
    assert position_of(decorated, "mark_decorated") == line_in_file("mark_decorated + x")


def test_nested_function_keeps_its_columns() -> None:
    def inner(x):
        if x:
            return mark_nested  # noqa: F821
        return 0

    assert position_of(inner, "mark_nested") == line_in_file("mark_nested  #")


class Holder:
    def method(self, x):
        return mark_method + x  # noqa: F821


def test_method_in_a_class() -> None:
    assert position_of(Holder.method, "mark_method") == line_in_file("mark_method + x")


def test_last_statement_over_several_lines() -> None:
    def long(x):
        return (
            x + mark_long  # noqa: F821
        )

    source = get_source(long)
    assert isinstance(source.node, ast.FunctionDef) and len(source.node.body) == 1
    assert position_of(long, "mark_long") == line_in_file("mark_long  #")


def test_two_lambdas_in_one_line_are_told_apart() -> None:
    pair = [lambda x: mark_first + x, lambda x: x + mark_second]  # noqa: F821
    assert position_of(pair[0], "mark_first") == line_in_file("mark_first + x, l")
    assert position_of(pair[1], "mark_second") == line_in_file("mark_second]")


def test_a_file_is_parsed_once_for_all_its_lambdas(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *rest: parsed.append(text) or parse(text, *rest))
    source._lambdas_in.cache_clear()
    found = [get_source(f).node for f in (lambda x: x + 11, lambda x: x + 12)]
    assert [ast.unparse(node) for node in found] == ["lambda x: x + 11", "lambda x: x + 12"]
    assert len(parsed) == 1


def test_a_non_ascii_line_counts_characters() -> None:
    def accented(x):
        return ("é", mark_accent)  # noqa: F821

    assert position_of(accented, "mark_accent") == line_in_file("mark_accent)")


def test_a_function_without_source_is_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    # Another test may have asked that such texts be kept.
    monkeypatch.setattr("weft.frontend.python.unfiled_text._kept", deque(maxlen=0))
    names: dict = {}
    exec("\n".join(["def hidden(x):", "    return x"]), names)
    with pytest.raises(UnsupportedError, match="source text of hidden"):
        get_source(names["hidden"])


def test_an_async_function_is_refused() -> None:
    async def wrong(x):
        return x

    with pytest.raises(UnsupportedError, match="async"):
        get_source(wrong)


def test_partial_objects_are_no_functions() -> None:
    from weft.frontend.python.compile import compile_python

    with pytest.raises(UnsupportedError, match="no Python function"):
        compile_python(functools.partial(decorated, 1), ())

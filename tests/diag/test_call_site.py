"""The position of a call into weft, as its caller wrote it."""

import functools

import pytest

from weft.diag.call_site import located
from weft.diag.errors import LaunchError
from weft.diag.source import SourceSpan


@located
def refuse(*args, span=None):
    raise LaunchError("no", span)


# As if it were a function of weft: its frames are passed over.
inner = {"__name__": "weft.somewhere", "refuse": refuse}
exec("def through(*args):\n    refuse(*args)", inner)


def error_of(call):
    with pytest.raises(LaunchError) as caught:
        call()
    return caught.value


def test_the_span_covers_the_call():
    error = error_of(lambda: [1, refuse("ä", 2), 3])
    line = error.span.source_line()
    assert error.span.file == __file__
    assert line[error.span.column - 1 : error.span.end_column - 1] == 'refuse("ä", 2)'


def test_frames_of_weft_are_passed_over():
    error = error_of(lambda: inner["through"](1))
    assert error.span.file == __file__
    assert 'inner["through"](1)' in str(error)


def test_a_call_over_several_lines_is_shown_from_its_first():
    error = error_of(
        lambda: refuse(
            1,
        )
    )
    assert error.span.end_line == error.span.line + 2
    assert "refuse(" in str(error)


def test_a_position_that_is_known_stays():
    span = SourceSpan("kernel.py", 3, 1)
    assert error_of(lambda: refuse(span=span)).span is span


def test_calls_from_built_in_code_show_the_python_code_behind():
    error = error_of(lambda: list(map(functools.partial(refuse, 1), [2])))
    assert error.span.file == __file__

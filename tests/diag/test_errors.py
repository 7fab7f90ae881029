import copy
import inspect
import pickle

import pytest

from weft import errors
from weft.diag.source import SourceSpan

PUBLIC = [getattr(errors, name) for name in errors.__all__]
SPAN = SourceSpan("k.py", 7, 5, 7, 8, text="y = abc(x)")


def test_message_shows_position_line_caret_and_hint() -> None:
    error = errors.TypingError("abc is not a function", SPAN, "call math.abs")
    assert str(error) == (
        "k.py:7:5: abc is not a function\n  7 | y = abc(x)\n    |     ^~~\n  hint: call math.abs"
    )


def test_message_alone_is_shown_alone() -> None:
    assert str(errors.LaunchError("the grid is empty")) == "the grid is empty"


@pytest.mark.parametrize("kind", PUBLIC)
def test_every_public_error_is_a_weft_error_with_a_docstring(kind: type) -> None:
    assert issubclass(kind, errors.WeftError)
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("kind", PUBLIC)
def test_position_added_later_survives_copy_and_pickle(kind: type[errors.WeftError]) -> None:
    error = kind("message", hint="hint").at(SPAN)
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is kind
        assert (other.message, other.span, other.hint) == ("message", SPAN, "hint")
        assert str(other) == str(error)


def test_innermost_position_is_kept() -> None:
    inner = SourceSpan("k.py", 1, 1)
    assert errors.TypingError("message", inner).at(SPAN).span == inner


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.TypingError, TypeError),
        (errors.SignatureError, TypeError),
        (errors.ArgumentError, TypeError),
        (errors.ArgumentError, ValueError),
        (errors.LaunchError, ValueError),
        (errors.IRSyntaxError, ValueError),
        (errors.BarrierDivergence, RuntimeError),
    ],
)
def test_errors_are_the_builtin_kinds_users_expect(kind: type, builtin: type) -> None:
    assert issubclass(kind, builtin)

"""What errors call a function: a kernel, or a compiled function, which may have arrays of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType

from weft.diag.errors import SignatureError, WeftError

_OF_FUNCTIONS = (
    ("in kernels", "in compiled functions"),
    ("a kernel", "a compiled function"),
    ("the kernel", "the function"),
    ("a cuda.local.array", "an array: np.empty()"),
    ("cuda.local.array", "np.empty()"),
    (", cuda.*", ""),
)
"""How a text about kernels is said of other functions."""


@contextmanager
def speaking_of_functions() -> Iterator[None]:
    """Let errors say what they say of kernels of functions that are called from Python."""
    try:
        yield
    except WeftError as error:
        error.message = _said(error.message)
        error.hint = None if error.hint is None else _said(error.hint)
        raise


def _said(text: str) -> str:
    for kernel, function in _OF_FUNCTIONS:
        text = text.replace(kernel, function)
    return text


def described(value: object) -> str:
    """An object for a message: its name, or of what class it is, but no address."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    text = repr(value)
    return f"an object of class {type(value).__qualname__}" if " at 0x" in text else text[:60]


def python_function(value: object, do: str = "decorate") -> FunctionType:
    """The function that a caller was given; what to `do` with one is said where it is none.

    Raises
    ------
    SignatureError
        It is no Python function.
    """
    if not isinstance(value, FunctionType):
        raise SignatureError(
            f"{described(value)} is no Python function", hint=f"{do} a function written with def"
        )
    return value

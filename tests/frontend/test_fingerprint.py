"""The digest of a kernel changes with whatever its code depends on, and with nothing else."""

from __future__ import annotations

import types

import numpy as np
import pytest

from weft.frontend.python.fingerprint import fingerprint

TEMPLATE = """
{setup}
def helper(a):
    return a {op} 1

def kernel(x):
    x[0] = helper(x[1]) + K
"""


def build(setup: str = "K = 1", op: str = "+") -> types.FunctionType:
    scope: dict[str, object] = {"np": np}
    exec(compile(TEMPLATE.format(setup=setup, op=op), "kernels.py", "exec"), scope)
    kernel = scope["kernel"]
    assert isinstance(kernel, types.FunctionType)
    return kernel


def test_same_program_same_digest() -> None:
    assert fingerprint(build()) == fingerprint(build())


@pytest.mark.parametrize(
    ("setup", "op"),
    [
        ("K = 2", "+"),
        ("K = 1.0", "+"),
        ("K = True", "+"),
        ("K = np.int32(1)", "+"),
        ("K = (1,)", "+"),
        ("K = 1", "-"),
    ],
)
def test_changes_with_globals_and_called_functions(setup: str, op: str) -> None:
    assert fingerprint(build(setup, op)) != fingerprint(build())


def test_changes_with_contents_of_constant_arrays() -> None:
    setup = "K = np.arange(3); K[{}] = 7"
    assert fingerprint(build(setup.format(0))) != fingerprint(build(setup.format(1)))
    assert fingerprint(build(setup.format(0))) == fingerprint(build(setup.format(0)))


def test_changes_with_closure_values() -> None:
    def make(c: int) -> types.FunctionType:
        def kernel(x):
            x[0] = c

        return kernel

    assert fingerprint(make(1)) != fingerprint(make(2))
    assert fingerprint(make(1)) == fingerprint(make(1))


def test_recursion_ends() -> None:
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert fingerprint(even) != fingerprint(odd)


def test_unknown_values_are_never_alike() -> None:
    class Odd:
        pass

    kernel = build()
    kernel.__globals__["K"] = Odd()
    assert fingerprint(kernel) != fingerprint(kernel)

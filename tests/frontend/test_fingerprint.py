"""The digest of a kernel changes with whatever its code depends on, and with nothing else."""

from __future__ import annotations

import types
import warnings

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


def test_no_warnings_of_names_that_other_modules_have() -> None:
    """`core` is one of a package's modules here, and an old name in NumPy, which warns when it is asked for it."""
    program = "def kernel(x):\n    x[0] = np.float32(package.core.K)\n"
    digests = []
    for k in (1, 2):
        package, core = types.ModuleType("package"), types.ModuleType("core")
        package.__dict__["core"] = core
        core.__dict__["K"] = k
        scope: dict[str, object] = {"np": np, "package": package}
        exec(compile(program, "kernels.py", "exec"), scope)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            digests.append(fingerprint(scope["kernel"]))
    assert None not in digests
    assert digests[0] != digests[1]


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


def test_functions_with_values_of_unknown_kind_have_none() -> None:
    class Odd:
        pass

    class Number(int):
        """May compute in its own way."""

    for value in (Odd(), Number(1), object(), np.array([None])):
        kernel = build()
        kernel.__globals__["K"] = value
        assert fingerprint(kernel) is None


CLASSES = """
import enum, types
from collections import namedtuple

class Base: N = {N}
class Cfg(Base):
    class Inner: M = {M}
    @staticmethod
    def twice(a): return a * {FACTOR}

class Color(enum.Enum): RED = {RED}; BLUE = 2
class Level(enum.IntEnum): LOW = {LOW}

consts = types.ModuleType("package.consts"); consts.G = {G}
package = types.ModuleType("package"); package.consts = consts
PAIR = namedtuple("PAIR", {FIELDS!r})
CLASSES = (Cfg,)
"""

PARTS = {
    "N": 1, "M": 1, "FACTOR": 2, "RED": 1, "LOW": 1, "G": 1, "FIELDS": "x y",
    "KEYWORD": 3, "DEFAULT": 4, "NAN": "nan", "ZERO": "0.0", "FLAG": "np.float32",
}  # fmt: skip

KERNELS = """
def of_class(c): return c.N
def keyword(a, *, k={KEYWORD}): return a + k
def default(a, k={DEFAULT}): return a + k
ZERO, NAN = {ZERO}, float({NAN!r})
FLAG = {FLAG}

def kernel(x):
    x[0] = Cfg.N + Cfg.Inner.M + Cfg.twice(3) + Level.LOW
    x[1] = Color.RED
    x[2] = package.consts.G + of_class(Cfg) + of_class(CLASSES[0])
    x[3] = keyword(1) + default(1) + ZERO + NAN
    x[4] = PAIR(1, 2).x + FLAG(1)
"""


def built(**changes: object) -> types.FunctionType:
    scope: dict[str, object] = {"np": np, "__name__": "kernels"}
    parts = PARTS | changes
    exec(compile((CLASSES + KERNELS).format(**parts), "kernels.py", "exec"), scope)
    kernel = scope["kernel"]
    assert isinstance(kernel, types.FunctionType)
    return kernel


CHANGES = {
    "N": 5, "M": 5, "FACTOR": 5, "RED": 5, "LOW": 5, "G": 5, "FIELDS": "y x",
    "KEYWORD": 5, "DEFAULT": 5, "NAN": "-nan", "ZERO": "-0.0", "FLAG": "np.float64",
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_changes_with_whatever_a_function_reads_of_classes_modules_and_defaults(part: str) -> None:
    assert fingerprint(built()) is not None
    assert fingerprint(built()) == fingerprint(built())
    assert fingerprint(built(**{part: CHANGES[part]})) != fingerprint(built())


def test_changes_with_what_a_class_reached_through_an_argument_holds() -> None:
    def program(value: int) -> types.FunctionType:
        class Cfg:
            N = value

        def read(c):
            return c.N

        def kernel(x):
            x[0] = read(Cfg)

        return kernel

    assert fingerprint(program(1)) != fingerprint(program(2))


def test_changes_with_builtins_and_attributes_of_known_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x):
        x[0] = ANSWER + np.ANSWER  # noqa: F821

    digests = []
    for owner in ("builtins", "numpy"):
        for value in (41, 42):
            monkeypatch.setattr(f"{owner}.ANSWER", value, raising=False)
            digests.append(fingerprint(kernel))
    assert len(set(digests)) == 4
    assert None not in digests


def test_counts_what_a_dispatcher_declares() -> None:
    from weft.types import float32, float64

    class Dispatcher:
        def __init__(self, function: object, signatures: object) -> None:
            self.py_func, self.signatures = function, signatures

    def helper(a):
        return a

    def program(*signatures: object) -> types.FunctionType:
        called = Dispatcher(helper, signatures)

        def kernel(x):
            x[0] = called(x[1])

        return kernel

    programs = [program(), program(float32(float32)), program(float64(float32)), program(float32(float64))]
    assert len({fingerprint(kernel) for kernel in programs}) == 4


def test_a_list_of_the_name_of_an_attribute_does_no_harm() -> None:
    kernel = build()
    kernel.__globals__["K"] = [1]
    assert fingerprint(kernel) is not None

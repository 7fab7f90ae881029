"""Text of Python that is drawn: lines, names, and values of every type of numbers.

Every value has one type, its *kind*, which the text says, so that plain Python has it, too: a type of NumPy, or
``whole``, a number of Python's own (64 bits in compiled code). What is mixed is converted to a kind by its name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    -0.0,
    0.0,
    1e-7,
    1e-42,
    65519.0,
    3e9,
    -3e9,
    1e19,
    2147483647.0,
    255.5,
    -1.0,
)


class PythonText:
    """Lines of a function as they are drawn.

    Parameters
    ----------
    name
        What it is drawn by, with its number.

    Attributes
    ----------
    is_checked
        Whether no integer is divided by zero.
    names
        What there is to read, by kinds: variables, and elements at places that are there.
    """

    def __init__(self, name: str) -> None:
        self.rng = random.Random(name)
        self.lines: list[str] = []
        self.depth = 1
        self.is_checked = False
        self.names: dict[str, list[str]] = {"whole": []}
        self._count = 0

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def name(self, what: str) -> str:
        self._count += 1
        return f"{what}{self._count}"

    def put(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Lines in a block, whose names are not known behind it."""
        kept = {kind: list(names) for kind, names in self.names.items()}
        self.put(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.names = kept

    def kinds(self) -> list[str]:
        return [kind for kind, names in self.names.items() if names]

    def value(self, kind: str, depth: int = 1) -> str:
        """A value of a kind."""
        names = self.names.get(kind, [])
        if depth <= 0 or (names and self.maybe(0.15)):
            if names:
                return self.one(*names)
            other = self.one(*self.kinds())
            return self.converted(self.one(*self.names[other]), other, kind)
        if self.maybe(0.15):
            other = self.one(*self.kinds())
            return self.converted(self.value(other, depth - 1), other, kind)
        a, b = self.value(kind, depth - 1), self.value(kind, depth - 1)
        if self.maybe(0.15):
            return f"({a} if {self.condition(depth - 1)} else {b})"
        if kind in COMPLEX:
            return self.one(
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"(-{a})", f"{a}.conjugate()"
            )
        if kind in FLOATS:
            return self.one(
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"min({a}, {b})", f"max({a}, {b})",
                f"abs({a})", f"(-{a})", f"math.sqrt(abs({a}))", f"({a} * 0.5)", f"({a} + {self.one(1, 3)})",
                f"np.trunc({a})", f"np.floor({a})",
            )  # fmt: skip
        k = self.one(1, 2, 3, 5, 7, 8, 10, 63)
        by = f"({b} | 1)" if self.is_checked else b
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {k})", f"({a} % {k})", f"({a} // {by})",
            f"({a} % {by})", f"({a} >> {k % 8})", f"({a} << {k % 8})", f"({a} & {b})", f"({a} ^ {b})", f"({a} | {b})",
            f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"({a} + {k})", f"({a} - {k})", f"(~{a})",
        )  # fmt: skip

    def converted(self, value: str, kind: str, to: str) -> str:
        """A value of another kind; of a complex number one of its parts."""
        if kind in COMPLEX and to not in COMPLEX:
            value = f"{value}.{self.one('real', 'imag')}"
        if to == "whole":
            return f"int({value})"
        return f"np.{to}({value})"

    def condition(self, depth: int = 0) -> str:
        kind = self.one(*self.kinds())
        order = self.one("==", "!=") if kind in COMPLEX else self.one("<", "<=", ">", ">=", "==", "!=")
        found = f"{self.value(kind, depth)} {order} {self.value(kind, 0)}"
        if kind not in FLOATS + COMPLEX and self.maybe(0.3):
            found = self.one(
                f"{self.value(kind, depth)} & {self.one(1, 2, 3)}", f"{self.value(kind, 0)} % 3 == 0"
            )
        if depth > 0 and self.maybe(0.2):
            found = f"({found}) {self.one('and', 'or')} ({self.condition()})"
        return f"(not ({found}))" if self.maybe(0.1) else f"({found})"

    def keep(self, kind: str, value: str) -> str:
        """Assign to a new variable."""
        name = self.name("t")
        self.put(f"{name} = {value}")
        self.names.setdefault(kind, []).append(name)
        return name


def numbers(rng: np.random.Generator, kind: str, length: int) -> np.ndarray:
    """Numbers of a type: of all sizes, near its limits, small, or special ones."""
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = [
            (limits.min, limits.max),
            (max(limits.min, -3), 5),
            (0, min(limits.max, 100)),
            (limits.max - 9, limits.max),
            (limits.min, limits.min + 9),
        ][rng.choice(5)]
        return rng.integers(low, high, length, dtype=dtype, endpoint=True)
    if dtype.kind == "c":
        part = f"float{dtype.itemsize * 4}"
        found = np.empty(length, dtype)
        found.real, found.imag = numbers(rng, part, length), numbers(rng, part, length)
        return found
    values = [rng.normal(size=length) * 10, rng.integers(-5, 50, length)][rng.choice(2)]
    found = values.astype(dtype)
    if rng.choice(3) == 0 and length > 2:
        with np.errstate(over="ignore"):
            found[rng.integers(0, length, length // 3)] = rng.choice(SPECIAL, length // 3)
    return found

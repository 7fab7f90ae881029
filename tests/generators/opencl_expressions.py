"""Random expressions of OpenCL C: unsigned numbers and vectors of every element type and width.

All have a defined value: what is signed is never added up as a scalar, divisors are small and positive, floats are
bounded, and indices are in range.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

ELEMENTS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")
WIDTHS = (2, 3, 4, 8, 16)
BYTES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8}
_LETTERS = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector type."""

    element: str
    width: int

    def __str__(self) -> str:
        return f"{self.element}{self.width}"

    @property
    def is_float(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return BYTES[self.element.removeprefix("u") if self.element != "u" else "int"]

    def of(self, element: str) -> Vector:
        """As wide a vector of other elements."""
        return Vector(element, self.width)

    @property
    def unsigned(self) -> Vector:
        """Integers without sign of this size."""
        return self.of({1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}[self.bytes])


def vector_types(rng: random.Random) -> tuple[Vector, Vector]:
    """Two types of one width, the first of integers."""
    width = rng.choice((2, 2, 3, 4, 4, 8, 16))
    return Vector(rng.choice(ELEMENTS[:8]), width), Vector(rng.choice(ELEMENTS), width)


class Expressions:
    """Writes expressions over the variables that each kernel and function has.

    ``u0``, ``u1`` and ``u`` are the same in all work-items of a group, ``v0`` to ``v2`` are not; ``a0``, ``a1`` and
    ``b0`` are vectors of two types, ``mine`` is an array of `MINE` numbers, ``in`` memory whose last 64 numbers are
    alike.
    """

    MINE = 4
    IN_WORDS, SAME = 320, 256

    def __init__(self, rng: random.Random, types: tuple[Vector, Vector]) -> None:
        self.rng = rng
        self.types = types

    # Numbers.

    def uniform(self) -> str:
        """A number that is the same in all work-items of a group."""
        pick = self.rng.choice
        return pick(
            (
                pick(("u0", "u1", "u", "n")),
                pick(("u0", "u1")),
                f"({pick(('u0', 'u1'))} {pick(('+', '-', '*', '^', '>>'))} {self.rng.randint(1, 5)}u)",
                f"in[{pick(('u0', 'u1'))} & {self.SAME - 1}u]",
                "(uint)get_local_size(0)",
                "(uint)get_group_id(0)",
            )
        )

    def varying(self) -> str:
        """A number."""
        pick, rng = self.rng.choice, self.rng
        kind = rng.randrange(12)
        if kind < 3:
            return pick(("v0", "v1", "v2"))
        if kind == 3:
            return pick(("l", "(uint)get_local_id(0)", "(uint)get_global_id(0)", "(l >> 3)"))
        if kind == 4:
            return f"in[{pick(('v0', 'v1', 'l'))} & {self.SAME - 1}u]"
        if kind == 5:
            return f"mine[{pick(('v0', 'v1', 'u0'))} & {self.MINE - 1}u]"
        if kind == 6:
            return self.of_vector()
        if kind == 7:
            one, two = pick(("v0", "v1", "v2")), self.uniform()
            return pick(
                (
                    f"rotate({one}, {two})", f"mul_hi({one}, {two})", f"add_sat({one}, {two})", f"clz({one})",
                    f"popcount({one})", f"hadd({one}, {two})", f"mad24({one} & 1023u, {two} & 1023u, {one})",
                    f"upsample((ushort){one}, (ushort){two})", f"abs_diff({one}, {two})",
                )
            )  # fmt: skip
        if kind == 8:
            return f"({pick(('v0', 'v1', 'v2'))} {pick(('/', '%'))} (({self.uniform()} & 7u) | 1u))"
        other = pick((self.uniform(), pick(("v0", "v1", "v2"))))
        return f"({pick(('v0', 'v1', 'v2'))} {pick(('+', '-', '*', '^', '&', '|'))} {other})"

    def of_vector(self) -> str:
        """A number out of vectors."""
        vector = self.rng.choice(self.types)
        value = self.vector(vector, 0)
        part = self.rng.choice(_LETTERS[: vector.width])
        if self.rng.random() < 0.25:
            return f"(uint){self.rng.choice(('any', 'all'))}({self.test_of(vector)})"
        name = {True: "convert_uint_sat", False: "(uint)"}[vector.is_float]
        return f"{name}(({value}).s{part})"

    def test(self) -> str:
        """A condition that differs among work-items."""
        if self.rng.random() < 0.15:
            return f"any({self.test_of(self.rng.choice(self.types))})"
        return f"({self.varying()} & 3u) < {self.rng.randint(1, 3)}u"

    def together(self) -> str:
        """A condition that holds in all work-items of a group or in none."""
        if self.rng.random() < 0.25:
            return f"in[{self.SAME}u + ({self.rng.choice(('v0', 'l'))} & 63u)] > {self.rng.randint(0, 8)}u"
        return f"({self.uniform()} & 3u) < {self.rng.randint(1, 3)}u"

    # Vectors.

    def variables(self, vector: Vector) -> tuple[str, ...]:
        """Variables of a type."""
        first, second = self.types
        return (("a0", "a1") if vector == first else ()) + (("b0",) if vector == second else ())

    def vector(self, vector: Vector, depth: int = 2) -> str:
        """A value of one of the two types."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self.rng.choice(self.variables(vector)) if self.rng.random() < 0.75 else self.made(vector)
        kind = self.rng.randrange(7)
        if kind == 0:
            return self.made(vector)
        if kind == 1:
            return self.moved(vector, self.vector(vector, depth - 1))
        if kind == 2:
            return self.converted(vector, depth - 1)
        if kind == 3:
            one, two = self.vector(vector, depth - 1), self.vector(vector, depth - 1)
            return f"select({one}, {two}, {self.test_of(vector)})"
        if kind == 4:
            return f"({self.test()} ? {self.vector(vector, depth - 1)} : {self.vector(vector, depth - 1)})"
        make = self.floats if vector.is_float else self.integers
        return make(vector, self.vector(vector, depth - 1), self.vector(vector, depth - 1))

    def made(self, vector: Vector) -> str:
        """A vector of numbers."""
        numbers = [f"({vector.element})({self.number()})" for _ in range(vector.width)]
        chosen = numbers if vector.width <= 4 and self.rng.random() < 0.5 else numbers[:1]
        if vector.is_float:
            chosen = [f"({vector.element})({self.number()} & 255u)" for _ in chosen]
        return f"(({vector})({', '.join(chosen)}))"

    def number(self) -> str:
        return self.rng.choice(("v0", "v1", "v2", "u0", "u1", "l", "in[l]", "7u"))

    def test_of(self, vector: Vector) -> str:
        """Comparisons, element by element."""
        one, two = self.vector(vector, 0), self.vector(vector, 0)
        return f"({one} {self.rng.choice(('<', '<=', '==', '!=', '>'))} {two})"

    def moved(self, vector: Vector, value: str) -> str:
        """The elements of a vector in other places."""
        rng, width = self.rng, vector.width
        if width != 3 and rng.random() < 0.4:
            places = ", ".join(str(rng.randrange(2 * width)) for _ in range(width))
            return f"shuffle2({value}, {self.vector(vector, 0)}, ({vector.unsigned})({places}))"
        if width != 3 and rng.random() < 0.4:
            first, second = rng.sample(("lo", "hi", "even", "odd"), 2)
            return f"(({vector})(({value}).{first}, ({self.vector(vector, 0)}).{second}))"
        return f"({value}).s{''.join(rng.choice(_LETTERS[:width]) for _ in range(width))}"

    def converted(self, vector: Vector, depth: int) -> str:
        """A vector of the other type, as this one."""
        other = self.types[1] if vector == self.types[0] else self.types[0]
        value = self.vector(other, depth)
        if vector.is_float:
            return f"clamp(convert_{vector}({value}), ({vector.element})-1000, ({vector.element})1000)"
        if not other.is_float and other.bytes == vector.bytes and self.rng.random() < 0.5:
            return f"as_{vector}({value})"
        saturated = "_sat" if other.is_float or self.rng.random() < 0.5 else ""
        return f"convert_{vector}{saturated}({value})"

    def integers(self, vector: Vector, one: str, two: str) -> str:
        """Operations on vectors of integers."""
        small = f"(({two} & ({vector})7) | ({vector})1)"
        return self.rng.choice(
            (
                *(f"({one} {op} {two})" for op in ("+", "-", "*", "&", "|", "^")), f"({one} / {small})",
                f"({one} % {small})", f"({one} << {small})", f"({one} >> {small})", f"(~{one})", f"min({one}, {two})",
                f"max({one}, {two})", f"add_sat({one}, {two})", f"sub_sat({one}, {two})", f"hadd({one}, {two})",
                f"rotate({one}, {two})", f"mul_hi({one}, {two})", f"popcount({one})", f"clz({one})",
                f"bitselect({one}, {two}, {self.vector(vector, 0)})", f"as_{vector}({self.test_of(vector)})",
                f"as_{vector}(abs_diff({one}, {two}))", f"clamp({one}, ({vector})3, ({vector})90)",
            )
        )  # fmt: skip

    def floats(self, vector: Vector, one: str, two: str) -> str:
        """Operations on vectors of floats, which stay within a thousand."""
        kind, low, high = vector.element, f"({vector.element})-1000", f"({vector.element})1000"
        value = self.rng.choice(
            (
                f"{one} + {two}", f"{one} - {two}", f"{one} * {two}", f"{one} * {two} + {one}",
                f"fma({one}, {two}, {one})", f"{one} / (fabs({two}) + ({kind})1)", f"sqrt(fabs({one}))",
                f"floor({one})", f"rint({one})",
                f"trunc({one} * ({kind})0.25)", f"fmin({one}, {two})", f"fmax({one}, {two})", f"copysign({one}, {two})",
                f"mix({one}, {two}, ({kind})0.5)", f"step({one}, {two})", f"sign({one})", f"-{one}",
                f"({vector})dot(({one}).s01, ({two}).s01)",
            )
        )  # fmt: skip
        return f"clamp({value}, {low}, {high})"

"""Random kernels as source text: typed expressions and structured control flow that always ends.

Every variable keeps one type, since each assignment converts to it; divisors are odd, shift counts small,
loops have bounds or fuel. So plain Python execution, where variables have no types, means the same program.
"""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from weft import cuda

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATING = ("float32", "float64")
THREADS = 16
VARIABLES = 3

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel as text, and the types of its variables and input arrays `x0`, `x1`, `x2`."""

    source: str
    types: tuple[str, ...]

    def kernel(self) -> Callable[..., None]:
        """Make the function; its text is found by `inspect` as a file's would be."""
        name = f"<generated {hashlib.sha1(self.source.encode()).hexdigest()[:12]}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        names: dict[str, Any] = {"np": np, "math": math, "cuda": cuda, "__name__": "generated"}
        exec(compile(self.source, name, "exec"), names)
        return names["kernel"]

    def args(self, rng: np.random.Generator) -> tuple:
        """Return the output and the inputs: numbers of every size that the types hold."""
        kind = np.float64 if self.types[0] in FLOATING else np.int64
        return (np.zeros((THREADS, VARIABLES), kind), *(_input(rng, np.dtype(name)) for name in self.types))


def _input(rng: np.random.Generator, dtype: np.dtype[Any]) -> np.ndarray:
    if dtype.kind == "f":
        return (rng.standard_normal(THREADS) * 4.0 ** rng.integers(-3, 4, THREADS)).astype(dtype)
    bits = rng.integers(1, 8 * dtype.itemsize, THREADS, endpoint=True).astype(np.uint64)
    return (rng.integers(0, 2**64, THREADS, dtype=np.uint64) >> (np.uint64(64) - bits)).astype(dtype)


@dataclass(slots=True)
class _Writer:
    draw: Draw
    types: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    names: int = 0

    @property
    def floating(self) -> bool:
        return self.types[0] in FLOATING

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def leaf(self) -> str:
        """Return something typed: a variable, an element, or a thread id or counter."""
        number = self.draw(st.integers(0, VARIABLES - 1))
        weak = self.choose("i", *self.counters)
        if self.types[0] in UNSIGNED or self.floating:
            weak = f"np.{self.types[number]}({weak})"
        gather = f"x{number}[i]" if self.floating else f"x{number}[({weak}) & 15]"
        return self.choose(f"v{number}", f"v{number}", f"x{number}[i]", gather, weak)

    def literal(self) -> str:
        if self.floating:
            return self.choose("0.5", "1.0", "3.0", "1.1", "7")
        return str(self.draw(st.integers(0, 100)))

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        form = self.choose("leaf", "binary", "binary", "literal", "unary", "divide", "choose", "special")
        a = self.expression(depth - 1)
        if form == "leaf":
            return a
        if form == "literal":
            return f"({a} {self.choose('+', '-', '*')} {self.literal()})"
        if form == "unary":
            return f"(-{a})" if self.floating else f"({self.choose('-', '~')}{a})"
        b = self.expression(depth - 1)
        if form == "binary":
            return f"({a} {self.choose(*('+-*/' if self.floating else '+-*&|^'))} {b})"
        if form == "choose":
            kind = self.types[self.draw(st.integers(0, VARIABLES - 1))]
            return f"np.{kind}({a} if {self.condition()} else {b})"
        if self.floating:
            return f"math.sqrt(abs({a}))" if form == "divide" else f"abs({a} - {b})"
        if form == "divide":
            return f"({a} {self.choose('//', '%')} ({b} | 1))"
        if self.draw(st.booleans()):
            return f"({a} {self.choose('<<', '>>')} {self.draw(st.integers(0, 7))})"
        return f"{self.choose('min', 'max')}({a}, {b})"

    def condition(self) -> str:
        """Return a truth value, of one or two comparisons."""
        first = f"{self.leaf()} {self.choose('<', '<=', '>', '>=', '==', '!=')} {self.leaf()}"
        form = self.choose("plain", "plain", "not", "and", "or")
        if form == "plain":
            return first
        if form == "not":
            return f"(not {first})"
        return f"({first} {form} {self.leaf()} {self.choose('<', '>')} {self.leaf()})"

    def assignment(self) -> str:
        number = self.draw(st.integers(0, VARIABLES - 1))
        value = f"np.{self.types[number]}({self.expression(2)})"
        return f"v{number} {self.choose('=', '=', '+=', '-=', '*=')} {value}"

    def block(self, indent: str, depth: int, in_loop: bool) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: str, depth: int, in_loop: bool) -> None:
        forms = ["assign", "assign", "swap"]
        if depth > 0:
            forms += ["if", "if", "for", "while", "return"]
            if in_loop:
                forms += ["break", "continue"]
        form = self.choose(*forms)
        inner = indent + "    "
        if form == "assign":
            self.lines.append(indent + self.assignment())
        elif form == "swap":
            a, b = self.types[0], self.types[1]
            self.lines.append(f"{indent}v0, v1 = np.{a}(v1), np.{b}(v0)")
        elif form in ("break", "continue", "return"):
            self.lines.append(f"{indent}if {self.condition()}:")
            if form == "return":
                self.lines.append(f"{inner}out[i, 0] = v2")
            self.lines.append(inner + form)
        elif form == "if":
            self.branches(indent, depth, in_loop)
        else:
            self.loop(form, indent, depth)

    def branches(self, indent: str, depth: int, in_loop: bool) -> None:
        inner = indent + "    "
        self.lines.append(f"{indent}if {self.condition()}:")
        self.block(inner, depth - 1, in_loop)
        if self.draw(st.booleans()):
            self.lines.append(f"{indent}elif {self.condition()}:")
            self.block(inner, depth - 1, in_loop)
        if self.draw(st.booleans()):
            self.lines.append(f"{indent}else:")
            self.block(inner, depth - 1, in_loop)

    def loop(self, form: str, indent: str, depth: int) -> None:
        inner = indent + "    "
        self.names += 1
        counter = f"k{self.names}"
        if form == "for":
            bound = self.choose("3", "4", "i % 4", "(15 - i) % 5")
            self.lines.append(f"{indent}for {counter} in range({bound}):")
        else:
            self.lines.append(f"{indent}{counter} = 0")
            self.lines.append(f"{indent}while {counter} < 5 and {self.condition()}:")
            self.lines.append(f"{inner}{counter} += 1")
        self.counters.append(counter)
        self.block(inner, depth - 1, True)
        self.counters.pop()
        if self.draw(st.integers(0, 3)) == 0:
            self.lines.append(f"{indent}else:")
            self.lines.append(inner + self.assignment())


def _finish(writer: _Writer) -> Program:
    head = [
        "def kernel(out, x0, x1, x2):",
        "    i = cuda.grid(1)",
        "    if i >= out.shape[0]:",
        "        return",
        *(f"    v{number} = x{number}[i]" for number in range(VARIABLES)),
    ]
    tail = [f"    out[i, {number}] = v{number}" for number in range(VARIABLES)]
    return Program("\n".join([*head, *writer.lines, *tail, ""]), writer.types)


def _types(draw: Draw, families: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    family = draw(st.sampled_from(families))
    return tuple(draw(st.sampled_from(family)) for _ in range(VARIABLES))


@st.composite
def expressions(draw: Draw, *families: tuple[str, ...]) -> Program:
    """Straight-line kernels of deep expressions."""
    writer = _Writer(draw, _types(draw, families))
    for number in range(VARIABLES):
        writer.lines.append(f"    v{number} = np.{writer.types[number]}({writer.expression(4)})")
    return _finish(writer)


@st.composite
def control_flow(draw: Draw, *families: tuple[str, ...]) -> Program:
    """Kernels of nested branches and loops with breaks, continues, early returns and loop elses."""
    writer = _Writer(draw, _types(draw, families))
    for _ in range(draw(st.integers(1, 3))):
        writer.statement("    ", 3, False)
    return _finish(writer)

"""Random loops that hand something on beside much else, in strips: ``python -m loops.random_strips FIRST LAST``.

Each loop has statements under conditions, of which some hand on a number or an element of an array, and others divide
and take roots. What it returns and what it does to memory is what the loop does as it was written, bit by bit.
"""

from __future__ import annotations

import ctypes

import numpy as np

from sequential.drawn import both, compiled
from sequential.seeds import go_through
from weft.diag.remarks import RemarkKind
from weft.loops.llvm_ir import vectorize_ir

LENGTH = 1100
OVERLAPS = ((0, 1, 2), (0, 0, 2), (0, 1, 1))
SIZES = (0, 1, 7, 255, 256, 257, 600)


class Loop:
    """A function of C, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._known: list[str] = []
        type = self._one("double", "double", "float", "int")
        self.is_float = type != "int"
        self.dtype = np.dtype({"double": "f8", "float": "f4", "int": "i4"}[type])
        lines = [line for _ in range(int(self._draw.integers(3, 8))) for line in self._statement()]
        count = self._one(
            "for (int i = 2; i < n; i++)",
            "for (long i = (long)n - 1; i >= 2; i--)",
            "for (int i = 2; i < n; i += 2)",
        )
        self.name = "f"
        self._text = "\n".join(
            ["#include <math.h>", f"typedef {type} T;",
             "T f(int n, T *x, T *y, T *z, T v) {", "T s = v, q = 1, last = x[0]; int k = 0;", f"{count} {{", *lines,
             "}", "return s + 3 * q + 7 * last + k; }"]
        )  # fmt: skip

    def text(self) -> str:
        """The function in C."""
        return self._text

    def _one(self, *choices):
        return choices[int(self._draw.integers(len(choices)))]

    def _read(self) -> str:
        names = ["x[i]", "y[i]", "z[i]", "x[i - 1]", "z[i - 1]", "y[i + 1]", "s", "q", "last", "v", "(T)i"]
        return self._one(*names, *self._known, *self._known)

    def _heavy(self) -> str:
        a, b, c = self._read(), self._read(), self._read()
        if not self.is_float:
            return self._one(f"({a} * {b}) / (({c} & 7) + 3)", f"({a} ^ {b}) % 1000 * ({c} + 5) / 9 % 77")
        root = "sqrt" if self.dtype.itemsize == 8 else "sqrtf"
        return self._one(
            f"{a} / ({b} * {b} + 1) / (2 + {c} * {c})", f"{root}({a} * {a} + {b} * {b} + 1) / (3 + {c} * {c})"
        )

    def _condition(self) -> str:
        return f"{self._read()} {self._one('<', '>=', '!=')} {self._read()}"

    def _statement(self) -> list[str]:
        kind = self._one(
            "local", "local", "local", "state", "state", "store", "store", "if", "carry", "element", "count"
        )
        if kind == "local":
            name = f"t{len(self._known)}"
            line = f"T {name} = {self._heavy()};"
            self._known.append(name)
            return [line]
        if kind == "if":
            name = f"t{len(self._known)}"
            inside = [self._one(f"{name} = {self._heavy()};", self._state()), self._store()]
            lines = [f"T {name} = {self._read()};", f"if ({self._condition()}) {{", *inside, "}"]
            if self._one(True, False):
                lines[-1] = f"}} else {{ {self._one(self._state(), self._store())} }}"
            self._known.append(name)
            return lines
        if kind == "carry":
            return [f"last = {self._one('x[i]', 'y[i]', *self._known)};"]
        if kind == "element":
            return [f"z[i] = z[i - {self._one(1, 2)}] * {'(T)0.5' if self.is_float else 3} + {self._read()};"]
        if kind == "count":
            return [f"if ({self._condition()}) k++;"]
        return [self._state() if kind == "state" else self._store()]

    def _state(self) -> str:
        name = self._one("s", "q")
        half = "(T)0.5" if self.is_float else "3"
        return self._one(f"{name} = {name} * {half} + {self._read()};", f"{name} += {self._read()};")

    def _store(self) -> str:
        return (
            f"{self._one('y[i]', 'z[i]', 'y[i - 1]', 'z[i + 1]')} = {self._one(self._heavy(), self._read())};"
        )


def check(first: int, last: int, counts: dict[str, int], width: int | None = None) -> list[str]:
    """Compare the loops of some seeds; what is wrong, with the source."""
    found: list[str] = []
    flags = "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fno-math-errno"
    for seed, loop, source, original in compiled(first, last, Loop, *flags):
        made = vectorize_ir(original, loop.name, loop="auto", width=width)
        counts["loops"] = counts.get("loops", 0) + 1
        told = [r.message for r in made.remarks if r.kind is RemarkKind.TRANSFORM]
        if not any("of this loop at a time run as" in message for message in told):
            continue
        counts["in strips"] = counts.get("in strips", 0) + 1
        codes = both(loop.name, original, made)
        for n in SIZES:
            for overlap in OVERLAPS:
                results = [_run(code.address(loop.name), loop, seed, n, overlap) for code in codes]
                if any(a != b for a, b in zip(*results, strict=True)):
                    found.append(f"seed {seed}, n = {n}, regions {overlap}\n{source}")
    return found


def _run(address: int, loop: Loop, seed: int, n: int, overlap: tuple[int, ...]) -> tuple[bytes, bytes]:
    draw = np.random.default_rng(seed * 1000 + n)
    memory = np.zeros((3, LENGTH), loop.dtype)
    for region in memory:
        region[:] = draw.integers(-20, 50, LENGTH)
    shift = int(draw.integers(0, 3))
    places = [memory[region].ctypes.data + number * shift * 8 for number, region in enumerate(overlap)]
    number = {"f8": ctypes.c_double, "f4": ctypes.c_float, "i4": ctypes.c_int}[loop.dtype.str[1:]]
    kind = ctypes.CFUNCTYPE(number, ctypes.c_int, *[ctypes.c_void_p] * 3, number)
    result = kind(address)(n, *places, int(draw.integers(-5, 20)))
    return np.array(result, loop.dtype).tobytes(), memory.tobytes()


if __name__ == "__main__":
    go_through(check)

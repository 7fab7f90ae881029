"""Random loops that hand something on, through ``--loop auto``: ``python -m loops.random_patterns FIRST LAST``.

Each loop is one or more of a search, a minimum with its place, a scan, one in memory, a compaction, a histogram, and
values that are handed on again and again, over arrays that may overlap. What it returns and what it does to memory is
what the loop does as it was written.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from pathlib import Path

import numpy as np

from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

LENGTH = 1200
OVERLAPS = ((0, 1, 2), (0, 0, 2), (0, 1, 0), (0, 1, 1))


class Loop:
    """A function of C, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        type = self._one("int", "int", "unsigned char", "short", "long", "float")
        self.dtype = np.dtype(
            {"unsigned char": "u1", "short": "i2", "long": "i8", "float": "f4"}.get(type, "i4")
        )
        kinds = ["search", "minimum", "scan", "compaction", "histogram", "recurrence", "chain", "sums"]
        chosen = list(self._draw.choice(kinds, self._one(1, 1, 2), replace=False))
        before, inside, behind = [], [], []
        for kind in chosen:
            a, b, c = getattr(self, f"_{kind}")()
            before += a
            inside += b
            behind += c
        count = self._one(
            "for (int i = 0; i < n; i++)",
            "for (long i = (long)n - 1; i >= 0; i--)",
            "for (unsigned i = 1; i < n; i++)",
        )
        self.text = "\n".join(
            [f"typedef {type} T;", "long f(unsigned n, T *x, T *y, int *h, int v) { long r = 0;", *before,
             f"{count} {{", *inside, "}", *behind, "return r; }"]
        )  # fmt: skip
        if "search" in chosen:
            self.text = self.text.replace("T *x,", f"T x[static {LENGTH}],")

    def _one(self, *choices):
        return choices[int(self._draw.integers(len(choices)))]

    def _condition(self) -> str:
        return self._one("x[i] < v", "x[i] > 3 && x[i] != v", "(int)x[i] & 1", "x[i] + v > 9 || x[i] == 2")

    def _value(self) -> str:
        return self._one("x[i]", "(T)(x[i] + v)", "(T)i", "(T)(x[i] * 3)")

    def _search(self) -> tuple[list[str], list[str], list[str]]:
        found = self._one("return i;", "{ r = i * 3 + 1; break; }", "{ r += x[i]; break; }")
        return [], [f"if (x[i] {self._one('==', '>')} 40 + v) {found}"], []

    def _minimum(self) -> tuple[list[str], list[str], list[str]]:
        operator = self._one("<", "<=", ">", ">=")
        guard = self._one("", f"if ({self._condition()}) ")
        more = self._one("", "times++; ")
        return (
            ["T best = v; long at = -1, times = 0;"],
            [f"{guard}if (x[i] {operator} best) {{ best = x[i]; {more}at = i; }}"],
            ["r += (long)best * 7 + at + times;"],
        )

    def _scan(self) -> tuple[list[str], list[str], list[str]]:
        operator = self._one("+", "^", "*", "-", "|")
        update = f"s = s {operator} (int)x[i];"
        if self._one(True, False, False):
            update = "s = s > (int)x[i] ? s : (int)x[i];"
        lines = [update, "y[i] = (T)s;"]
        return ["int s = v;"], self._one(lines, lines[::-1]), ["r += s;"]

    def _recurrence(self) -> tuple[list[str], list[str], list[str]]:
        to, back = self._one(("i + 1", "i"), ("i", "i + 1"), ("i + 2", "i + 1"))
        return (
            [],
            [f"h[{to}] = h[{back}] {self._one('+', '^', '-')} (int){self._one('x[i]', 'i', 'h[i]')};"],
            [],
        )

    def _chain(self) -> tuple[list[str], list[str], list[str]]:
        count = self._one(1, 2, 2, 3, 4)
        links = [f"p{n} = {self._one('', '', '(T)3 *')} p{n - 1};" for n in range(1, count)]
        used = self._one("y[i] = ", "y[i] = ", "sum += ")
        terms = " + ".join(f"p{n} * {n + 2}" for n in range(count))
        lines = [*links, f"p0 = {self._one('x[i]', 'x[i]', self._value(), 'sum')};", f"{used}(T)({terms});"]
        if self._one(True, False):
            lines.insert(0, self._one("T t = x[i]; sum += t;", "sum ^= (int)x[i];"))
        if self._one(True, True, False):
            lines = [lines[n] for n in self._draw.permutation(len(lines))]
        before = [f"T p{n} = v + {n};" for n in range(count)]
        after = [f"r = r * 3 + (long)p{n};" for n in range(count)]
        return [*before, "int sum = 7;"], lines, [*after, "r += sum;"]

    def _sums(self) -> tuple[list[str], list[str], list[str]]:
        """Running sums and what is handed on, each of one before it or behind it."""
        count = self._one(2, 2, 3, 4)
        in_memory = self._one([], [], ["h[i]", "h[i + 1]"])
        lines = []
        if in_memory:
            lines.append(f"h[i + 1] = h[i] + {self._one('(int)x[i]', 'q0', 'q1')};")
        for n in range(count):
            other = self._one("(int)x[i]", "i", *in_memory, *(f"q{m}" for m in range(count) if m != n))
            update = f"q{n} {self._one('+', '+', '-', '^', '|')}= {self._one('', '', '3 *')} {other};"
            lines.append(self._one(update, update, update, f"q{n} = {other};"))
        lines.append(f"y[i] = (T){self._one('q0', f'(q0 + q{count - 1})')};")
        lines = [lines[n] for n in self._draw.permutation(len(lines))]
        before = [f"int q{n} = v + {n};" for n in range(count)]
        return before, lines, [f"r = r * 3 + q{n};" for n in range(count)]

    def _compaction(self) -> tuple[list[str], list[str], list[str]]:
        out, step = self._one("y", "h"), self._one(1, 1, 1, 2)
        store = f"{out}[k] = {self._value() if out == 'y' else self._one('i', '(int)x[i]')};"
        return ["int k = 0;"], [f"if ({self._condition()}) {{ {store} k += {step}; }}"], ["r += k;"]

    def _histogram(self) -> tuple[list[str], list[str], list[str]]:
        operator = self._one("+=", "-=", "^=", "|=")
        place = self._one(
            "(int)(((int)x[i] & 63) * 0.5f + v * 0.25f + 1.5f * i * 0.5f)", "(int)x[i]", "i / 7"
        )
        return [], [f"h[{place} & 63] {operator} {self._one('1', '(int)x[i]', 'v')};"], []


def check(first: int, last: int, counts: dict[str, int], width: int | None = None) -> list[str]:
    """Compare the loops of some seeds; what is wrong, with the source."""
    found: list[str] = []
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loop.c"
        for seed in range(first, last):
            loop = Loop(seed)
            file.write_text(loop.text)
            original = compile_c(file, spec.triple, ["-w", "-fno-strict-aliasing", "-fwrapv"])
            made = vectorize_ir(original, "f", loop="auto", width=width)
            counts["loops"] = counts.get("loops", 0) + 1
            if not made.loops:
                continue
            counts["in lanes"] = counts.get("in lanes", 0) + 1
            codes = [load_object(emit_object(original, spec), ["f"]), load_object(made.object_code, ["f"])]
            for n in (0, 1, 5, 300, 777):
                for overlap in OVERLAPS:
                    results = [_run(code.address("f"), loop, seed, n, overlap) for code in codes]
                    if results[0][0] != results[1][0] or (results[0][1] != results[1][1]).any():
                        found.append(f"seed {seed}, n = {n}, regions {overlap}\n{loop.text}")
    return found


def _run(address: int, loop: Loop, seed: int, n: int, overlap: tuple[int, ...]) -> tuple[int, np.ndarray]:
    draw = np.random.default_rng(seed * 1000 + n)
    size = LENGTH * max(loop.dtype.itemsize, 4)
    memory = np.zeros((3, 2 * size), np.uint8)
    for region in memory:
        region.view(loop.dtype)[:] = draw.integers(0, 50, 2 * size // loop.dtype.itemsize)
    shift = int(draw.integers(0, 3)) * 8
    places = [memory[region].ctypes.data + number * shift for number, region in enumerate(overlap)]
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_uint, *[ctypes.c_void_p] * 3, ctypes.c_int)
    return kind(address)(n, *places, int(draw.integers(-5, 20))), memory


def main() -> int:
    """Check a range of seeds; 1 if something is wrong."""
    counts: dict[str, int] = {}
    wrong = check(int(sys.argv[1]), int(sys.argv[2]), counts)
    for text in wrong:
        print(text)
    print(counts, len(wrong), "wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

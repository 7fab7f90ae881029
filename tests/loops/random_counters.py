"""Random loops of C whose counters wrap, or are near their limits, through ``--loop auto``.

``python -m loops.random_counters FIRST LAST``. Counters are signed and unsigned, of 8 to 64 bits, and go up, down, and
around; indices are what they have gone, masked, shortened and shifted; loops inside begin and end at the outer counter.
What a loop returns and what it does to memory, whose arrays may overlap, is what it does as it was written.
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

LENGTH = 2048
OVERLAPS = ((0, 1), (0, 0), (1, 0))
OPTIONS = ("-w", "-fno-strict-aliasing", "-fwrapv")
TYPES = {
    "unsigned char": 8,
    "unsigned short": 16,
    "unsigned": 32,
    "unsigned long": 64,
    "int": 32,
    "long": 64,
    "short": 16,
}


class CounterLoop:
    """A function of C, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self.element = self._one("int", "int", "unsigned char", "short", "long", "float")
        self.dtype = np.dtype(
            {"unsigned char": "u1", "short": "i2", "long": "i8", "float": "f4"}.get(self.element, "i4")
        )
        self.counter = self._one(*TYPES)
        head, self._gone = self._head()
        body = [self._statement() for _ in range(self._one(1, 1, 2, 3))]
        lines = "\n    ".join(body)
        self.text = (
            f"typedef {self.element} T; typedef {self.counter} C;\n"
            f"long f(unsigned n, T *x, T *y, long v) {{\n  long s = v; T e = x[0]; {head} {{\n    {lines}\n  }}\n"
            f"  return s * 3 + (long)e; }}\n"
        )

    def _one(self, *choices):
        return choices[int(self._draw.integers(len(choices)))]

    def _head(self) -> tuple[str, str]:
        """The head of the loop, and how many iterations have been."""
        bits = TYPES[self.counter]
        is_signed = not self.counter.startswith("unsigned")
        few = f"(n % {100 if bits == 8 else 777})"
        greatest = (1 << (bits - is_signed)) - 1
        near = self._one(0, 0, 3, greatest - 1000 if bits > 8 else 100, (1 << (bits - 2)) - 5)
        suffix = "" if is_signed else "u"
        first = f"(C){near}{suffix}{'l' if bits == 64 else ''}"
        upwards = self._one("<", "!=", "<") if near < greatest - 900 or bits > 8 else "!="
        step = self._one(1, 1, 1, 2, 3)
        forms = [
            (f"for (C i = {first}; i {upwards} (C)({first} + {few}); i++)", f"(i - {first})"),
            (f"for (C i = {first} + {few}; i > {first}; i--)", f"(i - {first} - 1)"),
            (f"for (C i = {first} + {few}; i-- > {first}; )", f"(i - {first})"),
        ]
        if bits > 8 and near < greatest - 2500 - 1000:
            forms.append(
                (
                    f"for (C i = {first}; i < (C)({first} + {few} * {step}); i += {step})",
                    f"((i - {first}) / {step})",
                )
            )
        if not is_signed and bits < 64:
            # These go around.
            forms += [
                (f"for (C i = (C)(0 - {few} / 2); i != (C)({few} / 2); i++)", f"((C)(i + {few} / 2))"),
                (f"for (C i = (C)({few} / 2); i != (C)(0 - {few} / 2); i--)", f"((C)({few} / 2 - i))"),
            ]
        return self._one(*forms)

    def _place(self) -> str:
        g = self._gone
        return self._one(
            g,
            g,
            g,
            f"{g} + {self._one(1, 2, 5)}",
            "(i & 1023)",
            "((unsigned char)(i + v))",
            "((unsigned short)i & 511)",
            f"{g} / 2",
            "((i >> 3) & 255)",
            "((unsigned)(i * 3) & 1023)",
            f"(1000 - {g})",
            "(v & 63)",
            "((unsigned long)(i - 7) % 1021)",
            "((unsigned char)i ^ 5)",
            f"({g} ^ 1)",
            f"((short){g} + 8)",
        )

    def _number(self) -> str:
        return self._one(
            "i",
            "(long)i",
            "(int)i",
            "(unsigned char)i",
            "v",
            f"(long)x[{self._place()}]",
            f"(i {self._one('<', '>', '==')} {self._one('v', '(C)n', '5')})",
            "(i >> 2)",
            "(i * i)",
            "(unsigned)(i - 9)",
            "(short)(i + v)",
        )

    def _condition(self) -> str:
        return self._one(
            "i & 1",
            "i % 3 == 0",
            "(long)x[i & 1023] < 20",
            "i < 100",
            "(unsigned)i > 7u",
            "(int)i > (int)v",
            "(C)(i + 1) > i",
        )

    def _statement(self, depth: int = 1) -> str:
        simple = [
            f"y[{self._place()}] = (T)({self._number()} + {self._number()});",
            f"y[{self._gone}] = x[{self._place()}];",
            f"y[{self._gone}] = x[{self._place()}] + (T)({self._number()});",
            f"x[{self._gone}] = (T)({self._number()});",
            f"s += {self._number()};",
            f"s ^= {self._number()};",
            f"s = s < {self._number()} ? {self._number()} : s;",
            f"if ({self._condition()}) y[{self._gone}] = (T)({self._number()});",
            f"if ({self._condition()}) s += {self._number()};",
            f"if ({self._condition()}) {{ e = (T){self._number()}; {self._one('', 'break;')} }}",
        ]
        if depth and self._one(True, False, False):
            inner, kind = self._statement(0), self._one(*TYPES)
            loop = self._one(
                f"for ({kind} j = 0; j < 9; j++)",
                f"for ({kind} j = ({kind})i; j != ({kind})(i + 5); j++)",
                f"for ({kind} j = ({kind})(i & 15); j-- > 2; )",
                f"for (C j = i; j != (C)(i + {self._gone} % 7); j++)",
            )
            return f"{loop} {{ {inner} s += (long)j * 3; y[(j & 63) + {self._gone}] = (T)(j + {self._number()}); }}"
        return self._one(*simple)


def check(first: int, last: int, counts: dict[str, int], width: int | None = None) -> list[str]:
    """Compare the loops of some seeds; what is wrong, with the source."""
    found: list[str] = []
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loop.c"
        for seed in range(first, last):
            loop = CounterLoop(seed)
            file.write_text(loop.text)
            original = compile_c(file, spec.triple, list(OPTIONS))
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


def _run(
    address: int, loop: CounterLoop, seed: int, n: int, overlap: tuple[int, ...]
) -> tuple[int, np.ndarray]:
    draw = np.random.default_rng(seed * 1000 + n)
    size = LENGTH * loop.dtype.itemsize
    memory = np.zeros((2, 2 * size), np.uint8)
    for region in memory:
        region.view(loop.dtype)[:] = draw.integers(0, 50, 2 * size // loop.dtype.itemsize)
    shift = int(draw.integers(0, 3)) * 8
    places = [memory[region].ctypes.data + 64 + number * shift for number, region in enumerate(overlap)]
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
    v = int(draw.choice([0, 7, -5, 200, 2**31 - 3, 2**40 + 9]))
    return kind(address)(n, *places, v), memory


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

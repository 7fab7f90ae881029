"""Random loops of C over runs: copies, fills, places that are taken from counters, stores under conditions.

``python -m loops.random_runs FIRST LAST``. Runs begin and end where arrays say, are empty, go on where the last one
ended, are counted by numbers of all kinds, up and down, by indices and by pointers. Where arrays are not said to lie
apart they overlap, also with those that say where runs begin. What a function returns and what it does to memory is
what it does as it was written.
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

LENGTH = 4096
OPTIONS = ("-w", "-fno-strict-aliasing")
TYPES = {"unsigned char": "u1", "short": "i2", "int": "i4", "float": "f4", "long": "i8", "double": "f8"}
COUNTERS = ("int", "unsigned", "long", "unsigned long", "unsigned char", "short")
SIZES = (0, 1, 7, 40)


class RunLoop:
    """A function of C, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self.dtype = np.dtype(TYPES[element := self._one("unsigned char", "unsigned char", *TYPES)])
        self.apart = self._one(True, False, False)
        r = "restrict" if self.apart else ""
        self.option = self._one("-fwrapv", "-fno-wrapv")
        self.builtins = self._one("-fbuiltin", "-fbuiltin", "-fbuiltin", "-fno-builtin")
        runs = "\n    ".join(self._statement() for _ in range(self._one(1, 1, 2, 3)))
        self.text = (
            f"typedef {element} T;\n"
            f"long f(long n, T *{r} x, T *{r} y, int *{r} c, long v) {{\n"
            f"  long pos = v & 63; T e = (T)v; T *p = y + (v & 31);\n"
            f"  for ({self._one('long', 'int')} i = 0; i < n; i++) {{\n    {runs}\n"
            "    pos &= 1023; p = y + ((p - y) & 511);\n  }\n"
            "  return pos * 7 + (p - y) + (long)e;\n}\n"
        )

    def _one(self, *choices):
        return choices[int(self._draw.integers(len(choices)))]

    @property
    def overlaps(self) -> tuple[tuple[int, int, int], ...]:
        """Of which regions the arrays are part."""
        if self.apart:
            return ((0, 1, 2),)
        # Bits of an int may be a float that no integer is.
        return (
            ((0, 1, 2), (0, 0, 2)) if self.dtype.kind == "f" else ((0, 1, 2), (0, 0, 2), (0, 0, 0), (0, 1, 1))
        )

    def _start(self) -> str:
        return self._one(
            "(c[i] & 255)", "(c[i] & 127)", "pos", "(i * 5)", "0", "(v & 15)", "(c[i + 1] & 63) + 9"
        )

    def _length(self) -> str:
        return self._one(
            "(c[i] & 15)", "(c[i + 1] & 31)", "(c[i] & 63)", "(v & 7)", "40", "((c[i] & 255) % 9)"
        )

    def _value(self) -> str:
        return self._one("e", "x[i]", "0", "(T)3", "(T)v", "x[v & 63]", "(T)-1", "(T)i")

    def _statement(self) -> str:
        kind = self._one("fill", "copy", "copy", "copy", "on", "walk", "down", "place", "where", "bound")
        return getattr(self, f"_{kind}")(self._one(*COUNTERS))

    def _fill(self, counter: str) -> str:
        start, length = self._start(), self._length()
        if counter in ("unsigned char", "short") or self._one(True, False):
            body = f"y[{start} + k] = {self._value()};"
            return f"{{ {counter} m = {length}; for ({counter} k = 0; k {self._test()} m; k++) {body} }}"
        return (
            f"{{ {counter} s = {start}; {counter} m = s + {length}; for ({counter} k = s; k < m; k++)"
            f" y[k] = {self._value()}; }}"
        )

    def _test(self) -> str:
        return self._one("<", "<", "<=") if self._one(True, False) else "<"

    def _copy(self, counter: str) -> str:
        source = self._one("x", "x", "y")
        start, other, length = self._start(), self._start(), self._length()
        behind = self._one("", "", "pos += m;", "pos += k;")
        return (
            f"{{ long a = {start}, b = {other}; {counter} k, m = {length}; for (k = 0; k {self._test()} m; k++)"
            f" y[a + k] = {source}[b + k]; {behind} }}"
        )

    def _on(self, counter: str) -> str:
        """Each run goes on where the last one ended."""
        source = self._one("x[b + k]", "y[b + k]", "e")
        return (
            f"{{ long b = {self._start()}; {counter} m = {self._length()}; for ({counter} k = 0; k < m; k++)"
            f" {{ y[pos] = {source}; pos++; }} }}"
        )

    def _walk(self, counter: str) -> str:
        """Pointers go on."""
        source = self._one("*q++", "e", "*q++")
        return (
            f"{{ T *q = {self._one('x', 'y')} + {self._start()}; {counter} m = {self._length()};"
            f" for ({counter} k = 0; k < m; k++) *p++ = {source}; }}"
        )

    def _down(self, counter: str) -> str:
        source = self._one("*q++", "e", f"(T){self._value()}")
        return (
            f"{{ T *t = y + {self._start()}, *q = x + {self._start()}; {counter} m = {self._length()};"
            f" while ({self._one('m--', 'm-- > 0')}) *t++ = {source}; }}"
        )

    def _place(self, counter: str) -> str:
        bits = self._one(3, 15, 63)
        return (
            f"for (int k = 0; k < 20; k++) {{ int d = (long)x[i + k] & {bits};"
            f" int place = c[64 + d]; c[64 + d] = place + 1; y[place & 1023] = x[i + k]; }}"
        )

    def _where(self, counter: str) -> str:
        value = self._one("x[k]", "x[(long)x[k] & 63]", "e", "y[k] + x[k]")
        return (
            f"{{ int m = {self._length()}; for (int k = 0; k < m; k++)"
            f" if ((long)x[k] {self._one('>', '<', '&')} {self._one('20', 'v', 'i')}) y[k] = {value}; }}"
        )

    def _bound(self, counter: str) -> str:
        """The bound is loaded again for each iteration."""
        value = self._one(self._value(), "x[b + k]", "y[b + k]")
        return (
            f"{{ long b = {self._start()}; for (int k = 0; k < (c[i] & 63); k++) y[b + k + i] = {value}; }}"
        )


def check(first: int, last: int, counts: dict[str, int], cpus: tuple[str, ...] = ("host",)) -> list[str]:
    """Compare the functions of some seeds; what is wrong, with the source."""
    found: list[str] = []
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loop.c"
        for seed in range(first, last):
            loop = RunLoop(seed)
            file.write_text(loop.text)
            original = compile_c(file, spec.triple, [*OPTIONS, loop.option, loop.builtins])
            codes = [load_object(emit_object(original, spec), ["f"])]
            for cpu in cpus:
                made = vectorize_ir(original, "f", loop="auto", target=cpu)
                codes.append(load_object(made.object_code, ["f"]))
                for word in ("@weft.fill(", "@llvm.memset", "@llvm.memmove", 'asm ""', "@weft.load"):
                    counts[word] = counts.get(word, 0) + (word in made.text)
            for n in SIZES:
                for overlap in loop.overlaps:
                    wanted, *others = (_run(code.address("f"), loop, seed, n, overlap) for code in codes)
                    for cpu, got in zip(cpus, others, strict=True):
                        if wanted[0] != got[0] or (wanted[1] != got[1]).any():
                            found.append(f"seed {seed}, {cpu}, n = {n}, regions {overlap}\n{loop.text}")
    return found


def _run(address: int, loop: RunLoop, seed: int, n: int, overlap: tuple[int, ...]) -> tuple[int, np.ndarray]:
    draw = np.random.default_rng(seed * 1000 + n)
    size = LENGTH * loop.dtype.itemsize
    memory = np.zeros((3, size), np.uint8)
    for region, dtype in zip(memory, (loop.dtype, loop.dtype, np.dtype("i4")), strict=True):
        region.view(dtype)[:] = draw.integers(0, 50, size // dtype.itemsize)
    # Those that overlap do so in whole elements.
    shift = int(draw.choice([1, 2, 3, 5, 40])) * loop.dtype.itemsize
    shifts = (0, shift, 4 * shift)
    places = [memory[region].ctypes.data + 64 + by for region, by in zip(overlap, shifts, strict=True)]
    kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, *[ctypes.c_void_p] * 3, ctypes.c_long)
    v = int(draw.choice([0, 7, -5, 200]))
    return kind(address)(n, *places, v), memory


def main() -> int:
    """Check a range of seeds; 1 if something is wrong."""
    counts: dict[str, int] = {}
    wrong = check(int(sys.argv[1]), int(sys.argv[2]), counts, ("host", "sse2"))
    for text in wrong:
        print(text)
    print(counts, len(wrong), "wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Random loops as kernels: ``python -m sequential.random_kernels FIRST LAST``, from the folder of tests.

Each function is one loop, or one nest: statements in parallel, reductions with and without conditions and places,
scans, compactions, searches, products, and loops over time. What is written of it as CUDA-Python, of every fourth as
OpenCL C, does what the function does when clang compiles it: the same memory, the same result.
"""

from __future__ import annotations

import ctypes
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from sequential.emitted import run_cuda, run_opencl
from weft.diag.errors import EmissionError
from weft.frontend.clang import compile_c
from weft.loops.analysis import analyze_file
from weft.loops.emission.source import emit_report
from weft.report.loops.nests import LoopNestReport
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

BATCH = 20
CALLS = 3
LENGTH = 64 * 64
KINDS = {
    "int": "i4",
    "unsigned": "u4",
    "long": "i8",
    "short": "i2",
    "unsigned char": "u1",
    "float": "f4",
    "double": "f8",
}
C_TYPES = {"int": ctypes.c_int, "unsigned": ctypes.c_uint, "long": ctypes.c_long, "float": ctypes.c_float,
           "double": ctypes.c_double, "void": None}  # fmt: skip


class KernelLoop:
    """A function, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.name = f"loop{seed}"
        self.element = self.draw.choice(
            ("int", "int", "long", "short", "unsigned", "unsigned char", "float", "double")
        )
        self.wide = self.element if self.element in C_TYPES else "int"
        self.is_float = self.element in ("float", "double")
        self.result = "void"
        self.values = "s"

    def text(self) -> str:
        """The function in C."""
        form = self.draw.choice(
            (
                "parallel",
                "sum",
                "least",
                "place",
                "scan",
                "running",
                "onward",
                "keep",
                "search",
                "product",
                "time",
                "two",
                "numbers",
            )
        )
        body = getattr(self, f"_{form}")()
        given = f"int n, int m, {self.element} *a, {self.element} *b, {self.element} *c, int *index"
        return f"{self.result} {self.name}({given}) {{\n{body}}}\n"

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def loop(self, i: str, bound: str = "n") -> str:
        return self.pick(
            f"for (int {i} = 0; {i} < {bound}; {i}++)", f"for (int {i} = 0; {i} < {bound}; {i}++)",
            f"for (int {i} = 1; {i} < {bound} - 1; {i}++)", f"for (int {i} = {bound} - 1; {i} >= 0; {i}--)",
            f"for (int {i} = 2; {i} <= {bound}; {i} += 3)", f"for (long {i} = 0; {i} < {bound}; {i}++)",
            f"for (int {i} = {bound}; {i} > 1; {i} -= 2)", f"for (unsigned {i} = 0; {i} < (unsigned)(m & 63); {i}++)",
        )  # fmt: skip

    def value(self, *at: str, arrays: str = "ab") -> str:
        """A value of some elements."""
        first, second = (f"{self.pick(*arrays)}[{self.pick(*at)}]" for _ in range(2))
        options = [first, first, f"{first} + {second}", f"{first} - 3"]
        options.append(f"{first} * {second}" if self.is_float else f"({first} ^ {second})")
        return f"({self.pick(*options)})"

    def test(self, at: str) -> str:
        return f"{self.pick('a', 'b')}[{at}] {self.pick('<', '>', '>=', '==')} {self.pick('3', '5', 'c[0]')}"

    def _when(self, at: str) -> str:
        return f"if ({self.test(at)}) " if self.draw.random() < 0.4 else ""

    def _parallel(self) -> str:
        value = self.value("i", "i + 1", "2 * i", "index[i]")
        return f"  {self.loop('i')}\n    {self._when('i')}c[i + 64] = {value};\n"

    def _sum(self) -> str:
        self.result = self.wide
        operation = (
            self.pick("+=", "+=", "-=") if self.is_float else self.pick("+=", "-=", "*=", "^=", "|=", "&=")
        )
        start = self.pick("0", "1", "7")
        rows = self.draw.random() < 0.4
        at = "i * 64 + j" if rows else "i"
        inner = f"    {self.loop('j', 'm')}\n  " if rows else ""
        value = self.value(at, f"{at} + 1")
        body = f"{self._when(at)}s {operation} {value};"
        # What C combines as int is cut off again.
        begin = f"  {self.pick(self.wide, self.element)} s = {start};\n"
        return f"{begin}  {self.loop('i')}\n{inner}    {body}\n  return s;\n"

    def _least(self) -> str:
        self.result = self.wide
        sign = self.pick("<", "<=", ">", ">=")
        body = self.pick(f"if (a[i] {sign} s) s = a[i];", f"s = a[i] {sign} s ? a[i] : s;")
        begin = f"{self.pick(self.wide, self.element)} s = {self.pick('5', '0', '100')};"
        return f"  {begin}\n  {self.loop('i')}\n    {body}\n  return s;\n"

    def _place(self) -> str:
        self.result, self.values = "int", "at"
        sign, place = self.pick("<", "<=", ">", ">="), self.pick("i", "i", "3 * i", "index[i]")
        body = f"if (a[i] {sign} s) {{ s = a[i]; at = {place}; }}"
        start = f"  {self.wide} s = {self.pick('5', '0', '100')};\n  int at = -1;\n"
        return f"{start}  {self.loop('i')}\n    {body}\n  return at;\n"

    def _scan(self) -> str:
        self.result = self.wide
        value, store = (
            self.value("i", "i + 1"),
            self.pick("c[i] = s;", "c[i + 3] = s * 2;", "if (a[i] > 4) c[i] = s;"),
        )
        update = f"s {self.pick('+=', '-=') if self.is_float else self.pick('+=', '-=', '*=', '^=')} {value};"
        body = f"{update} {store}" if self.draw.random() < 0.6 else f"{store} {update}"
        begin = f"{self.pick(self.wide, self.element)} s = {self.pick('0', '2')};"
        return f"  {begin}\n  {self.loop('i')} {{ {body} }}\n  return s;\n"

    def _running(self) -> str:
        """Minima and maxima of all elements so far."""
        self.result = self.wide
        sign, last = self.pick("<", "<=", ">", ">="), self.pick("a[i]", "a[i]", "b[i + 1]")
        update = self.pick(
            f"if ({last} {sign} s) s = {last};", f"s = {last} {sign} s ? {last} : s;",
            f"s = s {sign} {last} ? s : {last};",
        )  # fmt: skip
        store = self.pick("c[i] = s;", "c[i + 3] = s * 2;", "if (a[i] > 4) c[i] = s;")
        body = f"{update} {store}" if self.draw.random() < 0.6 else f"{store} {update}"
        begin = f"{self.pick(self.wide, self.element)} s = {self.pick('0', '4', '9')};"
        return f"  {begin}\n  {self.loop('i')} {{ {body} }}\n  return s;\n"

    def _onward(self) -> str:
        """Elements that are each computed from the one before."""
        step = self.pick("1", "1", "2", "-1")
        bound = self.pick("n", "m")
        loop = {
            "1": f"for (int i = 1; i < {bound}; i++)", "2": f"for (int i = 2; i <= {bound}; i += 2)",
            "-1": f"for (long i = {bound} - 1; i >= 0; i--)",
        }[step]  # fmt: skip
        before = {"1": "i - 1", "2": "i - 2", "-1": "i + 1"}[step]
        other = self.pick("a[i]", self.value("i", "i + 1", arrays="bc"))
        operation = self.pick("+", "+", "-") if self.is_float else self.pick("+", "+", "-", "*", "^")
        store = f"a[i] = a[{before}] {operation} {other};"
        extra = self.pick("", "", "c[i + 64] = b[i];", "c[i + 64] = a[i] + 1;")
        return f"  {loop} {{ {store} {extra} }}\n"

    def _keep(self) -> str:
        self.result, self.values = "int", "k"
        value = self.value("i", "i + 1")
        step = self.pick("c[k++] = ", "c[k++] = ", "c[2 * k] = b[i]; c[2 * k + 1] = 3; k++; index[k] = ")
        body = f"if ({self.test('i')}) {{ {step}{value}; }}"
        return f"  int k = {self.pick('0', '0', '4')};\n  {self.loop('i')}\n    {body}\n  return k;\n"

    def _search(self) -> str:
        self.result, self.values = "int", "i"
        tests = [f"    if ({self.test('i')}) return i;\n" for _ in range(self.draw.choice((1, 1, 2)))]
        return f"  {self.loop('i')} {{\n{''.join(tests)}  }}\n  return -1000;\n"

    def _product(self) -> str:
        first = self.pick("i * 64 + k", "k * 64 + i")
        second = self.pick("k * 64 + j", "j * 64 + k")
        update = self.pick("s += a[{}] * b[{}];", "s = a[{}] < b[{}] ? s + 1 : s;", "s += a[{}] + b[{}];")
        loops = f"  for (int i = 0; i < n; i++)\n    for (int j = 0; j < {self.pick('n', 'm')}; j++) {{\n"
        inner = f"      for (int k = {self.pick('0', '0', '2')}; k < {self.pick('n', 'm')}; k++)\n"
        body = f"        {update.format(first, second)}\n      c[i * 64 + j] = s;\n    }}\n"
        return f"{loops}      {self.wide} s = 0;\n{inner}{body}"

    def _time(self) -> str:
        first = f"      c[i] = {self.value('i', 'i + 1', 'i + 2')};\n"
        second = f"      a[i + {self.pick('0', '1')}] = {self.value('i', arrays='cb')} + t;\n"
        when = self.pick("", "    if (t % 2)\n  ", "    if (t < m - 2)\n  ")
        bound = self.pick("n", "n - t")
        return (
            f"  for (int t = 0; t < m / 4; t++) {{\n    for (int i = 0; i < {bound}; i++)\n{first}"
            f"{when}    for (int i = 0; i < n; i++)\n{second}  }}\n"
        )

    def _numbers(self) -> str:
        """What one loop finds is what others compute with, perhaps round by round."""
        self.result = self.wide
        update = self.pick(
            "s += a[i];", "s += a[i] - b[i];", "if (a[i] > s) s = a[i];", "s += a[i]; b[i + 2] = s;"
        )
        first = f"{self.loop('i')} {{ {update} }}\n"
        found = self.pick("s", "s", "(s + t) / 2" if self.is_float else "s % 5 + t", "s > 4 ? s : a[3]")
        rest = f"{self.wide} f = {found};\n"
        extra = self.pick("", "", "a[1] = f;\n", "if (f > 6) ")
        last = f"{self.loop('i')} c[i + 64] = a[i] + f;\n"
        body = f"  {first}  {rest}  {extra}{last}"
        start = f"  {self.wide} s = {self.pick('0', '3')}, t = {self.pick('0', '1')};\n"
        if self.draw.random() < 0.5:
            again = self.pick("", "s = 0;\n", "if (s > 100) break;\n")
            loop = self.pick("for (int r = 0; r < m / 8; r++)", "for (int r = m / 8; r > 0; r--)")
            body = f"  {loop} {{\n{body}  t = f;\n  {again}  }}\n"
        else:
            body = f"{body}  t = f;\n"
        return f"{start}{body}  return s + t;\n"

    def _two(self) -> str:
        at = self.pick("i * 64 + j", "j * 64 + i")
        body = f"      {self._when(at)}c[{at}] = {self.value(at, f'{at} + 1', f'{at} + 64')};\n"
        return f"  {self.loop('i')}\n    {self.loop('j', self.pick('m', 'i'))}\n{body}"


def check(first: int, last: int, counts: dict[str, int], reasons: list[str] | None = None) -> list[str]:
    """Compare the loops of some seeds; what is wrong, with the source. `reasons` gets why others have no kernel."""
    loops = [KernelLoop(seed) for seed in range(first, last)]
    texts = {loop.name: loop.text() for loop in loops}
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loops.c"
        file.write_text("".join(texts.values()))
        code = load_object(
            emit_object(compile_c(file, spec.triple, ["-w", "-fwrapv", "-ffp-contract=off"]), spec),
            list(texts),
            {},
        )
        report = analyze_file(file, clang_options=["-w"], order=True)
        found: list[str] = []
        for seed, loop in zip(range(first, last), loops, strict=True):
            counts["loops"] = counts.get("loops", 0) + 1
            language = "opencl" if seed % 4 == 0 else "cuda"
            own = LoopNestReport(tuple(r for r in report.loops if r.function == loop.name))
            try:
                emitted = emit_report(own, language, fastmath=True)
            except EmissionError as error:
                counts["refused"] = counts.get("refused", 0) + 1
                if reasons is not None:
                    reasons.append(f"{error.message}\n{texts[loop.name]}")
                continue
            if len(emitted.kernels) != 1 or emitted.refused:
                counts["in parts"] = counts.get("in parts", 0) + 1
                continue
            if set(emitted.kernels[0].parameters) & {"i", "t", "s"}:
                counts["in parts"] = counts.get("in parts", 0) + 1
                continue
            counts[language] = counts.get(language, 0) + 1
            run = run_cuda if language == "cuda" else run_opencl
            draw = np.random.default_rng(seed)
            for _ in range(CALLS):
                given = _arguments(loop, draw)
                mine = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
                kinds = [ctypes.c_int] * 2 + [ctypes.c_void_p] * 4
                values = [v.ctypes.data if isinstance(v, np.ndarray) else v for v in given.values()]
                wanted = ctypes.CFUNCTYPE(C_TYPES[loop.result], *kinds)(code.address(loop.name))(*values)
                results = run(emitted, mine)
                problem = _difference(loop, given, mine, wanted, results)
                if problem:
                    found.append(
                        f"seed {seed} {language} n={given['n']} m={given['m']}: {problem}\n{texts[loop.name]}"
                    )
                    break
    return found


def _arguments(loop: KernelLoop, draw: np.random.Generator) -> dict[str, Any]:
    sizes = [int(draw.choice((-2, 0, 1, 2, 7, 16, 30, 40))) for _ in "nm"]
    scale = 8 if loop.is_float else 1
    arrays = [(draw.integers(0, 10, LENGTH) / scale).astype(KINDS[loop.element]) for _ in "abc"]
    index = draw.integers(0, LENGTH, LENGTH).astype("i4")
    return dict(zip(("n", "m", "a", "b", "c", "index"), (*sizes, *arrays, index), strict=True))


def _difference(
    loop: KernelLoop, given: dict[str, Any], mine: dict[str, Any], wanted: Any, results: dict[str, Any]
) -> str:
    for name, array in given.items():
        if isinstance(array, np.ndarray) and not np.array_equal(mine[name], array):
            places = np.flatnonzero(mine[name] != array)
            return (
                f"{name} differs from element {places[0]} on: {mine[name][places[0]]}, not {array[places[0]]}"
            )
    if loop.result == "void":
        return ""
    if loop.values not in results and len(results) == 1:
        # What the function returns is computed.
        results = {loop.values: next(iter(results.values()))}
    if loop.values not in results:
        return f"there is no result {loop.values} in {results}"
    result = results[loop.values]
    if loop.values == "i":
        result = -1000 if result is None else result
    same = result == wanted if loop.is_float else (int(result) - int(wanted)) % (1 << 32) == 0
    return "" if same else f"the result is {result}, not {wanted}"


def main() -> int:
    """Check a range of seeds; 1 if something is wrong."""
    first, last = (int(a) for a in sys.argv[1:3])
    counts: dict[str, int] = {}
    wrong = 0
    begin = time.monotonic()
    for seed in range(first, last, BATCH):
        for text in check(seed, min(seed + BATCH, last), counts):
            wrong += 1
            print(text, flush=True)
        print(seed + BATCH, counts, f"{time.monotonic() - begin:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Reductions, scans, compactions and searches as kernels do what the loops do, in CUDA-Python and OpenCL C."""

import ctypes
import math
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from conformance.runner import passes_checked
from pairs import WHOLE
from sequential import loops as python_loops
from sequential.emitted import run_cuda, run_opencl
from weft.diag.errors import EmissionError
from weft.frontend.clang import compile_c
from weft.loops.analysis import analyze_file
from weft.loops.emission.source import EmittedSource, emit_report
from weft.report.loops.nests import LoopNestReport
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).parents[1] / "sequential" / "patterns.c"
DTYPES = {
    "unsigned char": "u1", "short": "i2", "int": "i4", "unsigned": "u4", "long": "i8", "float": "f4", "double": "f8",
    "void": "",
}  # fmt: skip
"""NumPy's names of C's types."""

SIZES = (0, 1, 2, 255, 257, 3000) if os.environ.get("WEFT_FUZZ") else (0, 1, 300)
LENGTH = 3001


@pytest.fixture(autouse=True)
def compile_only() -> Iterator[None]:
    """Passes are checked by other tests; these kernels have many threads."""
    with passes_checked(bool(os.environ.get("WEFT_FUZZ"))):
        yield


def or_else(value: int) -> Callable[..., Any]:
    return lambda found: value if found is None else found


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": int, "bytes": int, "shorts": int,
    "product": int, "dot": float, "frobenius": float, "backwards": int, "count": int, "both": int,
    "least": int, "greatest": int, "least_float": float, "last_greatest": float,
    "where_least": lambda m, at: at, "where_last": lambda m, at: at, "two_sums": lambda s, t: int(s) + int(t),
    "running": int, "wrapping": int, "exclusive": lambda *found: None, "add_to": lambda: None,
    "running_floats": float, "compact": int, "pairs": int, "in_place": int,
    "onward": lambda: None, "onward_floats": lambda: None, "downward": lambda: None, "each_second": lambda: None,
    "running_bytes": int, "running_shorts": lambda: None, "running_product": int, "running_least": lambda: None,
    "running_greatest": float, "running_last": float, "running_any": float, "running_byte": int,
    "onward_bytes": lambda: None, "onward_shorts": lambda: None, "greatest_byte": int, "least_short": int,
    "switched": lambda: None, "products": lambda: None, "stored_first": int,
    "find_row": or_else(-1), "find": or_else(-1), "find_last": or_else(-1),
    "find_either": lambda i: None if i is None else int(i),
}  # fmt: skip
"""What each function gives, from what its kernels give."""

ROUNDED = {"dot", "products", "frobenius", "running_floats", "onward_floats"}
"""Sum floats: refused unless that is allowed."""


@cache
def signature(name: str) -> tuple[str, tuple[tuple[str, str, bool], ...]]:
    """The result, and type, name and whether it is an array of each parameter of a C function."""
    (found,) = re.findall(rf"^([\w ]+?) {name}\(([^)]*)\)", SOURCE.read_text(), re.M)
    given = []
    for text in found[1].split(","):
        match = re.fullmatch(r"\s*(?:const )?(\w+(?: char)?) (\*?)(\w+)", text)
        assert match, text
        given.append((DTYPES[match[1]], match[3], bool(match[2])))
    return DTYPES[found[0]], tuple(given)


def arguments(name: str, size: int, draw: np.random.Generator) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for kind, called, is_array in signature(name)[1]:
        if is_array and kind[0] == "f":
            # Multiples of 1/8, so sums do not depend on their order; with zeros of both signs.
            made[called] = (draw.integers(0, 100, LENGTH) / 8 * draw.choice([1, -1], LENGTH)).astype(kind)
        elif is_array:
            made[called] = draw.integers(0, 100, LENGTH).astype(kind)
        elif called in ("n", "m"):
            made[called] = size if called == "n" else 1 if name == "frobenius" and size > 50 else size
        elif kind[0] == "f":
            made[called] = {"low": -12.3, "high": 12.2}.get(called, 0.0)
        else:
            made[called] = int(draw.integers(0, 100))
    if name in ("frobenius", "find_row"):
        made.update(n=size // 10, m=min(size, 10))
    return made


@cache
def original() -> LoadedCode:
    spec = TargetSpec.chosen()
    return load_object(emit_object(compile_c(SOURCE, spec.triple), spec), list(FUNCTIONS), {})


def run_original(name: str, given: dict[str, Any]) -> Any:
    kinds = {
        "f4": ctypes.c_float,
        "f8": ctypes.c_double,
        "i4": ctypes.c_int,
        "u4": ctypes.c_uint,
        "i8": ctypes.c_long,
        "u1": ctypes.c_ubyte,
        "i2": ctypes.c_short,
    }
    result, parameters = signature(name)
    types = [ctypes.c_void_p if is_array else kinds[kind] for kind, _, is_array in parameters]
    values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in given.values()]
    return ctypes.CFUNCTYPE(kinds.get(result), *types)(original().address(name))(*values)


def run(emitted: EmittedSource, language: str, given: dict[str, Any]) -> tuple[Any, ...]:
    """What the kernels give."""
    return tuple((run_cuda if language == "cuda" else run_opencl)(emitted, given).values())


@cache
def report() -> LoopNestReport:
    return analyze_file(SOURCE, order=True)


def emit(name: str, language: str, fastmath: bool = True) -> EmittedSource:
    return emit_report(
        LoopNestReport(tuple(r for r in report().loops if r.function == name)), language, fastmath=fastmath
    )


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, but for which NaN."""
    return a == b and math.copysign(1, a) == math.copysign(1, b)


# Both languages are written by the same code, but for the words: one in two of the second is run.
BOTH = [
    (name, language)
    for k, language in enumerate(("cuda", "opencl"))
    for n, name in enumerate(FUNCTIONS)
    # Both write the same tree.
    if WHOLE or n % 2 == k
]


@pytest.mark.parametrize(("name", "language"), BOTH)
def test_kernels_do_what_the_loop_does(name: str, language: str) -> None:
    emitted = emit(name, language, name in ROUNDED)
    draw = np.random.default_rng(len(name))
    for size in SIZES:
        before = arguments(name, size, draw)
        after = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in before.items()}
        wanted = run_original(name, before)
        found = FUNCTIONS[name](*run(emitted, language, after))
        if name == "find_either":
            assert abs(wanted) == (found or 0)
        elif name == "two_sums":
            assert (wanted - found) % (1 << 32) == 0
        elif wanted is not None:
            assert same(wanted, found), (size, wanted, found)
        for called, array in before.items():
            if isinstance(array, np.ndarray):
                np.testing.assert_array_equal(after[called], array, err_msg=f"{called}, {size}")


@pytest.mark.parametrize("name", sorted(ROUNDED))
def test_float_sums_need_permission(name: str) -> None:
    with pytest.raises(EmissionError, match="float sums would be formed in another order, which --fastmath"):
        emit(name, "cuda", False)
    assert "It is assumed that float sums may be formed in another order." in emit(name, "cuda").text


@pytest.mark.parametrize(
    "name", ["least_float", "last_greatest", "where_least", "running_greatest", "running_last"]
)
def test_zeros_and_what_is_no_number(name: str) -> None:
    """Of -0.0 and 0.0 the loop keeps the first or the last; NaN is left out unless it stands first."""
    emitted = emit(name, "cuda", False)
    for first in (math.nan, math.inf, -math.inf, 0.0, -0.0):
        for pattern in ([0.0, -0.0], [-0.0, 0.0], [math.nan, 1.0], [math.inf], [-math.inf, math.inf]):
            given = arguments(name, 300, np.random.default_rng(1))
            given["a"][:] = np.resize(pattern, LENGTH)
            given["first"] = first
            mine = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
            wanted, found = run_original(name, given), FUNCTIONS[name](*run(emitted, "cuda", mine))
            assert same(wanted, found) or (wanted != wanted and found != found), (first, pattern)
            if "b" in given:
                np.testing.assert_array_equal(mine["b"], given["b"])
                np.testing.assert_array_equal(np.signbit(mine["b"]), np.signbit(given["b"]))


def test_a_choice_that_takes_nan_rests_on_there_being_none() -> None:
    assert "It is assumed that no value that m takes is a NaN." in emit("running_any", "cuda", False).text
    assert "NaN" not in emit("running_greatest", "cuda", False).text


def test_what_an_iteration_has_stored_is_handed_on_as_a_number() -> None:
    text = emit("stored_first", "cuda").text
    assert (
        "            value = int(a[i]) * 2\n        else:\n            value = int(b[i])\n        s += value\n"
        in text
    )


def test_loops_in_python() -> None:
    draw = np.random.default_rng(2)
    x, y = draw.integers(-9, 9, 1000), np.zeros(1000, np.int64)
    floats = draw.random(1000)

    def in_python(name: str, given: dict[str, Any], **options: bool) -> tuple[Any, ...]:
        emitted = weft.loops.emit(getattr(python_loops, name), *given.values(), **options)
        return run(emitted, "cuda", {**given, "m2": floats[0]})

    assert in_python("total", {"x": floats}, fastmath=True) == pytest.approx((np.sqrt(floats).sum(),))
    assert in_python("least", {"x": floats}) == (floats.min(),)
    in_python("running", {"x": x, "y": y})
    np.testing.assert_array_equal(y, np.cumsum(x))
    in_python("onward", {"x": y})
    np.testing.assert_array_equal(y, np.cumsum(np.cumsum(x)))
    assert in_python("kept", {"x": x, "out": y}) == ((x > 0).sum(),)
    np.testing.assert_array_equal(y[: (x > 0).sum()], x[x > 0])
    assert in_python("first", {"x": x, "key": 5}) == (np.flatnonzero(x == 5)[0],)
    assert in_python("first", {"x": x, "key": 99}) == (None,)


def test_the_first_element_is_read_by_a_kernel() -> None:
    text = emit("onward", "cuda").text
    assert "    if n - 1 > 0:\n        value = int(a[0])\n    else:\n        value = 0\n" in text
    assert "def run_onward(n, a):" in text and "_to_device(a, 0, n)" in text and "_end" not in text
    assert "        value += int(a[i])\n        a[i] = value\n" in text
    assert "It is assumed that a and c do not overlap" in emit("onward_floats", "cuda").text
    # Threads take rows, and each goes along its own.
    assert "a[j * n + i] = int(a[j * n + i]) + int(a[j * n + i - 1])" in emit("onward_rows", "cuda").text


def test_kernels_are_what_a_person_would_write() -> None:
    # It returns from within a body that has variables of its own.
    assert "        if s == key:\n            cuda.atomic.min(found, 0, i)\n" in emit("find_row", "cuda").text
    text = emit("frobenius", "cuda").text
    assert "    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):\n" in text
    assert "        for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):\n            s += " in text
    text = emit("sum", "opencl").text
    assert "  uint s = 0;\n" in text and "    s += a[i];\n" in text
    text = emit("where_least", "cuda").text
    assert "        if a[i] < m:\n            m = a[i]\n            at = i\n" in text and "m_at" not in text
    assert "    return m_parts.copy_to_host()[0], at_parts.copy_to_host()[0]\n" in text
    text = emit("compact", "cuda").text
    assert (
        "        k = int(k_parts[cuda.blockIdx.x]) + int(k_before[i])\n        out[k] = int(a[i])\n" in text
    )
    text = emit("add_to", "cuda").text
    assert "        cuda.atomic.add(b, 0, b_sum_all[0])\n" in text and text.count("cuda.atomic") == 2
    text = emit("add_to", "opencl").text
    assert re.search(r"^// Launch only if .*n > 0\.$", text, re.M)
    assert "      c_sum_all[thread] = (int)((uint)c_sum_all[thread] + c_sum_all[other]);\n" in text

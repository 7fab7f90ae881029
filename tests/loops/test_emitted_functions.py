"""Functions of which the host runs a part do what they do in order, in CUDA-Python and as comments of OpenCL C say."""

import ctypes
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairs import WHOLE

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

import weft
from conformance.runner import passes_checked
from sequential.emitted import run_cuda, run_opencl
from weft.frontend.clang import compile_c
from weft.loops.analysis import analyze_file
from weft.loops.emission.source import EmittedSource, emit_report
from weft.report.loops.nests import LoopNestReport
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).parents[1] / "sequential" / "hosted.c"
TYPES = {"int": "i4", "long": "i8", "unsigned char": "u1", "float": "f4", "double": "f8", "void": ""}
C_TYPES = {"i4": ctypes.c_int, "i8": ctypes.c_long, "f4": ctypes.c_float, "f8": ctypes.c_double, "": None}
FUNCTIONS = (
    "normalize", "spread", "power", "gradients", "until", "decompose", "wrapped", "sort_out", "alternating", "roots",
)  # fmt: skip
SIZES = (0, 1, 2, 17, 300) if os.environ.get("WEFT_FUZZ") else (0, 1, 17)


@pytest.fixture(autouse=True)
def compile_only() -> Iterator[None]:
    """Passes are checked by other tests; these kernels have many threads."""
    with passes_checked(bool(os.environ.get("WEFT_FUZZ"))):
        yield


@cache
def emit(name: str, language: str) -> EmittedSource:
    loops = tuple(r for r in report().loops if r.function == name)
    return emit_report(LoopNestReport(loops), language, fastmath=True)


@cache
def report() -> LoopNestReport:
    return analyze_file(SOURCE, order=True)


@cache
def original() -> LoadedCode:
    spec = TargetSpec.chosen()
    options = ["-fwrapv", "-fno-math-errno", "-ffp-contract=off"]
    return load_object(emit_object(compile_c(SOURCE, spec.triple, options), spec), list(FUNCTIONS), {})


def run_original(name: str, size: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """What a function is given, what it makes of it, and what it returns."""
    (found,) = re.findall(rf"^([\w ]+?) {name}\(([^)]*)\)", SOURCE.read_text(), re.M)
    draw = np.random.default_rng(size)
    given: dict[str, Any] = {}
    for text in found[1].split(","):
        match = re.fullmatch(r"\s*(?:const )?(\w+(?: char)?) (\*?)(\w+)", text)
        assert match
        kind, called = TYPES[match[1]], match[3]
        if match[2]:
            # Sums of these do not depend on their order.
            scale = 8 if kind[0] == "f" else 1
            given[called] = (draw.integers(0, 100, max(size * size, 4)) / scale).astype(kind)
        else:
            given[called] = {"n": size, "rounds": 3, "least": 4.0}[called]
    after = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    arrays = [isinstance(v, np.ndarray) for v in given.values()]
    types = [
        ctypes.c_void_p if a else ctypes.c_float if isinstance(v, float) else ctypes.c_int
        for a, v in zip(arrays, given.values(), strict=True)
    ]
    values = [v.ctypes.data if isinstance(v, np.ndarray) else v for v in after.values()]
    result = ctypes.CFUNCTYPE(C_TYPES[TYPES[found[0]]], *types)(original().address(name))(*values)
    return given, after, result


BOTH = [
    (name, language)
    for k, language in enumerate(("cuda", "opencl"))
    for n, name in enumerate(FUNCTIONS)
    # Both languages are written by the same code, but for the words.
    if WHOLE or n % 2 == k
]


@pytest.mark.parametrize(("name", "language"), BOTH)
@pytest.mark.filterwarnings("ignore:.*encountered in .*divide")
def test_one_function_does_it_all(name: str, language: str) -> None:
    emitted = emit(name, language)
    assert len(emitted.kernels) == 1 and not emitted.refused
    for size in SIZES:
        mine, wanted, result = run_original(name, size)
        found = (run_cuda if language == "cuda" else run_opencl)(emitted, mine)
        for called, array in wanted.items():
            if isinstance(array, np.ndarray):
                np.testing.assert_array_equal(mine[called], array, err_msg=f"{called}, {size}")
        if result is not None:
            (own,) = found.values()
            assert own == result or (own != own and result != result), size


def test_numbers_have_the_names_of_the_program() -> None:
    text = emit("gradients", "cuda").text
    assert "        d = d_parts[0]\n" in text and "        alpha = 0.5 if rho > d else -0.25\n" in text
    assert "x_copy, r_copy, p_copy, q_copy, alpha)\n" in text and "    for t in range(rounds):\n" in text
    text = emit("until", "cuda").text
    assert "    while moved > least:\n" in text and text.endswith("    return rounds\n")
    text = emit("decompose", "cuda").text
    assert "        pivot = a_copy[k * n + k]\n" in text and "        a_copy[k * n + k] = pivot\n" in text
    text = emit("spread", "cuda").text
    mean = "np.float32(np.float32(np.divide(s, np.float32(n))) * np.float32(0.1)) + np.float32(0.7)"
    assert f"    mean = np.float32({mean})\n" in text


def scaled(a, b, rounds):
    total = 0.0
    for _ in range(rounds):
        s = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s += a[i, j]
        for i in range(a.shape[0]):
            b[i] = a[i, 0] * s
        total = total + s * 0.5
        a[0, 1] = b[0]
    return total


def test_functions_of_python() -> None:
    draw = np.random.default_rng(3)
    given = {"a": draw.integers(0, 9, (5, 7)) / 8, "b": np.zeros(5), "rounds": 3}
    mine = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    emitted = weft.loops.emit(scaled, *given.values(), fastmath=True)
    assert "a_copy[0, 1] = b_copy[0]" in emitted.text
    wanted = scaled(**given)
    assert list(run_cuda(emitted, mine).values()) == [wanted]
    np.testing.assert_array_equal(mine["a"], given["a"])
    np.testing.assert_array_equal(mine["b"], given["b"])

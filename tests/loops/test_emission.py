"""Kernels that loops are written out as do what the loops do, in CUDA-Python and in OpenCL C."""

import ctypes
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
from sequential import loops as python_loops
from sequential.emitted import run_cuda, run_opencl
from weft.cli import main
from weft.diag.errors import EmissionError
from weft.frontend.clang import compile_c
from weft.loops.analysis import analyze_file
from weft.loops.emission.source import EmittedSource, emit_report
from weft.report.loops.nests import LoopNestReport
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).parents[1] / "sequential" / "loops.c"
FUNCTIONS = re.findall(r"^void (\w+)\(", SOURCE.read_text(), re.M)
DTYPES = {
    "char": "i1", "unsigned char": "u1", "int": "i4", "unsigned": "u4", "long": "i8", "size_t": "u8", "float": "f4",
    "double": "f8",
}  # fmt: skip
"""NumPy's names of C's types."""

SIZES = (0, 1, 7, 20) if os.environ.get("WEFT_FUZZ") else (0, 20)
LENGTH = 24_000


@pytest.fixture(autouse=True)
def compile_only() -> Iterator[None]:
    """Passes are checked by other tests."""
    with passes_checked(bool(os.environ.get("WEFT_FUZZ"))):
        yield


OUTSIDE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x)


@cache
def original() -> LoadedCode:
    spec = TargetSpec.chosen()
    code = emit_object(compile_c(SOURCE, spec.triple), spec)
    return load_object(code, list(FUNCTIONS), {"outside": ctypes.cast(OUTSIDE, ctypes.c_void_p).value or 0})


@cache
def parameters(name: str) -> tuple[tuple[str, str, bool], ...]:
    """Type, name and whether it is an array, of each parameter of a C function."""
    (given,) = re.findall(rf"^void {name}\(([^)]*)\)", SOURCE.read_text(), re.M)
    found = []
    for text in given.split(","):
        match = re.fullmatch(r"\s*(?:const )?(\w+(?: char)?) (\*?)(?:restrict )?(\w+)((?:\[\w*\])*)", text)
        assert match, text
        found.append((match[1], match[3], bool(match[2] or match[4])))
    return tuple(found)


def arguments(name: str, size: int, draw: np.random.Generator) -> dict[str, Any]:
    """Arguments that fit: indices are below the size, sizes are `size`."""
    made: dict[str, Any] = {}
    for kind, called, is_array in parameters(name):
        if is_array and called in ("index", "bin"):
            made[called] = draw.permutation(max(size, 1))[np.arange(LENGTH) % max(size, 1)].astype(
                DTYPES[kind]
            )
        elif is_array:
            values = draw.integers(0, 100, LENGTH)
            made[called] = values.astype(DTYPES[kind]) / (8 if DTYPES[kind][0] == "f" else 1)
            made[called] = made[called].astype(DTYPES[kind])
        elif DTYPES[kind][0] == "f":
            made[called] = 0.5
        else:
            made[called] = size
    return made


def run_original(name: str, given: dict[str, Any]) -> None:
    kinds = {"f4": ctypes.c_float, "f8": ctypes.c_double, "i4": ctypes.c_int, "u4": ctypes.c_uint}
    types: list[Any] = [
        ctypes.c_void_p if is_array else kinds.get(DTYPES[kind], ctypes.c_long)
        for kind, _, is_array in parameters(name)
    ]
    values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in given.values()]
    ctypes.CFUNCTYPE(None, *types)(original().address(name))(*values)


REFUSED = {
    "seidel": "is read here 1 iteration later",
    "triangular_solve": "float sums would be formed in another order",
    "shifted_read": "is written here 1 iteration later",
    "not_far_enough": "99 iterations later",
    "pointers": "the number of iterations is not known",
    "unknown_distance": "may be written here",
    "remainder_index": "may write the same element of a",
    "temporary": "t is an array of the function's own",
    "wrap_around": "before, which iterations hand on",
    "recurrence": "is read here 1 iteration later",
    "histogram_and_read": "may be read here",
    "until": "may be left before its last iteration",
    "scatter": "may write the same element of y",
    "calls": "a function that is called accesses memory",
    "calls_same": "is written here 1 iteration later",
    "unknown_call": "outside is called",
    "global_write": "writes the same element of total",
    "recursion": "recursive is called",
}
"""Functions of which no loop is written, and a part of why."""

NOT_RUN = {"points", "scale", "global_sum", "beyond_rows"}
"""Take structures or variables of the program."""

ROUNDED = {"weighted_histogram", "column_sums"}
"""Add up floats in another order."""

RUN = [f for f in FUNCTIONS if f not in REFUSED and f not in NOT_RUN]
HOSTED = {"jacobi", "overlapping_blocks", "steps_of_time", "shrinking", "left_early", "pivots"}
"""Have a loop around the kernels that the host runs; in OpenCL C comments have it."""
FEW = [
    "matmul",
    "histogram",
    "weighted_histogram",
    "odd_counter",
    "two_pointers",
    "grey",
    "blur",
    "each_eighth",
]
"""What OpenCL C takes another way than Python; all with WEFT_FUZZ."""

CASES = [(f, run_cuda) for f in RUN] + [
    (f, run_opencl) for f in ([r for r in RUN if r not in HOSTED] if os.environ.get("WEFT_FUZZ") else FEW)
]


@cache
def report() -> LoopNestReport:
    return analyze_file(SOURCE, order=True)


def emit(name: str, language: str) -> EmittedSource:
    loops = tuple(loop for loop in report().loops if loop.function == name)
    return emit_report(LoopNestReport(loops), language, fastmath=name in ROUNDED)


@pytest.mark.parametrize(("name", "launch"), CASES, ids=[f"{f}-{r.__name__}" for f, r in CASES])
def test_kernels_do_what_the_loop_does(name: str, launch: Callable[..., Any]) -> None:
    emitted = emit(name, "cuda" if launch is run_cuda else "opencl")
    draw = np.random.default_rng(1)
    for size in SIZES:
        before = arguments(name, size, draw)
        after = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in before.items()}
        run_original(name, before)
        launch(emitted, after)
        for called, array in before.items():
            if isinstance(array, np.ndarray):
                # Numbers are multiples of 1/8, so sums do not depend on their order.
                np.testing.assert_allclose(after[called], array, rtol=1e-6, err_msg=f"{called}, {size}")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_says_why(name: str) -> None:
    with pytest.raises(EmissionError, match=re.escape(REFUSED[name])) as failed:
        emit(name, "cuda")
    lines = SOURCE.read_text().splitlines()
    first = next(k for k, line in enumerate(lines, 1) if re.match(rf"(static )?\w+ {name}\(", line))
    assert failed.value.span is not None
    assert failed.value.span.line > first or name == "calls"


def in_python(name: str, *given: Any) -> None:
    """Both languages do what the function does."""
    plain = getattr(python_loops, name)
    for language in ("cuda", "opencl"):
        before = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
        after = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
        emitted = weft.loops.emit(plain, *given, language=language)
        plain(*before)
        names = plain.__code__.co_varnames
        called = dict(zip(names, after, strict=False))
        if language == "cuda":
            run_cuda(emitted, called)
        else:
            sizes = {
                f"{n}_shape_{k}": e
                for n, a in called.items()
                if isinstance(a, np.ndarray)
                for k, e in enumerate(a.shape)
            }
            run_opencl(emitted, {**called, **sizes})
        for a, b in zip(after, before, strict=True):
            np.testing.assert_array_equal(a, b)


DRAW = np.random.default_rng(3)
MATRIX = DRAW.random((9, 13))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("saxpy", (np.float32(2.5), DRAW.random(300, np.float32), DRAW.random(300, np.float32))),
        ("smooth", (DRAW.random(50), np.zeros(50))),
        ("smooth", (DRAW.random(0), np.zeros(0))),
        ("matrix", (MATRIX, np.zeros((9, 13)))),
        ("product", (MATRIX, MATRIX.T.copy(), np.zeros((9, 9)))),
        ("rows", (MATRIX, np.zeros(9))),
        ("bins", (DRAW.integers(0, 7, 100), np.zeros(7, np.int64))),
        ("backwards", (np.zeros(40, np.int32), 33)),
        ("even", (np.arange(41, dtype=np.int32), 40)),
        ("collatz", (np.arange(1, 30), np.zeros(29, np.int64))),
        ("mandelbrot", (np.zeros((5, 6), np.int32), 20)),
    ],
)
def test_loops_in_python(name: str, given: tuple[Any, ...]) -> None:
    in_python(name, *given)


def test_strided_arrays_keep_their_subscripts() -> None:
    a, b = DRAW.random((8, 6)), np.zeros((4, 2))
    emitted = weft.loops.emit(python_loops.matrix, a[::2, ::3], b)
    assert "b[i, j] = a[i, j] * 2.0" in emitted.text
    run_cuda(emitted, {"a": a[::2, ::3], "b": b})
    np.testing.assert_array_equal(b, 2 * a[::2, ::3])
    with pytest.raises(EmissionError, match="begins within an element"):
        weft.loops.emit(python_loops.matrix, a[::2, ::3], b, language="opencl")


def test_kernels_are_what_a_person_would_write() -> None:
    """The loops are guards, the names are those of the program, sections are exact."""
    text = emit("matmul", "cuda").text
    assert "    j, i = cuda.grid(2)\n" in text
    assert "    s = 0.0\n    for first in range(0, p, 16):\n" in text
    assert "            A_tile[row, column] = A[i * p + first + column]\n" in text
    assert "                s += A_tile[row, k - first] * B_tile[k - first, column]\n" in text
    assert "    if i < n and j < m:\n        C[i * m + j] = s\n" in text
    assert "    _launch(matmul_kernel, (m, n), (16, 16), n, m, p, A_copy, B_copy, C_copy)\n" in text
    assert "    A_copy = _to_device(A, 0, p * n)\n" in text
    assert "It is assumed that A and C do not overlap." in text
    text = emit("matmul", "opencl").text
    assert "// Global size: m, n, rounded up to the local size of 16, 16.\n" in text
    assert "// Copy in: A, elements [0, (long)p * n).\n" in text


def test_fields_of_structures_are_numbers_and_arrays() -> None:
    (kernel,) = emit("scale", "cuda").kernels
    assert kernel.parameters == ("by", "m_data", "m_columns", "m_rows")


def test_the_host_runs_loops_around_kernels() -> None:
    emitted = emit("overlapping_blocks", "cuda")
    assert emitted.kernels[0].parameters == ("n", "a")
    assert (
        "    for i in range(n):\n        _launch(overlapping_blocks_kernel, (9,), (256,), a_copy, i)\n"
        in emitted.text
    )
    assert [line for line, _ in emitted.refused] == []
    text = emit("shrinking", "opencl").text
    assert "// The host does this:\n//   for (int k = 0; k < n; k++) {\n" in text
    assert "//     shrinking_kernel(n, a, k);\n" in text
    assert "// Global size: (long)n - k - 1, rounded" in text


def test_a_loop_over_time_in_python() -> None:
    for times in (0, 1, 4):
        draw = np.random.default_rng(times)
        given = {"a": draw.random(50), "b": draw.random(50), "times": times}
        wanted = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
        emitted = weft.loops.emit(python_loops.wave, *given.values())
        assert re.search(r"    for \w+ in range\(times\):\n        _launch\(", emitted.text)
        python_loops.wave(**wanted)
        run_cuda(emitted, given)
        np.testing.assert_array_equal(given["a"], wanted["a"])
        np.testing.assert_array_equal(given["b"], wanted["b"])


def test_the_host_reads_elements_between_kernels() -> None:
    emitted = emit("pivots", "cuda")
    assert emitted.kernels[0].parameters == ("n", "A") and len(emitted.kernels) == 1
    assert "        p = A_copy[k * n - n + k] + 1.0\n" in emitted.text


def test_names_keep_their_underscores(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(
        "void f(int n, int *_a, int *a, int a_) { for (int i = 0; i < n; i++) a[i] = _a[i] + a_; }\n"
    )
    emitted = emit_report(analyze_file(file, ["f"], order=True), "cuda")
    assert emitted.kernels[0].parameters == ("n", "_a", "a", "a_")
    given = {"n": 3, "_a": np.arange(3, dtype="i4"), "a": np.zeros(3, "i4"), "a_": 5}
    run_cuda(emitted, given)
    np.testing.assert_array_equal(given["a"], [5, 6, 7])


def test_what_a_function_returns_is_a_number(tmp_path: Path) -> None:
    """Its expression is one of the function that is called."""
    file = tmp_path / "f.c"
    file.write_text(
        "#include <stdlib.h>\nstatic int rows(const char *text) { return (int)strtol(text, 0, 10); }\n"
        "void f(const char *text, int *a) { int k = rows(text); for (int i = 0; i < k; i++) a[i] = i; }\n"
    )
    (kernel,) = emit_report(analyze_file(file, ["f"], order=True), "cuda").kernels
    assert kernel.parameters == ("a", "k")


def test_files_by_their_suffixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix, sign in ((".py", "@cuda.jit"), (".cl", "kernel void copy_kernel")):
        out = tmp_path / f"kernels{suffix}"
        assert main(["loops", str(SOURCE), "--function", "copy", "--emit", str(out)]) == 0
        assert sign in out.read_text()
    assert main(["loops", str(SOURCE), "--function", "copy", "--emit", "kernels.txt"]) == 2
    assert "it writes .py and .cl files" in capsys.readouterr().err
    python = Path(python_loops.__file__)
    options = ["--function", "matrix", "--types", python_loops.SIGNATURES["matrix"]]
    assert main(["loops", str(python), *options, "--emit", str(out)]) == 0
    assert main(["loops", str(python), *options, "--emit", str(tmp_path / "k.py")]) == 0
    assert "b[i, j] = a[i, j] * 2.0" in (tmp_path / "k.py").read_text()


def test_in_products_the_sum_is_in_each_thread() -> None:
    def product(a, b, c):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    draw = np.random.default_rng(4)
    a, b, c = draw.random((7, 9)), draw.random((9, 5)), draw.random((7, 5))
    emitted = weft.loops.emit(product, a, b, c)
    assert "    j, i = cuda.grid(2)\n" in emitted.text
    assert "                c[i, j] += a_tile[row, k - first] * b_tile[k - first, column]\n" in emitted.text
    assert "It is assumed that a and c do not overlap." in emitted.text
    wanted = c.copy()
    product(a, b, wanted)
    run_cuda(emitted, {"a": a, "b": b, "c": c})
    np.testing.assert_array_equal(c, wanted)


def times_transposed(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            c[i, j] = s


def transposed_times(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[0]):
                c[i, j] += a[k, i] * b[k, j]


def smallest_sums(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            m = 100.0
            for k in range(1, a.shape[1]):
                x = a[i, k] + b[k, j]
                m = x if x < m else m
            c[i, j] = m


@pytest.mark.spread
@pytest.mark.parametrize("shape", [(20, 33, 17), (1, 1, 1), (16, 16, 16), (5, 40, 0), (0, 3, 3), (35, 1, 70)])
@pytest.mark.parametrize("function", [times_transposed, transposed_times, smallest_sums])
def test_tiles_in_shared_memory(function: Callable[..., None], shape: tuple[int, int, int]) -> None:
    n, m, p = shape
    draw = np.random.default_rng(n)
    a, b = draw.random((p, n) if function is transposed_times else (n, p)), draw.random((p, m))
    b = b.T.copy() if function is times_transposed else b
    wanted = np.zeros((n, m))
    function(a, b, wanted)
    for language in ("cuda", "opencl"):
        emitted = weft.loops.emit(function, a, b, wanted, language=language)
        assert "a_tile" in emitted.text and "b_tile" in emitted.text
        found = np.zeros((n, m))
        given = {"a": a, "b": b, "c": found}
        if language == "cuda":
            run_cuda(emitted, given)
        else:
            sizes = {f"{name}_shape_{k}": e for name, x in given.items() for k, e in enumerate(x.shape)}
            run_opencl(emitted, {**given, **sizes})
        np.testing.assert_array_equal(found, wanted)


def upper_products(a, c):
    for i in range(c.shape[0]):
        for j in range(i, c.shape[0]):
            s = 0.0
            for k in range(a.shape[0]):
                s += a[k, i] * a[k, j]
            c[i, j] = s


@pytest.mark.parametrize("shape", [(7, 33), (1, 1), (20, 16)])
def test_columns_that_begin_at_their_row_have_no_tiles(shape: tuple[int, int]) -> None:
    n, m = shape
    a = np.random.default_rng(n).random((n, m))
    wanted, found = np.zeros((m, m)), np.zeros((m, m))
    upper_products(a, wanted)
    emitted = weft.loops.emit(upper_products, a, wanted)
    assert "shared" not in emitted.text
    run_cuda(emitted, {"a": a, "c": found})
    np.testing.assert_array_equal(found, wanted)

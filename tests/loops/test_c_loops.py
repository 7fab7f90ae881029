"""Loop mode on C: each loop of ``loops.c`` becomes SIMD code with the same results, or is left, with the reason."""

import ctypes
import os
import re
from pathlib import Path

import numpy as np
import pytest

from conformance.runner import passes_checked
from weft.diag.errors import CompileError
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import VectorizedIR, vectorize_ir
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).with_name("loops.c")
LOOPS = re.findall(r"^//: (.*)\nvoid (\w+)\(ARGS\)", SOURCE.read_text(), re.M)
EVERY = bool(os.environ.get("WEFT_FUZZ"))
VECTORIZED = [name for fate, name in LOOPS if fate == "SIMD"]
REFUSED = [(name, fate) for fate, name in LOOPS if fate != "SIMD"]
SIZES = (1, 2, 15, 16, 33, 200)


@pytest.fixture(scope="module")
def text() -> str:
    return compile_c(SOURCE, TargetSpec.chosen().triple)


@pytest.fixture(scope="module")
def original(text: str) -> LoadedCode:
    return load_object(emit_object(text, TargetSpec.chosen()), [name for _, name in LOOPS])


def only(text: str, name: str) -> str:
    """The module without the other functions with a loop."""

    def kept(definition: re.Match[str]) -> str:
        head = definition[0].splitlines()[0]
        return definition[0] if f" @{name}(" in head or head.startswith("define internal") else ""

    return re.sub(r"(?ms)^define .*?^}\n", kept, text)


def run(code: LoadedCode, name: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    arrays = [
        rng.standard_normal(n).astype(np.float32),
        rng.standard_normal(n).astype(np.float32),
        rng.integers(-50, 50, max(2, 2 * n)).astype(np.int32),
        rng.standard_normal(n),
    ]
    function = ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_void_p] * 4)(code.address(name))
    function(n, *(a.ctypes.data for a in arrays))
    return arrays


def vectorized(text: str, name: str, width: int, loop: str = "outermost") -> VectorizedIR:
    return vectorize_ir(only(text, name), name, width=width, loop=loop)


@pytest.mark.parametrize("name", VECTORIZED)
def test_iterations_in_lanes_give_what_the_loop_gives(name: str, text: str, original: LoadedCode) -> None:
    number = VECTORIZED.index(name)
    with passes_checked(EVERY or number // 3 % 4 == 0):
        made = vectorized(text, name, (4, 8, 16)[number % 3])
    assert made.loops == 1, str(made.remarks)
    code = load_object(made.object_code, [name])
    for n in SIZES:
        for got, wanted in zip(run(code, name, n), run(original, name, n), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("name", "reason"), REFUSED)
def test_other_loops_are_left_with_a_remark(name: str, reason: str, text: str, original: LoadedCode) -> None:
    made = vectorized(text, name, 8)
    assert made.loops == 0 and reason in str(made.remarks)
    code = load_object(made.object_code, [name])
    for got, wanted in zip(run(code, name, 20), run(original, name, 20), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_fastmath_allows_float_sums(text: str, original: LoadedCode) -> None:
    made = vectorize_ir(only(text, "float_sum"), "float_sum", width=8, loop="outermost", fastmath=True)
    code = load_object(made.object_code, ["float_sum"])
    assert np.allclose(run(code, "float_sum", 300)[0][0], run(original, "float_sum", 300)[0][0], rtol=1e-4)


def test_annotated_are_those_with_a_pragma(text: str) -> None:
    assert vectorized(text, "omp", 8, "annotated").loops == 1
    assert vectorized(text, "copy", 8, "annotated").loops == 0


def test_naming_a_header_is_a_promise(text: str) -> None:
    made = vectorized(text, "scatters", 8, "for.cond")
    assert made.loops == 1


def test_what_is_derived_from_an_argument_of_its_own_before_a_loop_leads_to_the_same_array(
    tmp_path: Path,
) -> None:
    source = tmp_path / "derived.c"
    source.write_text("""
    void f(int n, int k, int *restrict a, int *restrict out) {
        int *b = a + k;
    #pragma omp simd
        for (int i = 0; i < n; i++) {
            int x = a[i];
            b[i] = x + 1;
            out[i] = a[i];
        }
    }
    """)
    made = vectorize_ir(source, "f", width=4, loop="outermost")
    assert made.loops == 1
    code = load_object(made.object_code, ["f"])
    a, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    function = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    function(code.address("f"))(16, 0, a.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(a, np.arange(16) + 1)
    np.testing.assert_array_equal(out, a)


def test_iterations_that_are_left_over_load_neighbours(tmp_path: Path) -> None:
    """Also those of an `int` that ends at the largest one: beyond the bound it would wrap, in passive lanes."""
    source = tmp_path / "ends.c"
    source.write_text("""
    void f(int first, int last, double *restrict a, double *restrict b) {
        for (int i = first; i < last; i++) b[(long)i - first] = a[(long)i - first + 1] * 3;
    }
    """)
    made = vectorize_ir(source, "f", width=8, loop="auto")
    assert made.loops == 1 and "gather" not in made.text and "scatter" not in made.text
    code = load_object(made.object_code, ["f"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    largest = 2**31 - 1
    for count in (0, 1, 7, 8, 13, 16, 31):
        for first in (-5, 0, largest - count):
            a, b = np.arange(40.0), np.zeros(40)
            function(code.address("f"))(first, first + count, a.ctypes.data, b.ctypes.data)
            np.testing.assert_array_equal(b, np.where(np.arange(40) < count, 3 * (a + 1), 0))


def test_what_is_no_assembly_is_an_error_at_its_place(tmp_path: Path) -> None:
    """LLVM would end the process for it."""
    file = tmp_path / "f.c"
    for word, known in (("incl", True), ("bogus", False)):
        file.write_text(f'void f(int *a) {{\n  asm("{word} %0" : "+r"(a[0]));\n}}\n')
        if known:
            assert "incl" in compile_c(file, "x86_64-linux-gnu")
        else:
            with pytest.raises(CompileError, match=r":2:7: clang: invalid instruction mnemonic 'bogus'"):
                compile_c(file, "x86_64-linux-gnu")

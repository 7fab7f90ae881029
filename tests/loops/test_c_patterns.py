"""Loops of ``patterns.c`` through ``--loop auto``: in the form that remarks name, with the results of the original."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from loops.test_c_loops import only
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SOURCE = Path(__file__).with_name("patterns.c")
LOOPS = re.findall(r"^//: (.*)\nint (\w+)\(", SOURCE.read_text(), re.M)


@pytest.fixture(scope="module")
def text() -> str:
    return compile_c(SOURCE, TargetSpec.chosen().triple)


@pytest.fixture(scope="module")
def original(text: str) -> LoadedCode:
    return load_object(emit_object(text, TargetSpec.chosen()), [name for _, name in LOOPS])


def run(code: LoadedCode, name: str, n: int, value: int) -> tuple[int, list[np.ndarray]]:
    draw = np.random.default_rng(n)
    arrays = [draw.integers(0, 1500, 1000).astype(np.int32), draw.integers(0, 50, 1200).astype(np.int32)]
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * len(arrays), ctypes.c_int)
    kind = function if _takes_two(name) else ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int
    )  # fmt: skip
    given = arrays if _takes_two(name) else arrays[:1]
    return kind(code.address(name))(n, *(a.ctypes.data for a in given), value), arrays


def _takes_two(name: str) -> bool:
    return re.search(rf"int {name}\(.*out,", SOURCE.read_text()) is not None


@pytest.mark.parametrize(("says", "name"), LOOPS, ids=[name for _, name in LOOPS])
def test_results_are_those_of_the_loop_as_written(
    says: str, name: str, text: str, original: LoadedCode
) -> None:
    made = vectorize_ir(only(text, name), name, loop="auto")
    assert re.search(says, "\n".join(r.message for r in made.remarks))
    code = load_object(made.object_code, [name])
    for n in (0, 1, 17, 256, 700, 1000):
        for value in (-1, 0, 7, 1400, 2000):
            before, after = run(original, name, n, value), run(code, name, n, value)
            assert before[0] == after[0]
            for a, b in zip(before[1], after[1], strict=True):
                np.testing.assert_array_equal(a, b)

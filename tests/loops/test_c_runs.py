"""Loops of C over runs go through what kernels and functions of Python go through: the text that LLVM gets is one."""

import ctypes
import functools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from conformance.runner import passes_checked
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import VectorizedIR, vectorize_ir
from weft.machine.host import host
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).with_name("runs.c")
NAMES = re.findall(r"^void (\w+)\(", SOURCE.read_text(), re.M)
N = 45

TEXT = functools.cache(lambda: compile_c(SOURCE, TargetSpec.chosen().triple))
ORIGINALS = functools.cache(lambda: load_object(emit_object(TEXT(), TargetSpec.chosen()), NAMES))

Arguments = tuple[np.ndarray, np.ndarray, int, np.ndarray]


def arguments(name: str) -> Arguments:
    """What a function is called with: runs of all lengths up to 44, some of them empty."""
    x = np.random.default_rng(1).integers(0, 60, 200).astype(np.uint8)
    numbers = np.random.default_rng(2).permutation(N).astype(np.int32)
    numbers[5:8] = 0
    if name == "starts":
        numbers = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int32)
    if name == "places":
        numbers = np.concatenate([[0], np.cumsum(np.bincount(x[:N] & 3, minlength=4))[:-1]]).astype(np.int32)
    return x, numbers, N, np.full(N * N, 255, np.uint8)


def called(address: int, name: str) -> list[list[int]]:
    x, numbers, n, y = arguments(name)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p)
    kind(address)(x.ctypes.data, numbers.ctypes.data, n, y.ctypes.data)
    return [numbers.tolist(), y.tolist()]


def made(name: str, isa: Isa, **options: object) -> VectorizedIR:
    return vectorize_ir(TEXT(), name, loop="auto", target=isa.name, **options)


@pytest.mark.spread
@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
@pytest.mark.parametrize("name", NAMES)
def test_runs_of_c_are_what_they_were(name: str, isa: Isa) -> None:
    """Behind each pass, by the interpreter, and as machine code."""
    with passes_checked(True):
        code = made(name, isa, check_with=arguments(name)).object_code
    if not isa.features <= host().features:
        return
    assert called(load_object(code, [name]).address(name), name) == called(ORIGINALS().address(name), name)


@pytest.mark.parametrize("name", NAMES)
def test_gcc_says_the_same(name: str, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    library = tmp_path / "runs.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    address = ctypes.cast(ctypes.CDLL(str(library))[name], ctypes.c_void_p).value
    assert address is not None
    code = vectorize_ir(TEXT(), name, loop="auto").object_code
    assert called(load_object(code, [name]).address(name), name) == called(address, name)


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512], ids=lambda isa: isa.name)
def test_the_text_of_c_has_what_that_of_kernels_has(isa: Isa) -> None:
    texts = {name: body_of(made(name, isa).text, name) for name in NAMES}
    assert "call void @weft.fill(" in texts["starts"] and "call void @weft.fill(" in texts["pointers"]
    assert "call void @llvm.memmove" in texts["pieces"]
    assert 'asm "", "=r,0"' in texts["places"]
    whole = made("chosen", isa).text
    assert ("@weft.load." in whole) == (isa is not AVX512)


def body_of(text: str, name: str) -> str:
    found = re.search(rf"(?ms)^define [^\n]*@{name}\(.*?^}}", text)
    assert found is not None
    return found[0]


def test_a_library_does_not_call_itself(tmp_path: Path) -> None:
    source = tmp_path / "library.c"
    source.write_text("""
    void *memmove(void *to, const void *from, unsigned long n) {
      for (unsigned long k = 0; k < n; k++) ((char *)to)[k] = ((const char *)from)[k];
      return to;
    }
    void *rows(char *to, const int *at, unsigned long n) {
      for (unsigned long i = 0; i < n; i++) for (int k = at[i]; k < at[i + 1]; k++) to[k] = 0;
      return to;
    }
    """)
    for options in ((), ("-fno-builtin",)):
        for name in ("memmove", "rows"):
            text = vectorize_ir(source, name, loop="auto", clang_options=options).text
            assert name == "rows" or "@llvm.memmove" not in body_of(text, name)
            assert not options or "@llvm.memset" not in body_of(text, name)


def test_loops_of_c_may_be_unrolled() -> None:
    assert "llvm.loop.unroll.disable" not in TEXT()


def test_what_has_been_made_can_be_read_and_made_again() -> None:
    once = made("starts", SSE2).text
    again = vectorize_ir(once, "pieces", loop="auto", target="sse2")
    load_object(again.object_code, ["starts", "pieces"])
    assert again.text.count("define internal void @weft.fill(") == 1

"""How values lie in memory, vectors and aggregates: the same function on the same bytes, interpreted and compiled.

Each function of memory_forms.ll reads one buffer and writes another, which are compared byte for byte.
"""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from weft import interp
from weft.ir.reader import read_module
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

TEXT = (Path(__file__).parent / "memory_forms.ll").read_text()
CASES = re.findall(r"^define void @(\w+)", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def code() -> LoadedCode:
    return load_object(emit_object(TEXT, TargetSpec.chosen()), CASES)


@pytest.fixture(scope="module")
def program() -> interp.Program:
    return interp.Program(read_module(TEXT))


@pytest.mark.parametrize("case", CASES)
def test_interpreted_bytes_equal_compiled_bytes(case: str, code: LoadedCode, program: interp.Program) -> None:
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address(case))
    shown = False
    for seed in range(6):
        source = np.random.default_rng(seed).integers(0, 256, 256).astype(np.uint8)
        want, got = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
        call(source.ctypes.data, want.ctypes.data)
        memory = interp.Memory()
        interp.run_function(
            program, case, [memory.map_array(source), memory.map_array(got)], 1, memory=memory
        )
        assert got.tolist() == want.tolist()
        shown = shown or want.any()
    assert shown, "the case shows nothing"


@pytest.mark.parametrize("case", CASES)
def test_many_threads_do_what_each_does_alone(case: str, program: interp.Program) -> None:
    lanes = 5
    sources = np.random.default_rng(9).integers(0, 256, (lanes, 256)).astype(np.uint8)
    alone, together = np.zeros((lanes, 256), np.uint8), np.zeros((lanes, 256), np.uint8)
    for lane in range(lanes):
        memory = interp.Memory()
        arguments = [memory.map_array(sources[lane]), memory.map_array(alone[lane])]
        interp.run_function(program, case, arguments, 1, memory=memory)
    memory = interp.Memory()
    rows = np.arange(lanes) * 256
    arguments = [memory.map_array(sources) + rows, memory.map_array(together) + rows]
    interp.run_function(program, case, arguments, lanes, memory=memory)
    assert np.array_equal(together, alone)

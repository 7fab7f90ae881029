"""C functions compiled by clang do under the interpreter what they do as machine code.

Every function of tests/ir/c whose parameters are numbers and pointers is called with random numbers and
buffers. The interpreter goes first: what it finds undefined for these arguments is not run as machine code.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError, UnsupportedError
from weft.interp.memory.memory import FIRST_OWN_ADDRESS
from weft.ir.function import Function
from weft.ir.reader import read_module
from weft.ir.types import FloatType, IntType, PointerType, Type
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

# The simple JIT has no thread-local variables, which globals.c uses.
SOURCES = sorted(f for f in (Path(__file__).parents[1] / "ir" / "c").glob("*.c") if f.stem != "globals")
BUFFER = 512
CALLS = 2
# Functions that the files only declare: the interpreter has no code of theirs, so what calls them is not compared.
OUTSIDE = dict.fromkeys(("pure_function", "rare", "stop", "unprototyped"), 1)
LEAST_COMPARED = {"-O0": 180, "-O2": 200}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    found: dict[str, dict[str, str]] = {}
    for level in LEAST_COMPARED:
        folder = tmp_path_factory.mktemp("clang")
        command = [
            sys.executable,
            "-m",
            "ziglang",
            "clang",
            "-S",
            "-emit-llvm",
            "-w",
            level,
            "-fno-vectorize",
            "-ffp-contract=off",
        ]
        subprocess.run([*command, *map(str, SOURCES)], cwd=folder, check=True)
        found[level] = {s.stem: (folder / f"{s.stem}.ll").read_text() for s in SOURCES}
    return found


def ctype(type: Type) -> type | None:
    if isinstance(type, IntType):
        return {
            1: ctypes.c_bool,
            8: ctypes.c_uint8,
            16: ctypes.c_uint16,
            32: ctypes.c_uint32,
            64: ctypes.c_uint64,
        }.get(type.bits)
    if isinstance(type, FloatType):
        return {"float": ctypes.c_float, "double": ctypes.c_double}.get(type.kind)
    if isinstance(type, PointerType):
        return ctypes.c_uint64
    return ctypes.c_int if type.is_void else None


def callable_functions(module: interp.Program) -> list[Function]:
    return [
        f
        for f in module.module.definitions()
        if not f.fn_type.vararg
        and not f.calling_convention
        and ctype(f.fn_type.result) is not None
        and not any(a.startswith(("byval", "sret")) for p in f.args for a in p.attributes)
        and all(ctype(t) is not None and not t.is_void for t in f.fn_type.params)
    ]


def make_buffer(rng: np.random.Generator) -> np.ndarray:
    """Small numbers, as floats or integers, so that they serve as indices and counts too."""
    if rng.random() < 0.3:
        return rng.integers(-8, 9, BUFFER // 4).astype(np.float32).view(np.uint8).copy()
    if rng.random() < 0.3:
        return rng.integers(-8, 9, BUFFER // 8).astype(np.float64).view(np.uint8).copy()
    return rng.integers(0, 12, BUFFER // 4).astype(np.int32).view(np.uint8).copy()


def compare(f: Function, image: interp.Image, code: LoadedCode, rng: np.random.Generator) -> bool:
    """Call a function both ways; False when the interpreter finds the call undefined."""
    buffers: list[np.ndarray] = []
    arguments: list[object] = []
    for type in f.fn_type.params:
        if isinstance(type, PointerType):
            buffers.append(make_buffer(rng))
            arguments.append(image.memory.map_array(buffers[-1]))
        elif isinstance(type, IntType):
            # Short integers stay positive: ctypes does not know which the callee expects sign-extended.
            least = -4 if type.bits >= 32 else 0
            arguments.append(int(rng.integers(least, 12)) & ((1 << type.bits) - 1))
        else:
            arguments.append(float(rng.integers(-20, 20)) / 4)
    before = [b.copy() for b in buffers]
    try:
        outcome = interp.run_function(image, f.name, arguments, 1, step_limit=400)  # type: ignore[arg-type]
    except (InterpError, UnsupportedError):
        return False
    # The same addresses serve both, so that pointers stored in memory are equal.
    after = [b.copy() for b in buffers]
    undefined = []
    for buffer, old in zip(buffers, before, strict=True):
        found = image.memory.find(buffer.ctypes.data)
        assert found is not None
        undefined.append(np.zeros(BUFFER, np.uint8) if found.state is None else found.state)
        image.memory.remove(found)
        buffer[:] = old
    types = [ctype(t) for t in f.fn_type.params]
    native = ctypes.CFUNCTYPE(None if f.fn_type.result.is_void else ctype(f.fn_type.result), *types)
    value = native(code.address(f.name))(*arguments)
    for buffer, mine, state in zip(buffers, after, undefined, strict=True):
        # Addresses of the program's own objects differ.
        own = np.repeat(mine.view(np.uint64) >= FIRST_OWN_ADDRESS, 8) & np.repeat(
            mine.view(np.uint64) < 1 << 57, 8
        )
        assert np.array_equal(mine[(state == 0) & ~own], buffer[(state == 0) & ~own]), (
            f"@{f.name}: memory differs"
        )
    if outcome.value is not None and outcome.flags is None and not f.fn_type.result.is_pointer:
        want = np.array([value], outcome.data.dtype)
        assert np.array_equal(outcome.data, want, equal_nan=want.dtype.kind == "f"), f"@{f.name}{arguments}"
    return True


@pytest.mark.parametrize("level", LEAST_COMPARED)
def test_c_functions_agree_with_machine_code(level: str, texts: dict[str, dict[str, str]]) -> None:
    compared = set()
    for stem, text in texts[level].items():
        image = interp.Image(interp.Program(read_module(text, filename=stem)), interp.Memory())
        rng = np.random.default_rng(7)
        functions = callable_functions(image.program)
        # Only functions with external linkage have addresses.
        data = emit_object(text.replace("define internal ", "define "), TargetSpec.chosen())
        code = load_object(data, [f.name for f in functions], OUTSIDE)
        for f in functions:
            # One after the other, since functions of a file share its global variables.
            if sum(compare(f, image, code, rng) for _ in range(CALLS)):
                compared.add((stem, f.name))
    assert len(compared) >= LEAST_COMPARED[level]

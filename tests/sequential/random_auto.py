"""Random loop nests through ``--loop auto``: ``python -m sequential.random_auto FIRST LAST`` from the folder of tests.

What the transformed function does to memory, and what it returns, is what the function does as it was written: for
arrays that are apart and for arrays that overlap, for sizes of 0 and less, and for loops that count down.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sequential.nests import HEAD, Nest, arguments
from sequential.observer import observe
from weft import interp
from weft.errors import WeftError
from weft.frontend.clang import compile_c
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import SEQUENTIAL, optimize

CALLS = 4
BYTES = 1 << 16
"""Memory on either side of where an array begins."""

MARGIN = 1 << 23
"""Bytes on either side of that, where a run is to be shown to read beyond it."""

OVERLAPS = ((0, 1, 2, 3), (0, 0, 2, 3), (0, 1, 0, 0), (0, 1, 2, 2))
"""Which of four regions each array is in. Elements of b may be indices, and stay small."""

DTYPES = (np.int32, np.int32, np.int16, np.uint8)


def check(first: int, last: int, counts: dict[str, int], width: int | None = 4) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nest.c"
        for seed in range(first, last):
            nest = Nest(seed)
            source = HEAD + nest.text()
            file.write_text(source)
            original = compile_c(file, spec.triple, ["-w", "-fno-strict-aliasing"])
            made = vectorize_ir(original, nest.name, loop="auto", width=width)
            counts["nests"] = counts.get("nests", 0) + 1
            counts["in lanes"] = counts.get("in lanes", 0) + made.loops
            if made.loops:
                wrong = _compare(nest.name, seed, original, made.object_code, counts)
                found += [f"{text}\n{source}" for text in wrong[:1]]
    return found


def _compare(name: str, seed: int, original: str, transformed: bytes, counts: dict[str, int]) -> list[str]:
    spec = TargetSpec.chosen()
    module = read_module(optimize(original, SEQUENTIAL, spec.machine))
    program, function = interp.Program(module), module.functions[name]
    before, after = load_object(emit_object(original, spec), [name]), load_object(transformed, [name])
    found: list[str] = []
    for call in range(CALLS):
        numbers = arguments(seed * CALLS + call)
        if not _is_defined(program, function, numbers, seed):
            counts["undefined"] = counts.get("undefined", 0) + 1
            continue
        for overlap in OVERLAPS:
            draw = np.random.default_rng(seed)
            shift = int(draw.integers(0, 5)) * 4
            memory = np.empty((4, BYTES), np.uint8)
            for region, dtype in zip(memory, DTYPES, strict=True):
                region.view(dtype)[:] = draw.integers(0, 9, BYTES // np.dtype(dtype).itemsize)
            results = [_run(code, name, numbers, memory.copy(), overlap, shift) for code in (before, after)]
            counts["runs"] = counts.get("runs", 0) + 1
            if _differ(*results):
                # Indices that are read from arrays which overlap may lead out of all of them.
                around = [_run_within(before, name, numbers, memory, overlap, shift, fill) for fill in (1, 2)]
                if _differ(*around):
                    counts["undefined"] = counts.get("undefined", 0) + 1
                    continue
                found.append(f"{name} with {numbers}, arrays in regions {overlap}, {shift} bytes apart")
    return found


def _differ(first: tuple[int, np.ndarray], second: tuple[int, np.ndarray]) -> bool:
    return first[0] != second[0] or bool((first[1] != second[1]).any())


def _run_within(
    code: LoadedCode,
    name: str,
    numbers: dict[str, int],
    memory: np.ndarray,
    overlap: tuple[int, ...],
    shift: int,
    fill: int,
) -> tuple[int, np.ndarray]:
    """Run a function on memory that lies between bytes which are all the same."""
    whole = np.full(memory.size + 2 * MARGIN, fill, np.uint8)
    inside = whole[MARGIN : MARGIN + memory.size].reshape(memory.shape)
    inside[:] = memory
    return _run(code, name, numbers, inside, overlap, shift)


def _is_defined(program: interp.Program, function: object, numbers: dict[str, int], seed: int) -> bool:
    draw = np.random.default_rng(seed)
    values: list[object] = [*numbers.values()]
    for dtype in DTYPES:
        size = np.dtype(dtype).itemsize
        values.append((draw.integers(0, 9, 2048 // size * 2).astype(dtype), 2048))
    return observe(program, function, values, {}, numbers) is not None  # type: ignore[arg-type]


def _run(
    code: LoadedCode,
    name: str,
    numbers: dict[str, int],
    memory: np.ndarray,
    overlap: tuple[int, ...],
    shift: int,
) -> tuple[int, np.ndarray]:
    i32, pointer = ctypes.c_int, ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(i32, i32, i32, i32, ctypes.c_uint, ctypes.c_ulong, *[pointer] * 4)
    places = [
        memory[region].ctypes.data + BYTES // 2 + shift * number for number, region in enumerate(overlap)
    ]
    return kind(code.address(name))(*numbers.values(), *places), memory


def main() -> int:
    """Check a range of seeds; 1 if something is wrong."""
    first, last = int(sys.argv[1]), int(sys.argv[2])
    counts: dict[str, int] = {}
    wrong = 0
    begin = time.process_time()
    for seed in range(first, last):
        try:
            texts = check(seed, seed + 1, counts)
        except WeftError as error:
            texts = [f"nest {seed}: {error}"]
        for text in texts:
            wrong += 1
            print(text, flush=True)
    print(counts, f"{wrong} wrong, {time.process_time() - begin:.1f} s")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

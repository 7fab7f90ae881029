"""What random drivers of C loops share: each is compiled, run as it is and in lanes, and what both do is compared."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from msgspec import Struct

from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import VectorizedIR
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

CALLS = 6
LENGTH = 2000
START = 600
"""Where an array begins; indices may be negative."""

OVERLAPS = ((0, LENGTH, 2 * LENGTH), (0, 0, LENGTH), (0, LENGTH, 1), (5, LENGTH, LENGTH + 3))
"""Where a, b and c are in one piece of memory."""


class Drawn(Protocol):
    """A function that is drawn by a seed."""

    name: str

    def text(self) -> str:
        """The function in C."""
        ...


D = TypeVar("D", bound=Drawn)


class Arguments(Struct):
    """What a function is called with.

    Parameters
    ----------
    sizes
        Its numbers.
    memory
        Where its three arrays are.
    """

    sizes: list[int]
    memory: np.ndarray


def compiled(
    first: int, last: int, draw: Callable[[int], D], *flags: str
) -> Iterator[tuple[int, D, str, str]]:
    """The functions of some seeds, each with its source and as clang makes it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nest.c"
        for seed in range(first, last):
            nest = draw(seed)
            source = nest.text()
            file.write_text(source)
            yield seed, nest, source, compile_c(file, TargetSpec.chosen().triple, ["-w", *flags])


def both(nest: str, original: str, made: VectorizedIR) -> list[LoadedCode]:
    """The code of a function as it was written, and in lanes."""
    objects = emit_object(original, TargetSpec.chosen()), made.object_code
    return [load_object(code, [nest]) for code in objects]


def difference(
    seed: int,
    name: str,
    codes: list[LoadedCode],
    draw: Callable[[np.random.Generator], Arguments],
    *,
    apart: bool,
) -> str | None:
    """Where the codes of a function do something else with the same arguments, bit by bit, but for NaNs.

    Arrays overlap in some calls, unless they have to be `apart`.
    """
    generator = np.random.default_rng(seed)
    for call in range(CALLS):
        given = draw(generator)
        starts = OVERLAPS[0 if apart else call % len(OVERLAPS)]
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * len(given.sizes), *[ctypes.c_void_p] * 3)
        results: list[np.ndarray] = []
        for code in codes:
            mine = given.memory.copy()
            pointers = [mine.ctypes.data + mine.itemsize * (START + s) for s in starts]
            kind(code.address(name))(*given.sizes, *pointers)
            results.append(mine)
        first, second = results
        if first.tobytes() != second.tobytes() and not np.array_equal(first, second, equal_nan=True):
            return f"seed {seed}, call {call}, {given.sizes}"
    return None

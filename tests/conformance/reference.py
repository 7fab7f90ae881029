"""Plain Python execution of kernels: the function itself, once per thread, with its names bound to stand-ins.

A kernel and the functions it calls keep their code (but see `conformance.reference_barriers`); only what their
global and closure names mean changes: `cuda`, `math`, `numpy` and the builtin functions become those of the
dialect, arguments become typed scalars and views (`conformance.reference_arrays`). Threads run in order; those
of a group that has barriers take turns (`conformance.reference_threads`).
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.reference_arrays import ReferenceArray, as_argument
from conformance.reference_barriers import as_generator, is_users, plain, waits
from conformance.reference_cuda import Place, ReferenceCuda, positions
from conformance.reference_math import BUILTINS, MATH, ReferenceNumPy
from conformance.reference_threads import run_group

Extents = int | tuple[int, ...]


def run(
    kernel: Callable[..., Any], grid: Extents, block: Extents, args: tuple, dynamic_bytes: int = 0
) -> None:
    """Execute a kernel for every thread of a grid; its array arguments are changed in place."""
    cuda = ReferenceCuda()
    function = _Binder(cuda).bind(kernel)
    arguments = tuple(as_argument(arg) for arg in args)
    grid3, block3 = _three(grid), _three(block)
    meet = waits(kernel)
    with np.errstate(all="ignore"):
        for block_id in positions(grid3):
            shared: dict[Any, np.ndarray] = {}
            places = [
                Place(grid3, block3, block_id, thread_id, shared, dynamic_bytes)
                for thread_id in positions(block3)
            ]

            def enter(number: int, places: list[Place] = places) -> None:
                cuda.place = places[number]

            if meet:
                run_group([function(*arguments) for _ in places], enter)
            else:
                for number in range(len(places)):
                    enter(number)
                    function(*arguments)


def _three(extents: Extents) -> tuple[int, int, int]:
    given = extents if isinstance(extents, tuple) else (extents,)
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


class _Binder:
    """Gives functions new meanings for their names, each function once."""

    def __init__(self, cuda: ReferenceCuda) -> None:
        self._cuda = cuda
        self._numpy = ReferenceNumPy()
        self._bound: dict[types.FunctionType, types.FunctionType] = {}

    def bind(self, function: Any) -> types.FunctionType:
        original = plain(function)
        if original in self._bound:
            return self._bound[original]
        function = as_generator(original) if waits(original) else original
        names: dict[str, Any] = dict(BUILTINS)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        bound = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        self._bound[original] = bound
        for name, value in function.__globals__.items():
            if name in function.__code__.co_names or name == "__builtins__":
                names[name] = self._meaning(name, value)
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._meaning("", old.cell_contents)
        return bound

    def _meaning(self, name: str, value: Any) -> Any:
        value = plain(value)
        if name == "cuda":
            return self._cuda
        if name.startswith("xoroshiro128p_"):
            return getattr(self._cuda.random, name)
        if value is math:
            return MATH
        if value is np:
            return self._numpy
        if isinstance(value, types.BuiltinFunctionType) and getattr(math, value.__name__, None) is value:
            return getattr(MATH, value.__name__)
        if isinstance(value, type) and issubclass(value, np.generic):
            return getattr(self._numpy, value.__name__)
        if isinstance(value, np.ndarray):
            return ReferenceArray.of(value)
        return self.bind(value) if is_users(value) else value

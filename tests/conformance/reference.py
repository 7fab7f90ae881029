"""Plain Python execution of kernels: the function itself, once per thread, with its names bound to stand-ins.

A kernel and the functions it calls keep their code; only what their global and closure names mean changes:
`cuda`, `math`, `numpy` and the builtin functions become those of the dialect, arguments become typed scalars
and views (`conformance.reference_arrays`). Threads run in order; those of a group that has barriers take
turns (`conformance.reference_threads`).
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.reference_arrays import ReferenceArray, as_argument
from conformance.reference_cuda import Place, ReferenceCuda, positions
from conformance.reference_math import BUILTINS, MATH, ReferenceNumPy
from conformance.reference_threads import Group

Extents = int | tuple[int, ...]


def run(
    kernel: Callable[..., Any], grid: Extents, block: Extents, args: tuple, dynamic_bytes: int = 0
) -> None:
    """Execute a kernel for every thread of a grid; its array arguments are changed in place."""
    cuda = ReferenceCuda()
    function = _Binder(cuda).bind(kernel)
    arguments = tuple(as_argument(arg) for arg in args)
    grid3, block3 = _three(grid), _three(block)
    waits = any(name.startswith("sync") for code in _codes(kernel) for name in code.co_names)
    with np.errstate(all="ignore"):
        for block_id in positions(grid3):
            shared: dict[Any, np.ndarray] = {}
            places = [
                Place(grid3, block3, block_id, thread_id, shared, dynamic_bytes=dynamic_bytes)
                for thread_id in positions(block3)
            ]
            if waits:
                _run_group(cuda, function, arguments, places)
            else:
                for place in places:
                    cuda.place = place
                    function(*arguments)


def _run_group(cuda: ReferenceCuda, function: Any, arguments: tuple, places: list[Place]) -> None:
    def body() -> None:
        with np.errstate(all="ignore"):
            function(*arguments)

    def enter(number: int) -> None:
        cuda.place = places[number]

    group = Group([body] * len(places), enter)
    for place in places:
        place.group = group
    group.run()


def _three(extents: Extents) -> tuple[int, int, int]:
    given = extents if isinstance(extents, tuple) else (extents,)
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _plain(function: Any) -> Any:
    """Return the Python function inside a compiled one."""
    return getattr(function, "py_func", function)


def _codes(function: Any, seen: set[types.CodeType] | None = None) -> Iterator[types.CodeType]:
    """Yield the code of a function and of every user function it can reach by name."""
    seen = set() if seen is None else seen
    function = _plain(function)
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    yield function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    for value in map(_plain, cells + named):
        if isinstance(value, types.FunctionType) and _is_users(value):
            yield from _codes(value, seen)


def _is_users(function: types.FunctionType) -> bool:
    return not function.__module__.startswith(("numpy", "weft", "numba"))


class _Binder:
    """Gives functions new meanings for their names, each function once."""

    def __init__(self, cuda: ReferenceCuda) -> None:
        self._cuda = cuda
        self._numpy = ReferenceNumPy()
        self._bound: dict[types.FunctionType, types.FunctionType] = {}

    def bind(self, function: Any) -> types.FunctionType:
        function = _plain(function)
        if function in self._bound:
            return self._bound[function]
        names: dict[str, Any] = dict(BUILTINS)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        bound = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        self._bound[function] = bound
        for name, value in function.__globals__.items():
            if name in function.__code__.co_names or name == "__builtins__":
                names[name] = self._meaning(name, value)
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._meaning("", original.cell_contents)
        return bound

    def _meaning(self, name: str, value: Any) -> Any:
        value = _plain(value)
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
        if isinstance(value, types.FunctionType) and _is_users(value):
            return self.bind(value)
        return value

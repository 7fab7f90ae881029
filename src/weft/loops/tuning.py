"""``weft.jit(brush="auto", tune="measure")``: the brush that is fastest on the arrays of the first call.

The cost model's best few, the innermost loop among them, run on copies of the arguments, in turns; the least time of
each counts. Which one won is kept in the compile cache, for the function, its types, the extents of its arrays, the
machine and the number of threads, so that the next process does not measure. On a terminal a bar shows how far it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from weft.brush import AUTO, Brush, BrushOption, brush_of
from weft.frontend.python.types import KernelType
from weft.jit_options import JitOptions
from weft.loops.compiled import CompiledFunction
from weft.options import Timings
from weft.runtime.cache import CacheEntry, default_cache
from weft.runtime.code_key import code_key
from weft.runtime.settings import get_num_threads
from weft.target.machine import TargetSpec
from weft.tiled_arrays import TiledArray

MEASURE = "measure"
CANDIDATES = 4
"""Brushes of the model that are tried, beside the innermost loop alone."""

SECONDS = 0.2
"""What the measurement of one takes, if one run is not longer."""

_BAR = 20


def tuned(
    function: FunctionType, types: tuple[KernelType, ...], declared: KernelType | None, options: JitOptions,
    args: Sequence[Any],
) -> CompiledFunction:  # fmt: skip
    """The function, compiled with the brush that is fastest on arguments like these; these stay as they are."""
    cache, spec = default_cache(), TargetSpec.chosen()
    key = None if cache is None else code_key("tuned", function, types, options, spec)
    place = f"{get_num_threads()} {list(_extents(args))}"
    known = cache.get(key) if cache is not None and key is not None else None
    winners: dict[str, str] = dict(known.metadata) if known is not None else {}
    if place in winners:
        return _compiled(function, types, declared, options, brush_of(winners[place] or None))
    made = [
        _compiled(function, types, declared, options, brush)
        for brush in _ranked(function, types, declared, options)
    ]
    best = made[0] if len(made) == 1 else _fastest(function.__name__, made, args)
    if cache is not None and key is not None:
        chosen = best.options.brush
        cache.put(key, CacheEntry(b"", {**winners, place: str(chosen) if isinstance(chosen, Brush) else ""}))
    return best


def _compiled(
    function: FunctionType, types: tuple[KernelType, ...], declared: KernelType | None, options: JitOptions,
    brush: BrushOption,
) -> CompiledFunction:  # fmt: skip
    return CompiledFunction(function, types, replace(options, brush=brush, tune=False), declared)


def _ranked(
    function: FunctionType, types: tuple[KernelType, ...], declared: KernelType | None, options: JitOptions
) -> list[BrushOption]:
    """What is tried: the innermost loop alone, and the model's best brushes of several loops."""
    from weft.codegen.brush_choice import is_innermost_only
    from weft.loops.build import lower

    lowered, _, _ = lower(function, types, declared, replace(options, brush=AUTO, tune=False), Timings())
    brushes = [w.brush for w in lowered.weighed if not is_innermost_only(w.brush)]
    return [None, *brushes[:CANDIDATES]]


def _fastest(name: str, made: Sequence[CompiledFunction], args: Sequence[Any]) -> CompiledFunction:
    """Run each on copies, and return the one that took least time in some run."""
    least = [float("inf")] * len(made)
    spent, rounds = 0.0, 0
    while rounds < 3 or spent < SECONDS * len(made):
        for k, compiled in enumerate(made):
            _show(
                name, min(1.0, (rounds + k / len(made)) / 3 if rounds < 3 else spent / (SECONDS * len(made)))
            )
            copies = [_copied(a) for a in args]
            begin = time.perf_counter()
            compiled.call(copies)
            taken = time.perf_counter() - begin
            # The first run finds the pages and fills the caches.
            if rounds:
                least[k] = min(least[k], taken)
            spent += taken
        rounds += 1
    _show(name, None)
    return made[least.index(min(least))]


def _show(name: str, part: float | None) -> None:
    """Show a bar on a terminal, None to take it away."""
    if not sys.stderr.isatty():
        return
    line = "" if part is None else f"{name}: measuring brushes [{'#' * int(part * _BAR):{_BAR}}]"
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _copied(value: Any) -> Any:
    if isinstance(value, TiledArray):
        return value.copy() if value.memory.flags.writeable else value
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable else value
    if isinstance(value, tuple):
        items = [_copied(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _extents(args: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    for value in args:
        if isinstance(value, (np.ndarray, TiledArray)):
            yield value.shape
        elif isinstance(value, tuple):
            yield from _extents(value)

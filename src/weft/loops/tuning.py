"""``weft.jit(tune="measure")``: the width, or with ``brush="auto"`` the brush, that is fastest on the user's arrays.

Of widths all that may pay are tried, one lane among them; of brushes the cost model's best few, and the innermost
loop alone. `weft.runtime.tuning` measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from msgspec.structs import replace

from weft.brush import AUTO, Brush, brush_of
from weft.frontend.python.types import KernelType
from weft.jit_options import JitOptions
from weft.loops.compiled import CompiledFunction
from weft.options import Timings
from weft.runtime.code_key import code_key
from weft.runtime.tuning import Winners, fastest, place_of, widths_to_try
from weft.target.machine import TargetSpec

CANDIDATES = 8
"""Brushes of the model that are tried, beside what runs without one."""


def tuned(
    function: FunctionType, types: tuple[KernelType, ...], options: JitOptions, args: Sequence[Any],
    compiled: Callable[[JitOptions], CompiledFunction],
) -> CompiledFunction:  # fmt: skip
    """The function, compiled in the version that is fastest on arguments like these; these stay as they are."""
    spec = TargetSpec.chosen()
    winners, place = Winners(code_key("tuned", function, types, options, spec)), place_of(args)
    won = winners.at(place)
    if won is not None:
        return compiled(_named(won, options))
    tried = _brushes(function, types, options) if options.brush == AUTO else _widths(options, spec)
    versions = [compiled(one) for one in tried]
    best = 0
    if len(versions) > 1:
        best = fastest(function.__name__, [version.call for version in versions], args)
    winners.put(place, _name(tried[best]))
    return versions[best]


def _widths(options: JitOptions, spec: TargetSpec) -> list[JitOptions]:
    return [replace(options, tune=False, width=width) for width in widths_to_try(spec.isa)]


def _brushes(function: FunctionType, types: tuple[KernelType, ...], options: JitOptions) -> list[JitOptions]:
    """What runs without a brush, one register of a row, which is read most steadily, and the model's best brushes."""
    from weft.codegen.brush_choice import is_of_one_loop
    from weft.loops.build import lower

    lowered, _, _ = lower(function, types, None, replace(options, tune=False), Timings())
    best = [w.brush for w in lowered.weighed]
    rows = sorted((b for b in best if is_of_one_loop(b) and b.extents[-1] > 1), key=lambda b: b.width)
    tried = dict.fromkeys([None, *rows[:1], *best[:CANDIDATES]])
    return [replace(options, tune=False, brush=brush) for brush in tried]


def _name(options: JitOptions) -> str:
    """What a version is called in the cache."""
    return str(options.brush) if isinstance(options.brush, Brush) else str(options.width or "")


def _named(name: str, options: JitOptions) -> JitOptions:
    """The version of that name."""
    if options.brush == AUTO:
        return replace(options, tune=False, brush=brush_of(name or None))
    return replace(options, tune=False, width=int(name) if name else None)

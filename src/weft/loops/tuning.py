"""``weft.jit(tune="measure")``: the width, or with ``brush="auto"`` the brush, that is fastest on the user's arrays.

Of widths all that may pay are tried, one lane among them; of brushes the cost model's best few, and the innermost
loop alone. `weft.runtime.tuning` measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from msgspec.structs import replace

from weft.brush import Brush, brush_of
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
    serving: Callable[[CompiledFunction], CompiledFunction],
) -> CompiledFunction:  # fmt: skip
    """The function, compiled in the version that is fastest on arguments like these; these stay as they are.

    `serving` gives what of a version serves a call with them.
    """
    spec = TargetSpec.chosen()
    winners, place = Winners(code_key("tuned", function, types, options, spec)), place_of(args)
    won = winners.at(place)
    if won is not None:
        return compiled(_named(won, options))
    tried = _brushes(function, types, options) if options.tune == "brushes" else _widths(options, spec)
    versions = [compiled(one) for one in tried]
    best = 0
    if len(versions) > 1:
        best = fastest(function.__name__, [serving(version).call for version in versions], args)
    winners.put(place, _name(tried[best]))
    return versions[best]


def _widths(options: JitOptions, spec: TargetSpec) -> list[JitOptions]:
    """What weft chooses by itself, boxes of nests among it, and the innermost loop in lanes of some widths."""
    return [_of_width(options, width) for width in widths_to_try(spec.isa)]


def _of_width(options: JitOptions, width: int | None) -> JitOptions:
    return replace(options, tune=None, width=width, brush=options.brush if width is None else None)


def _brushes(function: FunctionType, types: tuple[KernelType, ...], options: JitOptions) -> list[JitOptions]:
    """What runs without a brush, one register of a row, which is read most steadily, and the model's best brushes."""
    from weft.codegen.parallel.brush_choice import is_of_one_loop
    from weft.loops.build import lower

    lowered, _, _ = lower(function, types, None, replace(options, tune=None), Timings())
    best = [w.brush for w in lowered.weighed]
    rows = sorted((b for b in best if is_of_one_loop(b) and b.extents[-1] > 1), key=lambda b: b.width)
    tried = dict.fromkeys([None, *rows[:1], *best[:CANDIDATES]])
    return [replace(options, tune=None, brush=brush) for brush in tried]


def _name(options: JitOptions) -> str:
    """What a version is called in the cache."""
    return str(options.brush) if isinstance(options.brush, Brush) else str(options.width or "")


def _named(name: str, options: JitOptions) -> JitOptions:
    """The version of that name."""
    if options.tune == "brushes":
        return replace(options, tune=None, brush=brush_of(name or None))
    return _of_width(options, int(name) if name else None)

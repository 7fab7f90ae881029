"""``cuda.jit(tune="measure")``: the lane group that is fastest on the arrays of the first launch.

Tried are widths, and where work-groups have rows boxes of several of these, which no model chooses for kernels that run
along rows beyond work-groups, but for products of matrices (`weft.codegen.order.boxes`): stencils and transpositions
take 0.3 to 2.7 of the time in them. `weft.runtime.tuning` measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from weft.brush import Brush, brush_of
from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.frontend.python.types import KernelType
from weft.machine.targets import Isa
from weft.runtime.code_key import code_key
from weft.runtime.shape import LaunchShape
from weft.runtime.tuning import Winners, fastest, place_of, widths_to_try
from weft.target.machine import TargetSpec


def tuned(
    source: KernelSource, types: tuple[KernelType, ...], shape: LaunchShape, args: Sequence[Any],
    serving: Callable[[CompiledKernel, LaunchShape, tuple[Any, ...]], CompiledKernel],
) -> CompiledKernel:  # fmt: skip
    """The kernel in the lane groups that are fastest for launches like this one; `args` stay as they are.

    `serving` gives the specialization of a version that serves a launch.
    """
    spec = TargetSpec.chosen()
    key = code_key("tuned kernel", source.function, types, source.options, spec)
    winners, place = Winners(key), place_of(args, shape.grid, shape.block, shape.dynamic_bytes)
    won = winners.at(place)
    if won is not None:
        return _compiled(source, types, _named(won))
    tried = [*widths_to_try(spec.isa), *_boxes(spec.isa, shape)]
    versions = [_compiled(source, types, one) for one in tried]

    def launches(version: CompiledKernel) -> Callable[[Sequence[Any]], object]:
        def launch(copies: Sequence[Any]) -> None:
            values = tuple(copies)
            serving(version, shape, values).launcher.launch(shape, values, checked=True)

        return launch

    best = fastest(source.name, [launches(version) for version in versions], args)
    winners.put(place, str(tried[best] or ""))
    return versions[best]


def _boxes(isa: Isa, shape: LaunchShape) -> list[Brush]:
    """Four rows of a register of 32-bit values, and two of two, where work-groups have as much."""
    register = isa.lanes(32)
    wide, high, _ = shape.block
    boxes = [(4, register), (2, 2 * register)]
    made = (brush_of(extents) for extents in boxes if extents[0] <= high and extents[1] <= wide)
    return [brush for brush in made if isinstance(brush, Brush)]


def _named(name: str) -> Brush | int | None:
    """What a version is called in the cache: its box, its width, or nothing for what weft chooses."""
    if name.isdigit():
        return int(name)
    brush = brush_of(name or None)
    return brush if isinstance(brush, Brush) else None


def _compiled(
    source: KernelSource, types: tuple[KernelType, ...], lanes: Brush | int | None
) -> CompiledKernel:
    brush = lanes if isinstance(lanes, Brush) else None
    width = lanes if isinstance(lanes, int) else None
    return CompiledKernel(replace(source, options=replace(source.options, width=width, brush=brush)), types)

"""``cuda.jit(tune="measure")``: the width that is fastest on the arrays of the first launch (`weft.runtime.tuning`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.frontend.python.types import KernelType
from weft.runtime.code_key import code_key
from weft.runtime.shape import LaunchShape
from weft.runtime.tuning import Winners, fastest, place_of, widths_to_try
from weft.target.machine import TargetSpec


def tuned(
    source: KernelSource, types: tuple[KernelType, ...], shape: LaunchShape, args: Sequence[Any],
    serving: Callable[[CompiledKernel, LaunchShape, tuple[Any, ...]], CompiledKernel],
) -> CompiledKernel:  # fmt: skip
    """The kernel in lane groups of the width that is fastest for launches like this one; `args` stay as they are.

    `serving` gives the specialization of a version that serves a launch.
    """
    spec = TargetSpec.chosen()
    key = code_key("tuned kernel", source.function, types, source.options, spec)
    winners, place = Winners(key), place_of(args, shape.grid, shape.block, shape.dynamic_bytes)
    won = winners.at(place)
    if won is not None:
        return _compiled(source, types, int(won) if won else None)
    widths = widths_to_try(spec.isa)
    versions = [_compiled(source, types, width) for width in widths]

    def launches(version: CompiledKernel) -> Callable[[Sequence[Any]], object]:
        def launch(copies: Sequence[Any]) -> None:
            values = tuple(copies)
            serving(version, shape, values).launcher.launch(shape, values, checked=True)

        return launch

    best = fastest(source.name, [launches(version) for version in versions], args)
    winners.put(place, str(widths[best] or ""))
    return versions[best]


def _compiled(source: KernelSource, types: tuple[KernelType, ...], width: int | None) -> CompiledKernel:
    return CompiledKernel(replace(source, options=replace(source.options, width=width)), types)

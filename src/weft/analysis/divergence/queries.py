"""Shapes of what a thread is told of its place in the grid, and of functions without effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.divergence.threads import Scope
from weft.analysis.shapes import Shape
from weft.ir import Value
from weft.ir.work_item_names import Meaning

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine


def like(engine: Engine, result: Value, *operands: Shape) -> Shape:
    """Uniform along the dimensions in which all operands are, varying along the others."""
    domain = engine.threads.domain
    strides = tuple(
        0 if all(o.strides[dim] == 0 for o in operands) else None for dim in range(len(domain.extents))
    )
    return domain.strided(strides, engine.bits(result))


def query_shape(engine: Engine, value: Value, meaning: Meaning, dimension: int | None) -> Shape:
    """What a thread is told of its place in the grid.

    A vector of ids (a variable of SPIR-V) varies if one of its members does.
    """
    threads, bits = engine.threads, engine.bits(value)
    match meaning:
        case Meaning.LOCAL_ID | Meaning.GLOBAL_ID if not bits:
            return engine.varying(value)
        case Meaning.LOCAL_ID:
            return threads.local_id(dimension, bits)
        case Meaning.GLOBAL_ID:
            return threads.global_id(dimension, bits)
        case Meaning.GROUP_ID:
            return threads.group_id(bits)
        case Meaning.LANE_ID:
            return threads.lane_id(bits)
        case Meaning.LANE_COORDINATE:
            return threads.lane_coordinate(dimension, bits)
        case Meaning.LOCAL_SIZE | Meaning.NUM_GROUPS | Meaning.NUM_LANES | Meaning.GRID_UNIFORM:
            return engine.uniform(value)
        case Meaning.GROUP_UNIFORM:
            return same_for_group(engine, value)
        case Meaning.LANES_UNIFORM if threads.scope is Scope.LANES:
            return engine.uniform(value)
        case _:
            return engine.varying(value)


def same_for_group(engine: Engine, value: Value) -> Shape:
    """One value in a work-group, another one in the next."""
    return engine.varying(value) if engine.threads.scope is Scope.GRID else engine.uniform(value)

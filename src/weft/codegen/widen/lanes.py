"""Lane space and vector types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from weft.ir import ConstAggregate, ConstInt, ConstSplat
from weft.ir.constants import TRUE, Constant
from weft.ir.types import I1, IntType, Type, VectorType


class LaneSpace(Struct, frozen=True):
    """The lanes of a group as points of a box; lane t has coordinates counted from dimension 0 upwards.

    Parameters
    ----------
    extents
        Lanes along each dimension.
    axes
        What each dimension runs along: 0, 1 and 2 are x, y and z of a work-group, or the loops of a nest from the
        outermost on. Empty where dimensions are axes. Nothing behind the places where positions are made asks for it.
    """

    extents: tuple[int, ...]
    axes: tuple[int, ...] = ()

    def along(self, dimension: int) -> int:
        """The axis that a dimension runs along."""
        return self.axes[dimension] if self.axes else dimension

    def by_axis(self, axes: int) -> list[int]:
        """Lanes along each of so many axes; 1 where no dimension runs."""
        found = [1] * axes
        for dimension, extent in enumerate(self.extents):
            found[self.along(dimension)] = extent
        return found

    @property
    def width(self) -> int:
        """How many lanes there are, W."""
        return prod(self.extents)

    @property
    def steps(self) -> tuple[int, ...]:
        """How many lanes further on the neighbour along each dimension is."""
        return tuple(prod(self.extents[:d]) for d in range(len(self.extents)))

    def coordinate(self, lane: int, dimension: int) -> int:
        """Where a lane stands along a dimension."""
        return lane // prod(self.extents[:dimension]) % self.extents[dimension]

    def at_origin(self, lane: int, dimensions: Sequence[int]) -> int:
        """The lane at coordinate 0 of the dimensions, and where `lane` is along the others."""
        return lane - sum(self.steps[d] * self.coordinate(lane, d) for d in dimensions)

    def offsets(self, strides: Sequence[int]) -> list[int]:
        """The distance of each lane's value from lane 0's, for a value with the strides."""
        result = [0]
        for extent, stride in zip(self.extents, strides, strict=True):
            result = [stride * at + before for at in range(extent) for before in result]
        return result

    def vector(self, type: Type) -> VectorType:
        """The type of a varying value of scalar type `type`."""
        return VectorType(type, self.width)

    def constant(self, type: IntType, values: Sequence[int]) -> Constant:
        """A vector constant of integers, one for each lane."""
        if len(set(values)) == 1:
            return ConstSplat(self.vector(type), ConstInt(type, values[0]))
        return ConstAggregate(self.vector(type), [ConstInt(type, v) for v in values])

    def splat(self, value: Constant) -> Constant:
        """A constant in all lanes."""
        return ConstSplat(self.vector(value.type), value)

    @property
    def all_lanes(self) -> Constant:
        """The mask of all lanes."""
        return ConstSplat(self.vector(I1), TRUE)

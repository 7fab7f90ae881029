"""The set of threads that a divergence analysis compares, and what its threads know of themselves."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from weft.analysis.shapes import Domain, Product, Shape


class Scope(StrEnum):
    """In which set of threads something is uniform."""

    LANES = "lanes"
    """A lane group: W neighbours along the SIMD dimension, or W consecutive linear ids."""
    GROUP = "group"
    """A work-group."""
    GRID = "grid"
    """All threads of a launch."""


class ThreadSet(Struct, frozen=True):
    """A set of threads and its lane space.

    Parameters
    ----------
    scope
        Which threads.
    domain
        The shape lattice; its extents are the lane space. In `Scope.GROUP` a lane space of three dimensions is that of
        the ids x, y, z; any other says nothing of ids.
    dimension
        In `Scope.LANES`: lanes differ in their id along this dimension and agree in the others. Lane groups begin
        at multiples of W along it. None: they have consecutive linear ids ``x + bx * (y + by * z)``. With a lane space
        of several dimensions these are those of the ids, and lane groups begin at multiples of the extents.
    """

    scope: Scope
    domain: Domain
    dimension: int | None = 0

    @classmethod
    def lanes(cls, width: int | None, dimension: int | None = 0) -> ThreadSet:
        """A lane group of `width` lanes under the full product of lattices."""
        return cls(Scope.LANES, Product((width,)), dimension)

    @classmethod
    def group(cls) -> ThreadSet:
        """A work-group, under the full product of lattices."""
        return cls(Scope.GROUP, Product((None, None, None)))

    @property
    def width(self) -> int | None:
        """Lanes of a lane group, where that is known."""
        return self.domain.extents[0] if self.scope is Scope.LANES and len(self.domain.extents) == 1 else None

    def local_id(self, dimension: int | None, bits: int) -> Shape:
        """The id of a thread in its work-group; `dimension` is None when it is not known."""
        domain = self.domain
        if dimension is None:
            return domain.varying(bits)
        if self.scope is Scope.GROUP and len(domain.extents) == 3:
            return domain.lane_id(dimension, bits) if dimension < 3 else domain.constant(bits, 0)
        if self.scope is Scope.LANES and len(domain.extents) > 1:
            if dimension >= len(domain.extents):
                return domain.uniform(bits)
            unit = tuple(int(d == dimension) for d in range(len(domain.extents)))
            return domain.strided(unit, bits, _power_of_two(domain.extents[dimension]))
        if self.scope is Scope.LANES and self.dimension is not None:
            if dimension != self.dimension:
                return domain.uniform(bits)
            return domain.strided(1, bits, _power_of_two(self.width))
        return domain.varying(bits)

    def global_id(self, dimension: int | None, bits: int) -> Shape:
        """The id of a thread in the grid, an offset added."""
        local = self.local_id(dimension, bits)
        if self.scope is Scope.GRID or not local.is_strided:
            return self.domain.varying(bits)
        # The group's first id and the offset are uniform; whether the sum keeps lanes aligned is not known.
        return self.domain.strided(local.strides, bits)

    def group_id(self, bits: int) -> Shape:
        """The id of a thread's work-group."""
        return self.domain.varying(bits) if self.scope is Scope.GRID else self.domain.uniform(bits)

    def lane_id(self, bits: int) -> Shape:
        """The position of a thread in its lane group: lanes are counted from dimension 0 upwards."""
        if self.scope is not Scope.LANES:
            return self.domain.varying(bits)
        steps, before = [], 1
        for extent in self.domain.extents:
            steps.append(before)
            if extent is None and len(steps) < len(self.domain.extents):
                return self.domain.varying(bits)
            before *= extent or 1
        return self.domain.strided(tuple(steps), bits, 0)

    def lane_coordinate(self, dimension: int | None, bits: int) -> Shape:
        """The place of a thread in the box that its lane group is, along a dimension."""
        if self.scope is not Scope.LANES or dimension is None:
            return self.domain.varying(bits)
        if dimension >= len(self.domain.extents):
            return self.domain.constant(bits, 0)
        return self.domain.lane_id(dimension, bits)


def _power_of_two(extent: int | None) -> int:
    """The extent if lane groups that begin at its multiples begin at multiples of a power of two, else 1."""
    return extent if extent and extent & (extent - 1) == 0 else 1

"""The set of threads that a divergence analysis compares, and what its threads know of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from weft.analysis.shapes import Domain, Product, Shape


class Scope(StrEnum):
    """In which set of threads something is uniform."""

    LANES = "lanes"
    """A lane group: W neighbours along the SIMD dimension, or W consecutive linear ids."""
    GROUP = "group"
    """A work-group."""
    GRID = "grid"
    """All threads of a launch."""


@dataclass(frozen=True, slots=True)
class ThreadSet:
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
        at multiples of W along it. None: they have consecutive linear ids ``x + bx * (y + by * z)``.
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
        if self.scope is Scope.LANES and self.dimension is not None:
            if dimension != self.dimension:
                return domain.uniform(bits)
            return domain.strided(1, bits, self._alignment)
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
        """The position of a thread in its lane group."""
        if self.scope is Scope.LANES and len(self.domain.extents) == 1:
            return self.domain.lane_id(0, bits)
        return self.domain.varying(bits)

    @property
    def _alignment(self) -> int:
        width = self.width
        return width if width and width & (width - 1) == 0 else 1

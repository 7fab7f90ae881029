"""The reduced product of the stride-alignment and the affine lattice."""

from __future__ import annotations

from weft.analysis.shapes.domain import ShapeDomain
from weft.analysis.shapes.shape import Shape


class Product(ShapeDomain):
    """All claims: strides that are numbers or symbolic, and any known low bits of the base.

    * **Elements, ⊥, ⊤, order, join, height, concretization**: `lattice` and `shape`.
    * **Reduction**: an element is canonical, so what one component proves is there for the other. That a
      comparison is uniform by alignment makes the select over it the join of two affine arms; the known low bits of
      an affine base with a symbolic stride make ``(row * n + 8 * k) & 7`` uniform.
    * **Transfer**: `transfer` itself, at least as precise as the meet of both components' results.
    """

    name = "product"

    def project(self, shape: Shape, bits: int) -> Shape:
        return shape

"""The affine lattice of degree one (Sampaio, Souza, Collange, Pereira §3.4), in machine integers."""

from __future__ import annotations

from weft.analysis.shapes.domain import ShapeDomain
from weft.analysis.shapes.shape import Shape


class Affine(ShapeDomain):
    """c₁·lane + c₀ with coefficients that are constants or uniform values known at run time.

    * **Elements**: ⊥; per dimension c₁ a number, or `SYMBOLIC` (a uniform value: the paper's symbolic part, which it
      has for c₀ only), or none; c₀ a constant or unknown.
    * **⊥** no value (the paper's ⊤); **⊤** no affine form (the paper's ⊥).
    * **Order**: number ⊑ symbolic ⊑ none, constant ⊑ unknown, per coefficient (Fig. 12).
    * **Join**: per coefficient; two different numbers are symbolic, since one of them it is in all lanes.
    * **Height** 2d + 6 for d dimensions.
    * **Concretization**: `shape` with no known bits of the base, or all.
    * **Transfer**: `transfer`, with partly known bases made unknown. Exactness stands in for what the paper leaves
      out, that its arithmetic is on integers that never wrap.
    """

    name = "affine"

    def project(self, shape: Shape, bits: int) -> Shape:
        if shape.known_bits == bits or not shape.known_bits:
            return shape
        return Shape(shape.strides, 0, 0, shape.nsw, shape.nuw)

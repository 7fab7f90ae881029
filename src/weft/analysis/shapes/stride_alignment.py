"""The stride-alignment lattice (Moll, ch. 10), in machine integers."""

from __future__ import annotations

from weft.analysis.shapes.domain import ShapeDomain
from weft.analysis.shapes.lattice import weaken
from weft.analysis.shapes.shape import SYMBOLIC, Shape


class StrideAlignment(ShapeDomain):
    """Strides that are numbers, and low bits of the base.

    * **Elements**: ⊥; (s, a) per dimension, s an n-bit number; and a, a varying value. The alignment is kept as
      "the base is r modulo 2^k": Moll's (s, a) is r = 0 and 2^k the power of two in a, his (s, 0) a base that is
      constant, k = n. That the base be r, not 0, costs nothing and keeps what `x + 1` does to an aligned x.
    * **⊥** no value, **⊤** varying with alignment 1.
    * **Order**: (s, a) ⊑ (s, a') if a' divides a; (s, a) ⊑ a' if a' divides gcd(s, a); a ⊑ a' if a' divides a.
    * **Join**: equal strides stay, different ones are varying; the low bits on which both agree.
    * **Height** d + n + 5 for d dimensions: ⊥, a step a dimension, n known bits, two levels of exactness twice.
    * **Concretization**: `shape`, without symbolic strides.
    * **Transfer**: `transfer`, with strides that only run time knows made varying.
    """

    name = "stride-alignment"

    def project(self, shape: Shape, bits: int) -> Shape:
        if SYMBOLIC not in shape.strides:
            return shape
        return weaken(shape, tuple(None if s is SYMBOLIC else s for s in shape.strides))

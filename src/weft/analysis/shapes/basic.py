"""The basic divergence lattice: ⊥ < uniform < varying, in each dimension (Moll §6.1; Karrenberg and Hack §3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes.application import Fact
from weft.analysis.shapes.domain import ShapeDomain
from weft.analysis.shapes.lattice import join
from weft.analysis.shapes.shape import BOTTOM, WRAPS, Shape


class Basic(ShapeDomain):
    """Uniform or varying.

    * **⊥**: no value. **⊤**: varying.
    * **Order** ⊥ ⊑ uniform ⊑ varying; **join** the greater; **height** d + 1 for d dimensions.
    * **Concretization**: uniform holds the vectors with one value in all active lanes, varying all vectors.
    * **Transfer** ([DA-UARITH], [DA-DARITH]): uniform if all operands are; a φ and a select over a uniform condition
      are the join, which is the same.
    """

    name = "basic"

    def project(self, shape: Shape, bits: int) -> Shape:
        if shape.is_bottom:
            return BOTTOM
        if shape.is_uniform:
            return Shape(shape.strides)
        return Shape(tuple(0 if s == 0 else None for s in shape.strides), 0, 0, WRAPS, WRAPS)

    def transfer(
        self,
        op: str,
        flags: Iterable[str],
        bits: int,
        operands: Sequence[Fact],
        predicate: str | None = None,
        *,
        scales: tuple[int, ...] = (),
        offset: int = 0,
        bounds: Interval | None = None,
    ) -> Shape:
        shapes = [fact.shape for fact in operands if fact.shape.strides]
        if not shapes if op == "phi" else len(shapes) < len(operands):
            return BOTTOM
        differing = [shape for shape in shapes if not shape.is_uniform]
        return self.project(reduce(join, differing), bits) if differing else Shape(self._zeros)

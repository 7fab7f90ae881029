"""Shape lattices: how the values of an instruction in the lanes of a group are related.

A `Domain` is a lattice over a lane space; `Basic`, `StrideAlignment`, `Affine` and their reduced product `Product`
are four. All use `Shape` as elements. Nothing here knows the classes of the IR: a transfer function takes an
opcode's name, flags, widths and `Fact`s about operands.
"""

from functools import lru_cache

from weft.analysis.shapes.affine import Affine
from weft.analysis.shapes.application import Fact
from weft.analysis.shapes.arguments import ArgumentShape, Signature, parse_args
from weft.analysis.shapes.basic import Basic
from weft.analysis.shapes.domain import Domain, ShapeDomain
from weft.analysis.shapes.lattice import Extents
from weft.analysis.shapes.product import Product
from weft.analysis.shapes.shape import ACTIVE, BASE, BOTTOM, SYMBOLIC, WRAPS, Shape, Stride
from weft.analysis.shapes.stride_alignment import StrideAlignment

DOMAINS: dict[str, type[ShapeDomain]] = {
    kind.name: kind for kind in (Basic, StrideAlignment, Affine, Product)
}


@lru_cache(maxsize=64)
def domain_named(name: str, extents: Extents) -> ShapeDomain:
    """The lattice of that name over a lane space; one object for each, so that its cached results are shared."""
    return DOMAINS[name](extents)


__all__ = [
    "Domain", "ShapeDomain", "DOMAINS", "domain_named", "Basic", "StrideAlignment", "Affine", "Product",
    "Shape", "Stride", "Extents", "Fact", "BOTTOM", "SYMBOLIC", "WRAPS", "ACTIVE", "BASE",
    "ArgumentShape", "Signature", "parse_args",
]  # fmt: skip

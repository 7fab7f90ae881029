"""The shapes form lattices: order, join, meet, projections, height; transfer functions are monotone."""

from __future__ import annotations

import os
import random

import pytest

from analysis.lanewise import BINARY, FLAGS, PREDICATES
from analysis.shape_vectors import all_shapes, members, random_shape, vectors
from weft.analysis.shapes import (
    BOTTOM,
    DOMAINS,
    SYMBOLIC,
    Affine,
    Basic,
    Extents,
    Fact,
    Product,
    Shape,
    ShapeDomain,
    StrideAlignment,
)
from weft.analysis.shapes.lattice import make

SAMPLES = 50_000 if "WEFT_FUZZ" in os.environ else 2_000
SPACES: list[Extents] = [(2,), (4,), (None,), (2, 2), (4, 2), (4, None)]
EACH = list(DOMAINS.values())


def element(rng: random.Random, domain: ShapeDomain, bits: int) -> Shape:
    if rng.random() < 0.05:
        return BOTTOM
    strides = tuple(random_shape(rng, bits, 4).strides[0] for _ in domain.extents)
    known, residue = rng.choice([0, 1, 2, bits]), rng.choice([0, rng.randrange(1 << bits)])
    shape = make(domain.extents, bits, strides, residue, known, rng.randint(0, 2), rng.randint(0, 2))
    return domain.project(shape, bits)


@pytest.mark.parametrize("kind", EACH)
def test_join_is_a_least_upper_bound(kind: type[ShapeDomain]) -> None:
    rng = random.Random(kind.name)
    for _ in range(SAMPLES):
        domain = kind(rng.choice(SPACES))
        a, b, c = (element(rng, domain, 4) for _ in range(3))
        upper = domain.join(a, b)
        assert upper == domain.join(b, a)
        assert domain.join(a, a) == a
        assert domain.leq(a, upper) and domain.leq(b, upper)
        assert domain.join(upper, c) == domain.join(a, domain.join(b, c))
        above = domain.join(upper, c)
        assert domain.leq(upper, above), "below every other upper bound"
        assert domain.leq(BOTTOM, a)
        assert domain.leq(a, domain.varying(4))


@pytest.mark.parametrize("kind", EACH)
def test_order_is_partial(kind: type[ShapeDomain]) -> None:
    rng = random.Random(kind.name)
    for _ in range(SAMPLES):
        domain = kind(rng.choice(SPACES))
        a, b = element(rng, domain, 4), element(rng, domain, 4)
        c = domain.join(b, element(rng, domain, 4))
        if domain.leq(a, b) and domain.leq(b, a):
            assert a == b
        if domain.leq(a, b):
            assert domain.leq(a, c)


def test_order_is_inclusion_of_vectors() -> None:
    rng = random.Random(8)
    domain, bits = Product((4,)), 4
    for _ in range(SAMPLES // 4):
        a = element(rng, domain, bits)
        b = rng.choice([element(rng, domain, bits), domain.join(a, element(rng, domain, bits))])
        if a.is_bottom or b.is_bottom or not domain.leq(a, b):
            continue
        assert members(b, *vectors(a, bits, 4), bits).all(), (a, b)


def test_distinct_canonical_shapes_have_distinct_vectors_or_differ_in_exactness() -> None:
    seen: dict[bytes, Shape] = {}
    for shape in all_shapes(3, 2):
        values, active = vectors(shape, 3, 2)
        full = values[active.all(axis=1)]
        key = b"".join(sorted(row.tobytes() for row in full))
        other = seen.setdefault(key, shape)
        if (
            len(full)
            and (other.nsw, other.nuw) == (shape.nsw, shape.nuw)
            and other.known_bits == shape.known_bits
        ):
            assert other == shape


@pytest.mark.parametrize("kind", EACH)
def test_projection_is_the_least_element_above(kind: type[ShapeDomain]) -> None:
    rng = random.Random(kind.name)
    for _ in range(SAMPLES):
        product = Product(rng.choice(SPACES))
        domain = kind(product.extents)
        shape = element(rng, product, 4)
        projected = domain.project(shape, 4)
        assert product.leq(shape, projected)
        assert domain.project(projected, 4) == projected
        other = element(rng, domain, 4)
        assert product.leq(shape, other) <= product.leq(projected, other)


def test_meet_keeps_the_claims_of_both() -> None:
    rng = random.Random(9)
    for _ in range(SAMPLES):
        domain = Product(rng.choice(SPACES))
        a = element(rng, domain, 5)
        b = rng.choice([domain.join(a, element(rng, domain, 5)), domain.varying(5), domain.varying(5, 4)])
        both = domain.meet(a, b, 5)
        assert domain.leq(both, domain.join(a, b))
        assert [s for s in both.strides if s is not None] == [s for s in a.strides if s is not None]
    wide = Product((8,))
    assert wide.meet(wide.strided(1), wide.varying(64, 1), 64) == wide.strided(1)
    assert wide.meet(wide.uniform(64), wide.uniform(64, 16), 64) == wide.uniform(64, 16)


def test_ascending_chains_are_short() -> None:
    rng = random.Random(10)
    for _ in range(SAMPLES // 10):
        domain = Product(rng.choice(SPACES))
        bits = 16
        current, steps = BOTTOM, 0
        while current != domain.varying(bits) and steps < 1000:
            above = domain.join(current, element(rng, domain, bits))
            steps += above != current
            current = above
        assert steps <= 2 * len(domain.extents) + bits + 5


@pytest.mark.parametrize("kind", [Basic, StrideAlignment, Affine, Product])
def test_transfer_functions_are_monotone(kind: type[ShapeDomain]) -> None:
    """On 16 bits with small numbers, so that no stride leaves the range of the type.

    Where one does, a shape with a symbolic stride can keep an exactness that the number cannot express.
    """
    bits = 16
    rng = random.Random(kind.name)
    for _ in range(2 * SAMPLES):
        domain = kind(rng.choice([(2,), (4,), (8,), (None,), (2, 2)]))
        op = rng.choice([*BINARY, "icmp", "icmp", "zext", "sext", "trunc", "abs", "freeze"])

        def operand(domain: ShapeDomain = domain, op: str = op) -> Shape:
            if rng.random() < 0.5:
                negative = [] if op == "mul" else [-1, -8]
                value = rng.choice([rng.randrange(9), 1 << rng.randrange(4), *negative])
                return domain.constant(bits, value)
            strides = tuple(rng.choice([0, 1, 2, 4, 8, -1, 3, None, SYMBOLIC]) for _ in domain.extents)
            known, residue = rng.choice([0, 1, 2, 3, bits]), rng.choice([0, rng.randrange(8)])
            levels = rng.randint(0, 2), rng.randint(0, 2)
            return domain.project(make(domain.extents, bits, strides, residue, known, *levels), bits)

        flags = rng.choice(FLAGS.get(op, [()]))
        out = {"zext": 32, "sext": 32, "trunc": 10, "icmp": 1}.get(op, bits)
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        lower = [operand() for _ in range(1 if out > bits or op in ("trunc", "abs", "freeze") else 2)]
        upper = [rng.choice([shape, domain.join(shape, operand())]) for shape in lower]
        low, high = (
            domain.transfer(op, flags, out, [Fact(s, bits) for s in shapes], predicate)
            for shapes in (lower, upper)
        )
        assert domain.leq(low, high), (domain.extents, op, flags, predicate, lower, upper, low, high)


def test_bottom_operands_give_bottom_except_at_a_phi() -> None:
    domain = Product((4,))
    one = Fact(domain.constant(32, 1), 32)
    nothing = Fact(BOTTOM, 32)
    assert domain.transfer("add", (), 32, [one, nothing]) == BOTTOM
    assert domain.transfer("phi", (), 32, [one, nothing]) == one.shape


def test_a_phi_of_different_strides_is_symbolic_only_where_the_lattice_has_that() -> None:
    for domain, expected in (
        (Product((8,)), "affine"),
        (Affine((8,)), "affine"),
        (StrideAlignment((8,)), "varying"),
    ):
        shape = domain.join(domain.strided(4, 64, 8), domain.strided(8, 64, 8))
        assert shape.class_name == expected
    assert Product((8,)).join(domain.strided(4, 64, 8), domain.strided(8, 64, 8)).alignment == 4


def test_lattices_form_a_hierarchy_of_precision() -> None:
    extents = (8,)
    basic, sa, affine, product = (kind(extents) for kind in EACH)
    tid = product.lane_id()
    assert basic.lane_id() == basic.varying()
    assert sa.lane_id() == affine.lane_id() == tid
    assert affine.strided(1, 64, 8).alignment == 1
    assert sa.strided(1, 64, 8).alignment == product.strided(1, 64, 8).alignment == 8
    assert sa.project(product.strided((SYMBOLIC,), 64, 4), 64) == sa.varying(64, 4)

"""Transfer functions of shapes are sound: enumerated on small integers, sampled on wide ones and in two dimensions.

A vector of lane values under a mask goes through the opcode lane by lane; lanes with poison leave the mask; what
remains must be in the concretization of the shape that the transfer function gives.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.lanewise import BINARY, FLAGS, PREDICATES, UNARY, evaluate, signed
from analysis.shape_vectors import all_shapes, members, random_shape, vectors
from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes import SYMBOLIC, Affine, Fact, Product, Shape, ShapeDomain, StrideAlignment
from weft.analysis.shapes.lattice import make

FUZZ = "WEFT_FUZZ" in os.environ
SAMPLES = 40_000 if FUZZ else 300
COMBINATIONS = 256


def result_bits(op: str, bits: int) -> int:
    return {"zext": bits + 2, "sext": bits + 2, "trunc": bits - 1, "icmp": 1}.get(op, bits)


def assert_sound(
    domain: ShapeDomain,
    rng: np.random.Generator,
    op: str,
    flags: tuple[str, ...],
    bits: int,
    shapes: Sequence[Shape],
    predicate: str | None = None,
    ranges: Sequence[Interval | None] = (None, None),
) -> None:
    width = domain.extents[0]
    assert width is not None
    batches = [vectors(shape, bits, width) for shape in shapes]
    if not all(len(values) for values, _ in batches):
        return
    sizes = [len(values) for values, _ in batches]
    if np.prod(sizes) <= COMBINATIONS:
        rows = [grid.ravel() for grid in np.indices(sizes)]
    else:
        rows = [rng.integers(0, size, COMBINATIONS) for size in sizes]
    lanes = [values[row] for (values, _), row in zip(batches, rows, strict=True)]
    active = np.logical_and.reduce([mask[row] for (_, mask), row in zip(batches, rows, strict=True)])
    for values, bounds in zip(lanes, ranges, strict=False):
        if bounds is not None:
            read = signed(values, bits)
            active &= (bounds.lo <= read) & (read <= bounds.hi)
    facts = [Fact(shape, bits, None, bounds) for shape, bounds in zip(shapes, ranges, strict=False)]
    out = result_bits(op, bits)
    shape = domain.transfer(op, flags, out, facts, predicate)
    values, valid = evaluate(op, flags, bits if op == "icmp" else out, lanes, predicate, bits)
    good = members(shape, values, active & valid, out)
    if not good.all():
        row = int(np.argmin(good))
        witness = [lane[row] for lane in lanes], values[row], (active & valid)[row]
        raise AssertionError((domain.name, op, flags, bits, predicate, shapes, ranges, shape, witness))


def some_operand(rng: random.Random, domain: ShapeDomain, bits: int) -> Shape:
    """A shape, more often than not a constant: most rules are about these."""
    width = domain.extents[0]
    assert width is not None
    constant = rng.choice([rng.randrange(1 << bits), 1 << rng.randrange(bits), -(1 << rng.randrange(bits))])
    return rng.choice(
        [random_shape(rng, bits, width), domain.constant(bits, constant), domain.constant(bits, constant)]
    )


def some_range(rng: random.Random, bits: int) -> Interval | None:
    low, high = sorted(to_signed(rng.randrange(1 << bits), bits) for _ in range(2))
    return rng.choice([None, Interval(low, high), Interval(0, max(high, 0))])


@pytest.mark.parametrize("op", [*BINARY, "icmp"])
def test_every_strided_shape_with_constants_on_one_and_three_bits(op: str) -> None:
    for bits, width in [(1, 2), (4, 4)] if FUZZ else [(1, 2), (3, 2)]:
        check_with_every_constant(op, bits, width)


def check_with_every_constant(op: str, bits: int, width: int) -> None:
    domain = Product((width,))
    rng = np.random.default_rng(1)
    shapes = all_shapes(bits, width)
    for flags in FLAGS.get(op, [()]):
        for number, shape in enumerate(shapes):
            if not FUZZ and shape.nsw != shape.nuw:
                continue
            # Every second constant, by turns.
            for value in range(1 << bits) if FUZZ or bits == 1 else range(number % 2, 1 << bits, 2):
                predicate = PREDICATES[value % len(PREDICATES)] if op == "icmp" else None
                assert_sound(domain, rng, op, flags, bits, [shape, domain.constant(bits, value)], predicate)


@pytest.mark.parametrize("op", [*BINARY, "icmp"])
def test_binary_opcodes_on_four_to_six_bits(op: str) -> None:
    rng, draws = random.Random(op), np.random.default_rng(2)
    for _ in range(SAMPLES):
        bits, width = rng.choice([4, 5, 6]), rng.choice([2, 4])
        domain = rng.choice([StrideAlignment, Affine, Product, Product])((width,))
        x, y = random_shape(rng, bits, width), some_operand(rng, domain, bits)
        if rng.random() < 0.2:
            x, y = y, x
        x, y = domain.project(x, bits), domain.project(y, bits)
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        ranges = (some_range(rng, bits), some_range(rng, bits)) if rng.random() < 0.4 else (None, None)
        assert_sound(domain, draws, op, flags, bits, [x, y], predicate, ranges)


@pytest.mark.parametrize("op", UNARY)
def test_unary_opcodes_on_four_to_six_bits(op: str) -> None:
    rng, draws = random.Random(op), np.random.default_rng(3)
    for _ in range(SAMPLES):
        bits, width = rng.choice([4, 5, 6]), rng.choice([2, 4])
        domain = rng.choice([StrideAlignment, Affine, Product])((width,))
        shape = domain.project(random_shape(rng, bits, width), bits)
        flags = rng.choice(FLAGS.get(op, [()]))
        assert_sound(domain, draws, op, flags, bits, [shape], None, [some_range(rng, bits)])


def test_select_takes_one_arm_for_all_lanes_only_if_its_condition_is_uniform() -> None:
    rng, draws = random.Random(4), np.random.default_rng(4)
    for _ in range(SAMPLES):
        bits, width = rng.choice([4, 5]), 4
        domain = Product((width,))
        arms = [random_shape(rng, bits, width) for _ in range(2)]
        if rng.random() < 0.5:
            arms[1] = make((width,), bits, arms[0].strides, rng.randrange(16), rng.randint(0, 2), 1, 1)
        condition = rng.choice([domain.varying(1), domain.uniform(1), domain.constant(1, 1)])
        shape = domain.transfer("select", (), bits, [Fact(condition, 1), *(Fact(arm, bits) for arm in arms)])
        (then, m), (other, n) = (vectors(arm, bits, width) for arm in arms)
        if not len(then) or not len(other):
            continue
        i, j = draws.integers(0, len(then), 200), draws.integers(0, len(other), 200)
        choice = draws.random((200, width if condition.is_varying else 1)) < 0.5
        choice |= condition.constant(1) == 1
        values = np.where(choice, then[i], other[j])
        active = np.where(choice, m[i], n[j])
        assert members(shape, values, active, bits).all(), (condition, arms, shape)


def test_getelementptr_on_addresses_of_eight_bits() -> None:
    rng, draws = random.Random(11), np.random.default_rng(11)
    bits = 8
    for _ in range(SAMPLES // 2):
        width, index_bits = rng.choice([2, 4]), rng.choice([5, 8, 9])
        domain = Product((width,))
        base, index = random_shape(rng, bits, width), random_shape(rng, index_bits, width)
        if rng.random() < 0.5:
            base = domain.uniform(bits, rng.choice([1, 4]))
        scale, offset = rng.choice([1, 2, 4, 3]), rng.choice([0, 0, 4, -2])
        flags = rng.choice([(), ("inbounds", "nusw"), ("nuw",), ("inbounds", "nusw", "nuw")])
        facts = [Fact(base, bits), Fact(index, index_bits)]
        shape = domain.transfer("getelementptr", flags, bits, facts, scales=(scale,), offset=offset)
        (p, m), (i, n) = vectors(base, bits, width), vectors(index, index_bits, width)
        if not len(p) or not len(i):
            continue
        rows, columns = draws.integers(0, len(p), 200), draws.integers(0, len(i), 200)
        exact = signed(i[columns], index_bits)
        narrow = signed(exact & 255, bits)
        steps = narrow * scale + offset
        values = (p[rows] + steps) & 255
        active = m[rows] & n[columns]
        if "nusw" in flags:
            active &= (exact == narrow) & (abs(narrow * scale + 0.5) < 128) & (abs(steps + 0.5) < 128)
            active &= values == p[rows] + steps
        if "nuw" in flags:
            total = (narrow & 255) * scale + (offset & 255)
            active &= (i[columns] < 256) & (total < 256) & (p[rows] + total < 256)
        assert members(shape, values, active, bits).all(), (width, flags, base, index, scale, offset, shape)


@given(
    st.sampled_from([*BINARY, "icmp", *UNARY]),
    st.sampled_from([8, 16, 32, 64]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=10_000 if FUZZ else 500, deadline=None)
def test_opcodes_on_wide_integers(op: str, bits: int, rng: random.Random) -> None:
    width = rng.choice([2, 4, 8, 16])
    domain = Product((width,))
    lane = np.arange(width).astype(object)
    facts, lanes = [], []
    for position in range(1 if op in UNARY else 2):
        stride = rng.choice([0, 0, 1, 1, -1, 4, 8, rng.randrange(1 << bits)])
        known = rng.choice([0, 3, 4, bits, rng.randint(0, bits)])
        base = rng.choice([0, 1, -1, 1 << (bits - 1), rng.getrandbits(bits)]) + rng.randint(-9, 9)
        if position and rng.random() < 0.6:
            stride, known = 0, bits
            base = rng.choice(
                [1 << rng.randrange(bits), (1 << rng.randrange(1, bits)) - 1, rng.randrange(20)]
            )
        levels = [2 * _exact(base, stride, width, bits, low) for low in (-(1 << (bits - 1)), 0)]
        facts.append(Fact(make((width,), bits, (stride,), base, known, *levels), bits))
        lanes.append((base + stride * lane) & ((1 << bits) - 1))
    out = {"zext": 2 * bits, "sext": 2 * bits, "trunc": bits // 2, "icmp": 1}.get(op, bits)
    flags = rng.choice(FLAGS.get(op, [()]))
    predicate = rng.choice(PREDICATES) if op == "icmp" else None
    shape = domain.transfer(op, flags, out, facts, predicate)
    values, valid = evaluate(op, flags, bits if op == "icmp" else out, lanes, predicate, bits)
    assert domain.contains(shape, values, valid, out), (op, flags, bits, facts, shape, values, valid)


def _exact(base: int, stride: int, width: int, bits: int, low: int) -> bool:
    """Whether base + stride·lane, each in its canonical reading from `low` on, leaves the range nowhere."""
    size = 1 << bits
    first = (base - low) % size + low
    ends = (first, first + to_signed(stride, bits) * (width - 1))
    return low <= min(ends) and max(ends) < low + size


@pytest.mark.parametrize("extents", [(2, 2), (4, 2)])
def test_opcodes_on_a_lane_space_of_two_dimensions(extents: tuple[int, int]) -> None:
    bits = 5
    domain = Product(extents)
    rng = random.Random(5)
    x, y = np.indices(extents)
    for _ in range(SAMPLES):
        op = rng.choice([*BINARY, "icmp"])
        facts, lanes = [], []
        for _ in range(2):
            strides = tuple(rng.choice([0, 0, 1, 2, 4, 8, -1, None]) for _ in extents)
            known, base = rng.choice([0, 2, 3, bits]), rng.randrange(1 << bits)
            facts.append(Fact(make(extents, bits, strides, base, known), bits))
            value = base + np.zeros(extents, int)
            for stride, coordinate in zip(strides, (x, y), strict=True):
                if stride is None:
                    noise = [rng.randrange(8) << min(known, bits) for _ in range(coordinate.max() + 1)]
                    value += np.array(noise)[coordinate]
                else:
                    value += stride * coordinate
            lanes.append(value & 31)
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        out = result_bits(op, bits)
        shape = domain.transfer(op, flags, out, facts, predicate)
        values, valid = evaluate(op, flags, bits, lanes, predicate)
        active = valid & (np.random.default_rng(rng.randrange(99)).random(extents) < 0.8)
        assert domain.contains(shape, values, active, out), (op, flags, predicate, facts, shape, values)


@pytest.mark.parametrize("op", [*BINARY, "icmp", *UNARY])
def test_at_lane_zero_means_that_the_scalar_result_is_the_base(op: str) -> None:
    rng, draws = random.Random(op), np.random.default_rng(6)
    confirmed = 0
    for _ in range(SAMPLES // 2):
        bits, width = rng.choice([4, 5]), 4
        domain = Product((width,))
        shapes = [random_shape(rng, bits, width, symbolic=False), some_operand(rng, domain, bits)]
        shapes = shapes[: 1 if op in UNARY else 2]
        bounds = [some_range(rng, bits), None]
        facts = [Fact(shape, bits, None, b) for shape, b in zip(shapes, bounds, strict=False)]
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        out = result_bits(op, bits)
        shape = domain.transfer(op, flags, out, facts, predicate)
        if not shape.is_strided or not all(s.is_strided for s in shapes):
            continue
        if not domain.at_lane_zero(op, out, facts, shape, predicate):
            continue
        confirmed += 1
        batches = [vectors(s, bits, width) for s in shapes]
        if not all(len(values) for values, _ in batches):
            continue
        rows = [draws.integers(0, len(values), 100) for values, _ in batches]
        lanes = [values[row] for (values, _), row in zip(batches, rows, strict=True)]
        active = np.logical_and.reduce([m[row] for (_, m), row in zip(batches, rows, strict=True)])
        read = signed(lanes[0], bits)
        if bounds[0] is not None:
            active &= (bounds[0].lo <= read) & (read <= bounds[0].hi)
        # Inactive lanes of `vectors` follow the strides too, so column 0 holds the bases.
        bases = [values[:, :1] for values in lanes]
        width_of_op = bits if op == "icmp" else out
        values, valid = evaluate(op, flags, width_of_op, lanes, predicate, bits)
        scalar, defined = evaluate(op, (), width_of_op, bases, predicate, bits)
        (stride,) = shape.strides
        assert isinstance(stride, int)
        expected = (scalar + stride * np.arange(width)) & ((1 << out) - 1)
        wrong = (values != expected) & active & valid & defined
        assert not wrong.any(), (op, flags, predicate, facts, shape, lanes, values, expected)
    assert confirmed > 10


def test_every_claim_of_a_component_is_made_by_the_product() -> None:
    rng = random.Random(7)
    for _ in range(SAMPLES):
        bits, width = 5, 4
        product = Product((width,))
        op = rng.choice([*BINARY, "icmp"])
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        operands = [random_shape(rng, bits, width), some_operand(rng, product, bits)]
        out = result_bits(op, bits)
        best = product.transfer(op, flags, out, [Fact(s, bits) for s in operands], predicate)
        for component in (StrideAlignment((width,)), Affine((width,))):
            facts = [Fact(component.project(s, bits), bits) for s in operands]
            weaker = component.transfer(op, flags, out, facts, predicate)
            assert _not_less_regular(best, weaker), (op, flags, predicate, operands, best, weaker)


def _not_less_regular(best: Shape, weaker: Shape) -> bool:
    (s,), (t,) = best.strides, weaker.strides
    if s == t:
        return best.known_bits >= weaker.known_bits
    return t is None or s == 0 or (t is SYMBOLIC and s is not None)

"""`contains` decides membership exactly: compared with trying all bases and strides."""

from __future__ import annotations

import os
import random

import numpy as np

from analysis.shape_vectors import members, random_shape
from weft.analysis.shapes import BOTTOM, SYMBOLIC, Product, Shape
from weft.analysis.shapes.lattice import make

SAMPLES = 20_000 if "WEFT_FUZZ" in os.environ else 1_200


def test_contains_agrees_with_enumeration_of_bases_and_strides() -> None:
    rng, draws = random.Random(1), np.random.default_rng(1)
    inside = 0
    for _ in range(SAMPLES):
        bits, width = rng.choice([3, 4]), rng.choice([2, 3, 4])
        domain = Product((width,))
        shape = random_shape(rng, bits, width)
        stride = shape.strides[0] if isinstance(shape.strides[0], int) else draws.integers(0, 8)
        values = draws.integers(0, 1 << bits, (6, 1)) + stride * np.arange(width)
        values += draws.integers(0, 2, (6, width)) * (draws.random((6, 1)) < 0.3)
        values &= (1 << bits) - 1
        active = draws.random((6, width)) < 0.8
        expected = members(shape, values, active, bits)
        for row, mask, belongs in zip(values, active, expected, strict=True):
            assert domain.contains(shape, row, mask, bits) == belongs, (shape, row, mask)
        inside += int(expected.sum())
    assert SAMPLES < inside < 5 * SAMPLES, "both answers occur"


def test_signed_and_unsigned_readings_of_the_values_are_the_same_vector() -> None:
    domain = Product((4,))
    shape = make((4,), 8, (1,), 0xFE, 8)
    assert domain.contains(shape, np.array([-2, -1, 0, 1], np.int8), None, 8)
    assert domain.contains(shape, np.array([254, 255, 0, 1], np.uint8), None, 8)
    assert not domain.contains(shape, np.array([254, 255, 0, 2]), None, 8)
    assert domain.contains(shape, np.array([254, 255, 0, 2]), [True, True, True, False], 8)


def test_wide_values_are_exact() -> None:
    domain = Product((2,))
    top = (1 << 64) - 4
    lanes = np.array([top, 0], np.uint64)
    assert domain.contains(make((2,), 64, (4,), 0, 2), lanes, None, 64)
    assert not domain.contains(make((2,), 64, (4,), 0, 2, 0, 1), lanes, None, 64), "wraps unsigned"
    assert domain.contains(make((2,), 64, (4,), 0, 2, 1, 0), lanes, None, 64), "-4, 0 as signed numbers"


def test_floats_are_compared_bit_by_bit() -> None:
    domain = Product((3,))
    uniform = domain.uniform()
    assert domain.contains(uniform, np.array([np.nan, np.nan, np.nan]), None, 0)
    assert not domain.contains(uniform, np.array([0.0, -0.0, 0.0]), None, 0)
    assert domain.contains(uniform, np.array([1.0, 2.0, 1.0]), [True, False, True], 0)
    assert domain.contains(domain.varying(), np.array([1.0, 2.0, 3.0]), None, 0)


def test_a_dimension_without_stride_has_a_base_of_its_own_per_coordinate() -> None:
    domain = Product((2, 3))
    shape = make((2, 3), 16, (1, None), 0, 2)
    lanes = np.array([[8, 4, 0], [9, 5, 1]])
    assert domain.contains(shape, lanes, None, 16)
    assert not domain.contains(shape, lanes + np.array([[0, 0, 0], [0, 0, 1]]), None, 16)
    assert not domain.contains(shape, lanes + 1, None, 16), "bases are multiples of 4"


def test_one_symbolic_stride_serves_the_whole_lane_space() -> None:
    domain = Product((3, 2))
    lanes = np.array([[0, 50], [7, 57], [14, 64]])
    assert domain.contains(make((3, 2), 8, (SYMBOLIC, None)), lanes, None, 8)
    assert not domain.contains(
        make((3, 2), 8, (SYMBOLIC, None)), lanes + np.array([[0, 0], [0, 1], [0, 2]]), None, 8
    )
    assert domain.contains(make((3, 2), 8, (SYMBOLIC, SYMBOLIC)), lanes, None, 8)


def test_a_symbolic_stride_is_found_from_distant_lanes() -> None:
    domain = Product((4,))
    shape = Shape((SYMBOLIC,), nsw=0, nuw=0)
    ends = [True, False, True, False]
    assert domain.contains(shape, np.array([0, 0, 6, 0]), ends, 4)
    assert not domain.contains(shape, np.array([0, 0, 5, 0]), ends, 4), "no C with 2C = 5 modulo 16"
    exact = Shape((SYMBOLIC,), nsw=1, nuw=1)
    assert domain.contains(exact, np.array([1, 3, 5, 7]), None, 4)
    assert not domain.contains(exact, np.array([1, 6, 11, 0]), None, 4), "strided only modulo 16"


def test_bottom_holds_where_no_lane_is_active() -> None:
    domain = Product((2,))
    assert domain.contains(BOTTOM, np.array([1, 2]), [False, False], 8)
    assert not domain.contains(BOTTOM, np.array([1, 1]), None, 8)

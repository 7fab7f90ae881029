"""The papers' examples of shapes, and the corrections where a figure is wrong as printed."""

from __future__ import annotations

import numpy as np
import pytest

from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes import Affine, Basic, Domain, Fact, Product, Shape, StrideAlignment

SA = StrideAlignment((4,))


def apply(
    domain: Domain,
    op: str,
    *operands: Shape | int,
    bits: int = 32,
    flags: tuple[str, ...] = (),
    **rest: object,
) -> Shape:
    facts = [
        Fact(domain.constant(bits, o), bits, o) if isinstance(o, int) else Fact(o, bits) for o in operands
    ]
    out = 1 if op == "icmp" else bits
    return domain.transfer(op, flags, out, facts, **rest)  # type: ignore[arg-type]


def compare(domain: Domain, predicate: str, x: Shape, y: Shape | int, bits: int = 32) -> Shape:
    return apply(domain, "icmp", x, y, bits=bits, predicate=predicate)


def described(shape: Shape) -> tuple[object, int]:
    """(s, a), or a alone for varying, as Moll writes."""
    return (shape.stride, shape.alignment) if shape.is_strided else ("varying", shape.lane_alignment)


def test_moll_figure_10_1_scaling_by_minus_two() -> None:
    tid = SA.strided(1, 32, 4)
    assert described(apply(SA, "mul", -2, tid)) == (-2, 8)


def test_moll_figure_10_2_an_aligned_bound_makes_the_branch_uniform() -> None:
    tid, k = SA.strided(1, 32, 4), SA.uniform(32, 8)
    assert compare(SA, "sge", tid, k).is_uniform
    assert compare(SA, "slt", tid, k).is_uniform
    assert not compare(SA, "sgt", tid, k).is_uniform, "tid > k starts inside a group when k = 0"
    assert not compare(Basic((4,)), "sge", Basic((4,)).varying(), Basic((4,)).uniform()).is_uniform


def test_moll_figure_10_3_a_varying_value_keeps_its_alignment() -> None:
    loaded = SA.varying(32)
    assert described(apply(SA, "mul", 4, loaded)) == ("varying", 4)


@pytest.mark.parametrize("obscured", [False, True])
def test_moll_figure_10_5_strides_survive_instcombine(obscured: bool) -> None:
    domain = StrideAlignment((8,))
    i = domain.strided(1, 64, 8)
    x = apply(domain, "shl", i, 1, bits=64) if obscured else apply(domain, "mul", 2, i, bits=64)
    j = apply(domain, "or" if obscured else "add", x, 1, bits=64)
    assert (described(x), described(j)) == ((2, 16), (2, 1))
    pointer = Fact(domain.uniform(64, 8), 64)
    for index in (x, j):
        address = domain.transfer("getelementptr", ("inbounds",), 64, [pointer, Fact(index, 64)], scales=(8,))
        assert described(address) == (16, 8)


def test_what_needs_an_alignment_is_beyond_the_affine_lattice() -> None:
    """Moll says so of Fig. 10.5c; but stride 2 leaves bit 0 alone in all lanes, whatever it is."""
    sa, affine = StrideAlignment((8,)), Affine((8,))
    assert apply(affine, "or", affine.strided(2, 64, 16), 1, bits=64).stride == 2
    assert apply(sa, "or", sa.strided(1, 64, 16), 8, bits=64).stride == 1
    assert apply(affine, "or", affine.strided(1, 64, 16), 8, bits=64).is_varying


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("division", ["udiv", "sdiv", "lshr"])
def test_moll_figure_10_7_a_quotient_of_an_aligned_id_is_uniform(width: int, division: str) -> None:
    domain = StrideAlignment((width,))
    i = Fact(domain.strided(1, 64, width), 64, None, Interval(0, 1 << 40))
    by = 2 if division == "lshr" else 4
    d = domain.transfer(division, (), 64, [i, Fact(domain.constant(64, by), 64, by)])
    assert d.is_uniform
    array = Fact(domain.uniform(64, 32), 64)
    address = domain.transfer("getelementptr", (), 64, [array, Fact(d, 64)], scales=(8,))
    assert described(address) == (0, 8)
    plain = Basic((width,))
    assert plain.transfer(
        "udiv", (), 64, [Fact(plain.varying(64), 64), Fact(plain.uniform(64), 64)]
    ).is_varying


@pytest.mark.parametrize(("by", "residue", "uniform"), [(12, 0, True), (6, 0, False), (12, 2, False)])
def test_a_quotient_by_a_multiple_of_the_width_is_uniform(by: int, residue: int, uniform: bool) -> None:
    product, range_ = Product((4,)), Interval(0, 1 << 20)
    tid = apply(product, "add", product.strided(1, 32, 4), residue, flags=("nuw", "nsw"))
    facts = [Fact(tid, 32, None, range_), Fact(product.constant(32, by), 32, by)]
    assert product.transfer("udiv", (), 32, facts).is_uniform == uniform
    assert (product.transfer("urem", (), 32, facts).strides == (1,)) == uniform


def test_a_signed_quotient_needs_a_dividend_that_is_not_negative() -> None:
    tid = SA.strided(1, 32, 4)
    assert not apply(SA, "sdiv", tid, 4).is_uniform, "-4 … -1 divided by 4 is -1, 0, 0, 0"


def test_moll_figure_10_11_a_strided_comparison_is_uniform() -> None:
    k = rows = SA.uniform(32)
    tid = SA.lane_id(0, 32)
    left = apply(SA, "add", apply(SA, "mul", 4, rows), tid)
    right = apply(SA, "mul", 36, k)
    assert described(left) == (1, 4)
    assert described(right) == (0, 4), "the paper has 36, of which 4 survives a wrap-around"
    assert compare(SA, "sge", left, right).is_uniform


def test_moll_figure_10_12_equal_strides_compare_uniformly_only_if_nothing_wraps() -> None:
    domain = Product((2,))
    wraps = domain.strided(1, 8, exact=False)
    assert compare(domain, "sge", wraps, wraps, bits=8).is_varying
    x, y = np.array([126, 127], np.int8), np.array([127, -128], np.int8)
    assert domain.contains(wraps, x, None, 8) and domain.contains(wraps, y, None, 8)
    assert list(x >= y) == [False, True], "the counterexample to the first case"
    exact = domain.strided(1, 8)
    assert compare(domain, "sge", exact, exact, bits=8).is_uniform
    assert compare(domain, "eq", wraps, wraps, bits=8).is_uniform, "equality holds modulo 2^n"


def test_moll_figure_10_12_the_second_case_depends_on_which_side_grows() -> None:
    falling = SA.strided(-1, 32, 4)
    k = SA.uniform(32, 4)
    assert compare(SA, "sge", falling, k).is_varying, "-tid >= 0 in lane 0 alone, though max < min + gcd"
    assert compare(SA, "sle", falling, k).is_uniform


def test_moll_figure_10_14_an_unknown_shift_may_be_zero() -> None:
    x, amount = SA.uniform(32, 4), SA.uniform(32, 2)
    assert apply(SA, "shl", x, amount).alignment == 4, "the figure says 16"
    known = [Fact(x, 32), Fact(amount, 32, None, Interval(3, 9))]
    assert SA.transfer("shl", (), 32, known).alignment == 32


def test_sampaio_figure_1_the_loop_of_avg_square_is_uniform() -> None:
    """i and N are both Tid plus something uniform, in C's `int`, which does not overflow."""
    for domain in (Affine((32,)), Product((32,)), StrideAlignment((32,))):
        tid, c = domain.lane_id(0, 32), domain.uniform(32)
        bound = apply(domain, "add", tid, apply(domain, "mul", c, c), flags=("nsw",))
        i = domain.join(tid, apply(domain, "add", tid, c, flags=("nsw",)))
        i = domain.join(i, apply(domain, "add", i, c, flags=("nsw",)))
        assert i == domain.join(i, apply(domain, "add", i, c, flags=("nsw",))), "a fixed point"
        assert i.stride == bound.stride == 1
        assert compare(domain, "slt", i, bound).is_uniform
        assert compare(domain, "ult", i, bound).is_varying, "nothing is known of unsigned wrap"


def test_sampaio_figure_1_the_loop_of_sum_triangle_is_divergent() -> None:
    domain = Product((32,))
    tid, c = domain.lane_id(0, 32), domain.uniform(32)
    last = apply(domain, "mul", apply(domain, "add", tid, 1), c)
    assert last.class_name == "affine"
    assert compare(domain, "slt", tid, last).is_varying


def test_a_row_offset_known_at_run_time_only_is_affine() -> None:
    domain = Product((8,))
    row = apply(domain, "mul", domain.lane_id(0, 64), domain.uniform(64, 4), bits=64)
    assert row.class_name == "affine" and row.alignment == 4
    assert apply(domain, "and", row, 3, bits=64).constant(64) == 0
    assert apply(StrideAlignment((8,)), "mul", domain.lane_id(0, 64), domain.uniform(64), bits=64).is_varying


@pytest.mark.parametrize(
    ("op", "constant", "expected"),
    [
        ("and", 7, (1, "base 0")),
        ("and", ~7, (0, 8)),
        ("and", 15, (1, 8)),
        ("or", 8, (1, 8)),
        ("xor", 7, (-1, 1)),
        ("lshr", 3, (0, 1)),
        ("urem", 8, (1, "base 0")),
        ("urem", 4, "varying"),
        ("xor", 1, "varying"),
    ],
)
def test_bit_arithmetic_of_an_aligned_thread_id(op: str, constant: int, expected: object) -> None:
    domain = Product((8,))
    tid = domain.strided(1, 64, 8) if op != "or" else domain.strided(1, 64, 16)
    shape = apply(domain, op, tid, constant, bits=64)
    if expected == "varying":
        assert shape.is_varying
    elif expected[1] == "base 0":  # type: ignore[index]
        assert shape == domain.lane_id(0, 64)
    else:
        assert (shape.stride, shape.alignment) == expected


def test_extension_keeps_a_stride_only_if_no_lane_wraps() -> None:
    domain = Product((8,))
    index = Fact(domain.strided(1, 32, exact=False), 32)
    assert domain.transfer("sext", (), 64, [index]).is_varying
    aligned = Fact(domain.strided(1, 32, 8, exact=False), 32)
    assert domain.transfer("sext", (), 64, [aligned]).stride == 1
    ranged = Fact(index.shape, 32, None, Interval(0, 1 << 20))
    assert domain.transfer("sext", (), 64, [ranged]).stride == 1
    added = domain.transfer(
        "add", ("nsw",), 32, [Fact(domain.lane_id(0, 32), 32), Fact(domain.uniform(32), 32)]
    )
    assert domain.transfer("sext", (), 64, [Fact(added, 32)]).stride == 1
    assert domain.transfer("zext", (), 64, [Fact(added, 32)]).is_varying
    assert domain.transfer("zext", ("nneg",), 64, [Fact(added, 32)]).stride == 1


def test_what_a_flag_proves_holds_in_active_lanes_but_not_in_lane_zero() -> None:
    """``sext(u +nsw (v + tid))`` where lane 0 is inactive and its sum wraps: its extension is not the base."""
    domain = Product((8,))
    total = domain.transfer(
        "add", ("nsw",), 32, [Fact(domain.strided(1, 32), 32), Fact(domain.uniform(32), 32)]
    )
    wide = domain.transfer("sext", (), 64, [Fact(total, 32)])
    assert wide.stride == 1
    assert not domain.at_lane_zero("sext", 64, [Fact(total, 32)], wide)
    ranged = [Fact(total, 32, None, Interval(0, 1 << 30))]
    assert domain.at_lane_zero("sext", 64, ranged, domain.transfer("sext", (), 64, ranged))


def test_what_is_added_to_a_lane_number_is_the_base_also_where_lane_zero_is_inactive() -> None:
    """In lane 0 nothing is added, so nothing wraps there: ``sext(u +nsw tid)`` is ``sext(u)`` in it."""
    domain = Product((8,))
    lane, start = Fact(domain.lane_id(0, 32), 32), Fact(domain.uniform(32), 32)
    for op, operands in (("add", [lane, start]), ("add", [start, lane]), ("sub", [start, lane])):
        total = [Fact(domain.transfer(op, ("nsw",), 32, operands), 32)]
        assert domain.at_lane_zero("sext", 64, total, domain.transfer("sext", (), 64, total))
    total = [Fact(domain.transfer("sub", ("nsw",), 32, [lane, start]), 32)]
    assert not domain.at_lane_zero("sext", 64, total, domain.transfer("sext", (), 64, total))


def test_indices_narrower_than_a_pointer_are_extended_by_getelementptr() -> None:
    domain = Product((8,))
    pointer = Fact(domain.uniform(64, 64), 64)
    for index, expected in (
        (domain.strided(1, 32, 8, exact=False), 4),
        (domain.strided(1, 32, exact=False), None),
    ):
        address = domain.transfer("getelementptr", (), 64, [pointer, Fact(index, 32)], scales=(4,), offset=8)
        assert address.stride == expected


def test_shapes_are_per_dimension_of_the_lane_space() -> None:
    domain = Product((4, 2))
    x, y, n = domain.lane_id(0), domain.lane_id(1), domain.uniform(64)
    linear = apply(domain, "add", x, apply(domain, "mul", y, 4, bits=64), bits=64)
    assert linear.strides == (1, 4)
    assert apply(domain, "lshr", linear, 2, bits=64).strides == (0, 1)
    assert apply(domain, "and", linear, 3, bits=64).strides == (1, 0)
    pitched = apply(domain, "add", x, apply(domain, "mul", y, n, bits=64), bits=64)
    assert pitched.class_name == "affine" and pitched.strides[0] == 1
    assert compare(domain, "slt", y, n, bits=64).strides == (0, None)


def test_notation_is_that_of_the_command_line() -> None:
    domain = Product((8,))
    shapes = [domain.uniform(64, 8), domain.strided(-4, 64, 16), domain.varying(64, 2), domain.bottom()]
    assert [str(s) for s in shapes] == ["Ua8", "S-4a16", "Ta2", "⊥"]
    assert str(apply(domain, "mul", domain.lane_id(), domain.uniform(64), bits=64)) == "S?"
    assert str(domain.constant(32, -5)) == "U=-5" and str(domain.lane_id()) == "S1=0"

"""Intervals: lattice laws, and every transfer function enumerated on small integers and sampled on wide ones."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.lanewise import BINARY, FLAGS, PREDICATES, UNARY, evaluate
from weft.analysis.integers import intervals as iv
from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.interval_transfer import transfer
from weft.analysis.integers.intervals import INVERTED, SWAPPED, Interval, full
from weft.analysis.integers.wrapping import no_wrap


def all_intervals(bits: int) -> list[Interval]:
    low, high = full(bits)
    return [Interval(a, b) for a in range(low, high + 1) for b in range(a, high + 1)]


def members(interval: Interval, bits: int) -> np.ndarray:
    return np.arange(interval.lo, interval.hi + 1) & ((1 << bits) - 1)


def signed(values: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << (bits - 1)
    return ((values + half) & ((1 << bits) - 1)) - half


def assert_holds(result: Interval, values: np.ndarray, valid: np.ndarray, bits: int, what: object) -> None:
    seen = signed(values, bits)[valid]
    if seen.size:
        assert result.lo <= seen.min() and seen.max() <= result.hi, (what, result, seen)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("bits", [1, 3])
def test_binary_transfer_contains_every_result_on_small_integers(op: str, bits: int) -> None:
    for flags in FLAGS.get(op, [()]):
        grid = np.arange(1 << bits)
        table, valid = evaluate(op, flags, bits, [grid[:, None], grid[None, :]])
        for x, y in itertools.product(all_intervals(bits), repeat=2):
            rows, columns = members(x, bits), members(y, bits)
            result = transfer(op, flags, bits, [x, y])
            assert result is not None
            window = np.ix_(rows, columns)
            assert_holds(result, table[window], valid[window], bits, (op, flags, x, y))


@pytest.mark.parametrize("op", UNARY)
def test_cast_transfer_contains_every_result_on_small_integers(op: str) -> None:
    source, target = (5, 3) if op == "trunc" else (3, 5) if op in ("zext", "sext") else (4, 4)
    for flags in FLAGS.get(op, [()]):
        for x in all_intervals(source):
            values, valid = evaluate(op, flags, target, [members(x, source)], source_bits=source)
            result = transfer(op, flags, target, [x], operand_bits=source)
            assert result is not None
            assert_holds(result, values, valid, target, (op, flags, x))


@pytest.mark.parametrize("predicate", PREDICATES)
def test_compare_and_refine_are_sound_and_agree_with_enumeration(predicate: str) -> None:
    bits = 3
    for x, y in itertools.product(all_intervals(bits), repeat=2):
        a, b = members(x, bits)[:, None], members(y, bits)[None, :]
        truth, _ = evaluate("icmp", (), bits, [a, b], predicate=predicate)
        truth = truth.astype(bool)
        outcome = iv.compare(predicate, x, y, bits)
        if outcome is not None:
            assert (truth == outcome).all(), (predicate, x, y)
        left = iv.refine(predicate, x, y, bits)
        assert left is None or left.lo <= left.hi, (predicate, x, y, left)
        possible = signed(members(x, bits)[truth.any(axis=1)], bits)
        for value in possible:
            assert left is not None and left.holds(int(value)), (predicate, x, y, left)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge"])
def test_signed_compare_decides_whenever_all_pairs_agree(predicate: str) -> None:
    bits = 3
    for x, y in itertools.product(all_intervals(bits), repeat=2):
        a, b = members(x, bits)[:, None], members(y, bits)[None, :]
        truth, _ = evaluate("icmp", (), bits, [a, b], predicate=predicate)
        decided = iv.compare(predicate, x, y, bits) is not None
        assert decided == bool(truth.all() or not truth.any()), (predicate, x, y)


def test_swapped_and_inverted_predicates_mean_what_they_say() -> None:
    grid = np.arange(8)
    a, b = grid[:, None], grid[None, :]
    for predicate in PREDICATES:
        truth, _ = evaluate("icmp", (), 3, [a, b], predicate=predicate)
        swapped, _ = evaluate("icmp", (), 3, [b, a], predicate=SWAPPED[predicate])
        inverted, _ = evaluate("icmp", (), 3, [a, b], predicate=INVERTED[predicate])
        assert (truth == swapped).all() and (truth != inverted).all()


@pytest.mark.parametrize("op", ["add", "sub", "mul", "shl"])
def test_no_wrap_is_claimed_only_where_the_flag_would_never_be_poison(op: str) -> None:
    bits = 3
    grid = np.arange(1 << bits)
    for index, flag in enumerate(("nsw", "nuw")):
        _, valid = evaluate(op, (flag,), bits, [grid[:, None], grid[None, :]])
        for x, y in itertools.product(all_intervals(bits), repeat=2):
            if op == "shl" and (y.lo < 0 or y.hi >= bits):
                continue
            always = bool(valid[np.ix_(members(x, bits), members(y, bits))].all())
            assert no_wrap(op, bits, x, y)[index] <= always, (op, flag, x, y)


def test_interval_lattice_laws() -> None:
    elements = [None, *all_intervals(2)]
    for a, b in itertools.product(elements, repeat=2):
        upper = iv.join(a, b)
        assert upper == iv.join(b, a)
        assert iv.leq(a, upper) and iv.leq(b, upper)
        assert iv.leq(a, b) == (iv.join(a, b) == b) == (iv.meet(a, b) == a)
        for c in elements:
            assert iv.join(upper, c) == iv.join(a, iv.join(b, c))


@given(st.integers(2, 64), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_widening_is_stable_after_a_few_steps(bits: int, rng: random.Random) -> None:
    current: Interval | None = None
    changes = 0
    for _ in range(40):
        a, b = sorted(to_signed(rng.getrandbits(rng.randint(1, bits)), bits) for _ in range(2))
        wider = iv.widen(current, Interval(a, b), bits)
        assert iv.leq(current, wider) and iv.leq(Interval(a, b), wider)
        changes += wider != current
        current = wider
    assert changes <= 20


@given(st.sampled_from(BINARY), st.sampled_from([8, 16, 32, 64]), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_binary_transfer_contains_sampled_results_on_wide_integers(
    op: str, bits: int, rng: random.Random
) -> None:
    def interval() -> Interval:
        middle = rng.choice([0, 1, 1 << (bits - 1), (1 << bits) - 1, rng.getrandbits(bits)])
        ends = [middle + rng.randint(-9, 9), middle + rng.getrandbits(rng.randint(1, bits))]
        a, b = sorted(to_signed(end, bits) for end in ends)
        return Interval(a, b)

    x, y = interval(), interval()
    flags = rng.choice(FLAGS.get(op, [()]))
    result = transfer(op, flags, bits, [x, y])
    assert result is not None
    picks = [[rng.choice([i.lo, i.hi, rng.randint(*i)]) for _ in range(16)] for i in (x, y)]
    columns = [np.array([p & ((1 << bits) - 1) for p in pick], dtype=object) for pick in picks]
    values, valid = evaluate(op, flags, bits, columns)
    for value, defined in zip(values, valid, strict=True):
        assert not defined or result.holds(to_signed(int(value), bits)), (op, flags, x, y, result)

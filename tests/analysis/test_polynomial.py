"""Abstract polynomials: the paper's tables, and transfer functions sampled on small integers."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from analysis.lanewise import BINARY, FLAGS, PREDICATES, evaluate, signed
from analysis.polynomial_claims import holds
from weft.analysis.gated.polynomial import UNKNOWN, Polynomial, PolynomialDomain
from weft.analysis.gated.polynomial_transfer import apart, transfer
from weft.analysis.shapes import ACTIVE, BASE, WRAPS

SAMPLES = 20_000 if "WEFT_FUZZ" in os.environ else 400
BITS = 5

AFFINE = PolynomialDomain(1, (6,))
QUADRATIC = PolynomialDomain(2, (6,))
DOMAINS = [
    AFFINE,
    QUADRATIC,
    PolynomialDomain(3, (5,)),
    PolynomialDomain(2, (3, 3)),
    PolynomialDomain(1, (None,)),
]


def state(domain: PolynomialDomain, *coefficients: int | None, bits: int = 32) -> Polynomial:
    """The state written as in the paper, the highest degree first."""
    return domain.make(bits, coefficients[::-1])


def test_meet_is_that_of_figure_12():
    c, d, bottom = state(AFFINE, 0, 3), state(AFFINE, 0, 4), state(AFFINE, 0, UNKNOWN)
    assert AFFINE.meet(c, c) is c
    assert AFFINE.meet(c, d) is bottom
    assert AFFINE.meet(c, bottom) is AFFINE.meet(bottom, c) is AFFINE.meet(bottom, bottom) is bottom


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("add", 3, 4, 7), ("add", 3, UNKNOWN, UNKNOWN), ("add", UNKNOWN, UNKNOWN, UNKNOWN),
        ("mul", 3, 4, 12), ("mul", 3, UNKNOWN, UNKNOWN), ("mul", UNKNOWN, UNKNOWN, UNKNOWN),
        ("mul", 0, 4, 0), ("mul", 0, UNKNOWN, 0), ("mul", UNKNOWN, 0, 0),
    ],
)  # fmt: skip
def test_coefficients_are_added_and_multiplied_as_in_figure_12(op, x, y, expected):
    result = transfer(AFFINE, op, (), 32, [state(AFFINE, 0, x), state(AFFINE, 0, y)])
    assert result.coefficients == (expected, 0)


def test_polynomials_are_added_and_multiplied_by_the_rules_of_algebra():
    x, y = state(QUADRATIC, 0, 2, 3), state(QUADRATIC, 0, 5, 7)
    assert str(transfer(QUADRATIC, "add", (), 32, [x, y])) == "(0, 7, 10)"
    assert str(transfer(QUADRATIC, "mul", (), 32, [x, y])) == "(10, 29, 21)"
    assert str(transfer(AFFINE, "mul", (), 32, [state(AFFINE, 2, 3), state(AFFINE, 5, 7)])) == "(⊥, ⊥)"
    unknown = state(QUADRATIC, 0, 0, UNKNOWN)
    assert str(transfer(QUADRATIC, "mul", (), 32, [x, unknown])) == "(0, ⊥, ⊥)"


def test_each_thread_id_has_its_own_powers():
    domain = PolynomialDomain(2, (8, 8))
    x, y = domain.thread_id(32, 0), domain.thread_id(32, 1)
    product = transfer(domain, "mul", (), 32, [x, y])
    assert [m for m, a in zip(domain.monomials, product.coefficients, strict=True) if a] == [(1, 1)]
    assert domain.concrete(32, product.coefficients, (3, 5)) == 15
    assert transfer(domain, "mul", (), 32, [product, x]).is_divergent


def test_states_are_named_as_in_figure_22():
    names = [
        (state(AFFINE, 0, 3), "(0,c)"), (state(AFFINE, 0, UNKNOWN), "(0,⊥)"), (state(AFFINE, 2, 3), "(c,c)"),
        (state(AFFINE, 2, UNKNOWN), "(c,⊥)"), (state(AFFINE, UNKNOWN, UNKNOWN), "⊥"), (state(AFFINE, UNKNOWN, 0), "⊥"),
        (state(QUADRATIC, 0, UNKNOWN, UNKNOWN), "(⊥,·)"), (state(QUADRATIC, 1, 0, 0), "polynomial"),
    ]  # fmt: skip
    assert [(s.state, name) for s, name in names] == [(name, name) for _, name in names]


def test_a_domain_needs_a_degree():
    with pytest.raises(ValueError, match="degree 0"):
        PolynomialDomain(0)


def test_small_known_polynomials_do_not_wrap():
    id = AFFINE.thread_id(32)
    assert (id.nsw, id.nuw) == (BASE, BASE)
    narrow = transfer(AFFINE, "trunc", (), 8, [id])
    assert transfer(AFFINE, "sext", (), 64, [narrow]).coefficients == (0, 1)
    assert AFFINE.make(4, (6, 1)).nsw == WRAPS
    assert AFFINE.make(4, (6, 1)).nuw == BASE


def test_extending_needs_proof_that_nothing_wraps():
    base = transfer(AFFINE, "add", (), 32, [AFFINE.thread_id(32), AFFINE.uniform(32)])
    assert transfer(AFFINE, "sext", (), 64, [base]).is_divergent
    safe = transfer(AFFINE, "add", ("nsw",), 32, [AFFINE.thread_id(32), AFFINE.uniform(32)])
    assert str(transfer(AFFINE, "sext", (), 64, [safe])) == "(1, ⊥)"
    assert transfer(AFFINE, "zext", (), 64, [safe]).is_divergent


def test_a_compare_is_uniform_where_the_thread_id_cancels():
    i = transfer(AFFINE, "add", ("nsw",), 32, [AFFINE.thread_id(32), AFFINE.uniform(32)])
    n = transfer(AFFINE, "sub", ("nsw",), 32, [AFFINE.thread_id(32), AFFINE.uniform(32)])
    wrapping = transfer(AFFINE, "add", (), 32, [AFFINE.thread_id(32), AFFINE.uniform(32)])
    assert transfer(AFFINE, "icmp", (), 1, [i, n], "slt").is_uniform
    assert transfer(AFFINE, "icmp", ("samesign",), 1, [i, n], "ult").is_uniform
    assert transfer(AFFINE, "icmp", (), 1, [i, wrapping], "slt").is_divergent
    assert transfer(AFFINE, "icmp", (), 1, [i, wrapping], "eq").is_uniform
    assert transfer(AFFINE, "icmp", (), 1, [i, n], "ult").is_divergent


def random_values(domain: PolynomialDomain, rng: random.Random, bits: int) -> tuple[Polynomial, np.ndarray]:
    """A random state, and values of all threads that it describes."""
    ids = list(np.ndindex(*(extent or 6 for extent in domain.extents)))
    size = 1 << bits
    if rng.random() < 0.1:
        return domain.divergent(bits), np.array([rng.randrange(size) for _ in ids])
    spread = rng.choice((2, 2, size // 2))
    moving = [rng.choice((0, 0, 1, rng.randrange(-spread, spread))) for _ in domain.monomials[1:]]
    moving = [int(signed(np.array(a % size), bits)) for a in moving]
    base = rng.choice((0, rng.randrange(-size // 2, size), rng.randrange(-2 * size, 2 * size)))
    integers = np.array([domain.concrete(4096, (base, *moving), i) for i in ids], object)
    integers = np.array([v - (1 << 4096) if v >> 4095 else v for v in integers], object)
    values = (integers % size).astype(np.int64)
    nsw = nuw = WRAPS
    if (signed(values, bits) == integers).all():
        nsw = BASE if -size // 2 <= base < size // 2 else ACTIVE
    if (values == integers).all():
        nuw = BASE if 0 <= base < size else ACTIVE
    coefficients = [a if rng.random() < 0.6 else UNKNOWN for a in (base, *moving)]
    return domain.make(bits, coefficients, rng.randint(WRAPS, nsw), rng.randint(WRAPS, nuw)), values


def result_bits(op: str) -> int:
    return {"zext": BITS + 2, "sext": BITS + 2, "trunc": BITS - 1, "icmp": 1}.get(op, BITS)


OPS = [*BINARY, "zext", "sext", "trunc", "icmp", "select"]


@pytest.mark.parametrize("op", OPS)
def test_transfer_functions_are_sound(op: str):
    rng = random.Random(op)
    useful = 0
    for _ in range(SAMPLES):
        domain = rng.choice(DOMAINS)
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        count = 1 if op in ("zext", "sext", "trunc") else 2
        states, values = zip(*(random_values(domain, rng, BITS) for _ in range(count)), strict=True)
        bits = result_bits(op)
        if op == "select":
            condition, chosen = random_values(domain, rng, 1)
            states = (condition, *states)
            result, valid = np.where(chosen == 1, *values), np.ones(len(chosen), bool)
        else:
            result, valid = evaluate(
                op, flags, bits if op in ("zext", "sext", "trunc") else BITS, values, predicate, BITS
            )
        claimed = transfer(domain, op, flags, bits, states, predicate)
        ids = np.ndindex(*(extent or 6 for extent in domain.extents))
        # Any part of the threads may be active.
        kept = valid & (np.array([rng.random() < 0.8 for _ in valid]))
        threads = [(i, int(v)) for i, v, ok in zip(ids, result, kept, strict=True) if ok]
        assert holds(claimed, threads), (
            op,
            flags,
            predicate,
            states,
            [(s.nsw, s.nuw) for s in states],
            claimed,
            threads,
        )
        useful += not claimed.is_divergent
    assert useful > SAMPLES / 50


@pytest.mark.parametrize("op", OPS)
def test_transfer_functions_are_monotone(op: str):
    rng = random.Random(op)
    for _ in range(SAMPLES // 2):
        domain = rng.choice(DOMAINS)
        flags = rng.choice(FLAGS.get(op, [()]))
        predicate = rng.choice(PREDICATES) if op == "icmp" else None
        bits = [1, BITS, BITS] if op == "select" else [BITS] * (1 if op in ("zext", "sext", "trunc") else 2)
        high = [random_values(domain, rng, b)[0] for b in bits]
        low = [
            domain.meet(s, random_values(domain, rng, s.bits)[0]) if rng.random() < 0.5 else s for s in high
        ]
        above = transfer(domain, op, flags, result_bits(op), high, predicate)
        below = transfer(domain, op, flags, result_bits(op), low, predicate)
        met = domain.meet(above, below)
        # A factor that is not in range is known modulo 2^n only, and no longer exact.
        wraps = op in ("add", "sub", "mul", "shl") and met.coefficients == below.coefficients
        assert met is below or wraps, (op, flags, predicate, high, low, above, below)


def test_threads_apart_agree_only_on_what_is_known():
    known = state(AFFINE, 2, 3)
    assert apart([known, known]).coefficients == (3, 2)
    assert apart([known, state(AFFINE, 2, 4)]).is_divergent
    assert apart([state(AFFINE, 0, UNKNOWN)]).is_divergent

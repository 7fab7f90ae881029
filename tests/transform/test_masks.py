"""Mask algebra against truth tables in which conditions may be poison where their mask is false."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from weft.analysis.masks import implies
from weft.ir import FALSE, TRUE, Builder, Function, Instruction, Module, Value
from weft.ir.types import I1, VOID, FunctionType
from weft.transform.linearization.masks import both, either, negated

NAMES = ("a", "b", "c")
Truth = bool | None
"""None is poison."""


def builder() -> tuple[Builder, list[Value]]:
    function = Function("f", FunctionType(VOID, (I1,) * len(NAMES)), NAMES)
    Module("m").add_function(function)
    return Builder(function.add_block("entry")), list(function.args)


@st.composite
def masks(draw: st.DrawFn) -> tuple[list[Value], list[Value]]:
    """The parameters, and masks built from them."""
    build, args = builder()
    pool: list[Value] = [*args, TRUE, FALSE]
    for _ in range(draw(st.integers(1, 8))):
        x, y, z = (draw(st.sampled_from(pool)) for _ in range(3))
        kind = draw(st.sampled_from((both, either, negated, "select")))
        if kind == "select":
            pool.append(build.select(x, y, z))
        else:
            pool.append(kind(build, x) if kind is negated else kind(build, x, y))
    return args, pool


def evaluate(value: Value, known: dict[Value, Truth]) -> Truth:
    if not isinstance(value, Instruction):
        return known.get(value, value == TRUE)
    if value.op == "select":
        condition, then, otherwise = (evaluate(v, known) for v in value.operands)
        return None if condition is None else then if condition else otherwise
    assert value.op == "xor"
    inner = evaluate(value.operands[0], known)
    return None if inner is None else not inner


@given(masks())
def test_implication_holds_for_all_values(drawn):
    args, pool = drawn
    tables = [
        dict(zip(args, truth, strict=True)) for truth in itertools.product((False, True), repeat=len(args))
    ]
    for narrow, wide in itertools.product(pool, repeat=2):
        if implies(narrow, wide):
            assert all(evaluate(wide, t) or not evaluate(narrow, t) for t in tables)


def test_combinations_have_their_meaning_and_let_no_poison_through():
    build, (a, b, _) = builder()
    conjunction, disjunction, negation = both(build, a, b), either(build, a, b), negated(build, a)
    for x, y in itertools.product((False, True), (False, True, None)):
        known: dict[Value, Truth] = {a: x, b: y}
        assert evaluate(conjunction, known) == (y if x else False)
        assert evaluate(disjunction, known) == (True if x else y)
        assert evaluate(negation, known) == (not x)


def test_constants_and_repetitions_build_nothing():
    build, (a, *_) = builder()
    assert both(build, TRUE, a) is a and both(build, a, TRUE) is a and both(build, a, a) is a
    assert both(build, a, FALSE) == FALSE and both(build, FALSE, a) == FALSE
    assert either(build, a, FALSE) is a and either(build, FALSE, a) is a and either(build, a, a) is a
    assert either(build, a, TRUE) == TRUE and either(build, TRUE, a) == TRUE
    assert negated(build, TRUE) == FALSE and negated(build, FALSE) == TRUE
    assert not build.block.instructions
    assert negated(build, negated(build, a)) is a


def test_a_live_mask_implies_what_it_started_with():
    r"""
    entry: live = φ [a, entry], [select live, c, false, loop]
    """
    build, (a, b, c) = builder()
    function = build.block.function
    loop = function.add_block("loop")
    build.br(loop)
    live = Builder(loop).phi(I1, "live", shadow=FALSE)
    inside = Builder(loop)
    live.add_incoming(a, function.entry)
    live.add_incoming(both(inside, live, c), loop)
    inside.br(loop)
    assert implies(live, a)
    assert not implies(live, b) and not implies(live, c) and not implies(a, live)


def test_a_shadow_counts_as_a_value_of_its_phi():
    build, (a, b, _) = builder()
    join = build.block.function.add_block("join")
    build.br(join)
    phi = Builder(join).phi(I1, shadow=b)
    phi.add_incoming(a, build.block)
    assert not implies(phi, a)

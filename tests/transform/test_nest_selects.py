"""Blends of the sides of branches are nested: the same values, by conditions instead of masks."""

import itertools

import pytest

from weft.ir import FALSE, TRUE, Builder, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.types import I1, FunctionType
from weft.transform.linearization.masks import both, negated
from weft.transform.linearization.nest_selects import nest_selects

Truth = bool | None
"""None is poison."""


def elif_chain(order: tuple[int, ...], *, last_first: bool = False) -> Function:
    """
         p?                 blended in `order`, from the innermost select outwards
        /  \\
       a    c?
           /  \\
          b    d?
              /  \\
             x    y
    """
    function = Function("f", FunctionType(I1, (I1,) * 7), ("p", "c", "d", "a", "b", "x", "y"))
    Module("m").add_function(function)
    p, c, d, *values = function.args
    entry = function.add_block("entry")
    build = Builder(entry)
    second = negated(build, p)
    third = both(build, second, negated(build, c))
    edges = [p, both(build, second, c), both(build, third, d), both(build, third, negated(build, d))]
    blend: Value = values[order[0]]
    for index in order[1:]:
        if index == order[-1]:
            last = function.add_block("last", after=entry)
            build.br(last)
            if last_first:
                function.blocks.reverse()
            build.at_end(last)
        blend = build.select(edges[index], values[index], blend)
    build.ret(blend)
    return function


def evaluate(value: Value, known: dict[Value, Truth]) -> Truth:
    if not isinstance(value, Instruction):
        return known.get(value, value == TRUE)
    if value.op == "xor":
        inner = evaluate(value.operands[0], known)
        return None if inner is None else not inner
    condition = evaluate(value.operands[0], known)
    return None if condition is None else evaluate(value.operands[1 if condition else 2], known)


def results(function: Function) -> list[Truth]:
    (returned,) = (i for i in function.instructions() if i.op == "ret")
    tables = itertools.product((False, True, None), repeat=len(function.args))
    return [evaluate(returned.operands[0], dict(zip(function.args, t, strict=True))) for t in tables]


@pytest.mark.parametrize(
    ("order", "count"), [((0, 1, 2, 3), 2), ((0, 1, 3, 2), 2), ((0, 2, 3, 1), 2), ((0, 2, 1, 3), 0)]
)
def test_values_stay_where_they_were_defined(order: tuple[int, ...], count: int) -> None:
    function = elif_chain(order)
    before = results(function)
    assert nest_selects(function) == count
    after = results(function)
    assert all(new is old for old, new in zip(before, after, strict=True) if old is not None)


@pytest.mark.parametrize("last_first", [False, True])
def test_no_mask_is_left_of_a_chain(last_first: bool) -> None:
    function = elif_chain((0, 1, 2, 3), last_first=last_first)
    nest_selects(function)
    remove_dead_instructions(function)
    assert not [i for i in function.instructions() if i.op == "select" and i.operands[2] == FALSE]
    assert len([i for i in function.instructions() if i.op == "select"]) == 3


@pytest.mark.parametrize("negated_side", [False, True])
def test_an_edge_that_one_side_is_needs_no_mask(negated_side: bool) -> None:
    r"""
        p?
       /  \
      a    c?      a, then b for all behind p, x for those who go there
          /  \
         x    b
    """
    function = Function("f", FunctionType(I1, (I1,) * 5), ("p", "c", "a", "b", "x"))
    Module("m").add_function(function)
    p, c, a, b, x = function.args
    build = Builder(function.add_block("entry"))
    condition = negated(build, c) if negated_side else c
    blend = build.select(both(build, p, condition), x, build.select(p, b, a))
    build.ret(blend)
    before = results(function)
    assert nest_selects(function) == 1
    assert all(new is old for old, new in zip(before, results(function), strict=True) if old is not None)
    remove_dead_instructions(function)
    assert len([i for i in function.instructions() if i.op == "select"]) == 2

"""Instructions that compute the address of a place, and conditions (`weft.analysis.questions`)."""

from __future__ import annotations

from weft.analysis.questions.assumptions import AnyOf, Expression
from weft.analysis.questions.places import Place
from weft.analysis.questions.polynomials import ADDRESS_BITS, Narrow, bits_of
from weft.ir import Builder, ConstInt, Value
from weft.ir.constants import TRUE
from weft.ir.types import I1, I8, I64, IntType


def build_address(place: Place, builder: Builder) -> Value:
    """Compute the address at a point where all that it is computed from is valid."""
    total: Value | None = None
    for monomial, coefficient in place.terms:
        product: Value | None = None
        for value, signed in monomial:
            factor = _extended(value, signed, builder)
            product = factor if product is None else builder.binary("mul", product, factor)
        assert product is not None
        if coefficient != 1:
            product = builder.binary("mul", product, ConstInt(I64, coefficient))
        total = product if total is None else builder.binary("add", total, product)
    if total is not None and place.offset:
        total = builder.binary("add", total, ConstInt(I64, place.offset))
    if total is None:
        if not place.offset:
            return place.base
        total = ConstInt(I64, place.offset)
    return builder.gep(I8, place.base, (total,))


def _extended(atom: Value | Narrow, signed: bool, builder: Builder) -> Value:
    value = _build_narrow(atom, builder) if isinstance(atom, Narrow) else atom
    assert isinstance(value.type, IntType)
    if value.type.bits == ADDRESS_BITS:
        return value
    return builder.cast("sext" if signed else "zext", value, I64)


def _build_narrow(narrow: Narrow, builder: Builder) -> Value:
    type = IntType(narrow.bits)
    total: Value | None = None
    for factors, coefficient in narrow.terms:
        product: Value | None = None if coefficient == 1 else ConstInt(type, coefficient)
        for value in factors:
            cut = builder.cast("trunc", value, type) if bits_of(value) > narrow.bits else value
            product = cut if product is None else builder.binary("mul", product, cut)
        assert product is not None
        total = product if total is None else builder.binary("add", total, product)
    assert total is not None
    return builder.binary("add", total, ConstInt(type, narrow.offset)) if narrow.offset else total


def build_condition(tested: AnyOf, builder: Builder) -> Value:
    """Compute whether a thread is one of those that are tested for.

    A thread that has not come by a branch may have poison for its condition. It has come by another one that it did
    not take as is assumed, so whatever the frozen value is does not matter.
    """
    made: dict[Expression, Value] = {}
    frozen: dict[Expression, Value] = {}
    total: Value | None = None
    for assumed in tested:
        all_of: Value | None = None
        for assumption in assumed:
            test = assumption.test
            if test not in frozen:
                frozen[test] = builder.build("freeze", I1, (_build_expression(test, builder, made),))
            part = frozen[test] if assumption.holds else builder.binary("xor", frozen[test], TRUE)
            all_of = part if all_of is None else builder.binary("and", all_of, part)
        assert all_of is not None
        total = all_of if total is None else builder.binary("or", total, all_of)
    assert total is not None
    return total


def _build_expression(expression: Expression, builder: Builder, made: dict[Expression, Value]) -> Value:
    if expression.leaf is not None:
        return expression.leaf
    known = made.get(expression)
    if known is None:
        operands = [_build_expression(e, builder, made) for e in expression.operands]
        attrs = dict(expression.attrs)
        known = made[expression] = builder.build(expression.op, expression.type, operands, attrs=attrs)
    return known

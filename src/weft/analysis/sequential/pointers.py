"""Addresses as expressions: where an object begins, and an offset in bytes; and loads that stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.memory.addresses import decompose
from weft.analysis.sequential.called_values import called_value
from weft.analysis.sequential.names import place_name, pointee_of, target_of, value_name
from weft.analysis.sequential.recurrences import phi_expression
from weft.analysis.sequential.scope import LoopContext, Scope
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression, floor_division
from weft.ir import ConstExpr, GlobalVariable, Instruction, Value
from weft.ir.metadata import MDNode
from weft.ir.types import PointerType

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction

_LONGEST_NAME = 200
"""Of loads of longer names it is only said of what: a variable's name would be taken for that of a parameter."""


def address_expression(made: Reconstruction, scope: Scope, value: Value) -> Expression:
    """A pointer: a symbol for where an object begins, and an offset in bytes."""
    op = getattr(value, "op", None)
    if op == "getelementptr" and not value.type.is_vector:
        assert isinstance(value, Instruction | ConstExpr)
        address = decompose(value.operands, value.source_type, made.program.module.layout)
        block = value.block if isinstance(value, Instruction) else None
        total = as_expression(address.offset)
        for part, scale in ((address.base, 1), *zip(address.indices, address.scales, strict=True)):
            number = made.of(scope, part) if block is None else made.at(scope, part, block)
            total = total + number * scale
        return total
    if op in ("bitcast", "addrspacecast", "freeze"):
        assert isinstance(value, Instruction | ConstExpr)
        if isinstance(value, Instruction):
            return made.operand(scope, value, value.operands[0])
        return made.of(scope, value.operands[0])
    if isinstance(value, Instruction):
        if op == "phi":
            found = phi_expression(made, scope, value, True)
            if found is not None:
                return found
        elif op == "load":
            found = invariant_load(made, scope, value, True)
            if found is not None:
                return found
        elif op == "call":
            found = called_value(made, scope, value, True)
            if found is not None:
                return found
        elif op == "select":
            a, b = (made.operand(scope, value, v) for v in value.operands[1:])
            if a == b:
                return a
    return as_expression(made.symbol(scope, value, True))


def invariant_load(made: Reconstruction, scope: Scope, load: Instruction, signed: bool) -> Expression | None:
    """A load that reads the same wherever it stands in the largest loop that does not write there."""
    assert load.block is not None
    if not load.is_plain_access:
        return None
    address = made.operand(scope, load, load.pointer)
    region: LoopContext | Scope | None = None
    around = scope.loop_of(load.block)
    # Not written in the whole function that is looked at, or in loops of this one from the innermost outwards.
    top = scope
    while top.parent is not None:
        top = top.parent
    if made.invariants.is_unwritten(load, scope, top):
        region = top
    else:
        loop = around
        while loop is not None and loop.scope is scope and made.invariants.is_unwritten(load, scope, loop):
            region, loop = loop, loop.parent
    if region is None:
        return None
    # As far as its address goes: the value may differ wherever that does, and behind the region.
    variant: LoopContext | None = region.parent if isinstance(region, LoopContext) else None
    for symbol in address.symbols():
        if symbol.loop is not None and (variant is None or variant.contains(symbol.loop)):
            variant = symbol.loop
    key = (address, region, load.type, signed)
    known = made.program.shared_loads.get(key)
    if known is None:
        low, high = made.range_of(scope, load, signed)
        is_pointer = isinstance(load.type, PointerType)
        name, type = _place_of(made, address, load)
        known = made.program.symbol(name, variant, low, high, is_pointer=is_pointer, origin=load)
        made.pointees[known] = target_of(type)
        made.program.shared_loads[key] = known
    return as_expression(known)


def _place_of(made: Reconstruction, address: Expression, load: Instruction) -> tuple[str, MDNode | None]:
    base = base_of(address)
    if base is None:
        return value_name(load), None
    offset = address - as_expression(base)
    if isinstance(base.origin, GlobalVariable) and offset.constant == 0:
        return base.name, None
    type = made.pointees.get(base)
    if type is None and isinstance(base.origin, Value):
        type = pointee_of(base.origin)
    if offset.constant is None:
        element = made.program.module.layout.store_size(load.accessed_type)
        name = f"{base.name}[{floor_division(offset, element)}]"
        # What is looked up where something was looked up has its name in it, twice where a remainder is taken.
        return name if len(name) <= _LONGEST_NAME else f"{base.name}[...]", type
    return place_name(base.name, type, offset.offset)


def base_of(address: Expression) -> Symbol | None:
    """The object that an address is in: its one pointer."""
    found: Symbol | None = None
    for monomial, coefficient in address.terms.items():
        if any(isinstance(a, Symbol) and a.is_pointer for a in monomial):
            if found is not None or len(monomial) != 1 or coefficient != 1:
                return None
            assert isinstance(monomial[0], Symbol)
            found = monomial[0]
    return found

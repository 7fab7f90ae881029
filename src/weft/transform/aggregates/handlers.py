"""Scalar replacement instruction by instruction: what becomes of each one on composite values (`replacement`).

A handler returns the components of the result: one for a scalar, none for no result, None when the instruction has
to stay whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.ir import Builder, ConstInt, Instruction, Poison, Value
from weft.ir.opcodes import OPCODES
from weft.ir.types import IntType, VectorType
from weft.transform.aggregates.bits import same_bits
from weft.transform.aggregates.calls import call_on_components
from weft.transform.aggregates.memory import load_components, store_components
from weft.transform.aggregates.types import components_of, is_composite, member_range

if TYPE_CHECKING:
    from weft.transform.aggregates.replacement import Parts

Handler = Callable[["Parts", Instruction], "list[Value] | None"]


def _each(parts: Parts, i: Instruction) -> list[Value] | None:
    """The same instruction for each component; scalar operands serve all of them."""
    components = components_of(i.type)
    operands = [parts.of(v) for v in i.operands]
    if components is None or any(o is None for o in operands):
        return None
    builder = Builder(before=i)
    results: list[Value] = []
    for k, component in enumerate(components):
        here = [
            o[k] if is_composite(v.type) else v
            for v, o in zip(i.operands, operands, strict=True)
            if o is not None
        ]
        copy = Instruction(
            i.op, component.type, here, flags=i.flags, attrs=i.attrs, name=f"{i.name}.{k}", loc=i.loc
        )
        results.append(builder.insert(copy))
    return results


def _bitcast(parts: Parts, i: Instruction) -> list[Value] | None:
    source, targets = parts.of(i.operands[0]), components_of(i.type)
    if source is None or targets is None:
        return None
    builder = Builder(before=i)
    builder.loc = i.loc
    return same_bits(builder, source, [c.type for c in targets])


def _extract_value(parts: Parts, i: Instruction) -> list[Value] | None:
    components = parts.of(i.operands[0])
    if components is None:
        return None
    return [components[k] for k in member_range(i.operands[0].type, i.attrs["indices"])]


def _insert_value(parts: Parts, i: Instruction) -> list[Value] | None:
    components, inserted = parts.of(i.operands[0]), parts.of(i.operands[1])
    if components is None or inserted is None:
        return None
    result = list(components)
    for k, value in zip(member_range(i.type, i.attrs["indices"]), inserted, strict=True):
        result[k] = value
    return result


def _extract_element(parts: Parts, i: Instruction) -> list[Value] | None:
    vector, index = i.operands
    components = parts.of(vector)
    if components is None:
        return None
    if isinstance(index, ConstInt):
        return [components[index.value] if index.value < len(components) else Poison(i.type)]
    builder = Builder(before=i)
    builder.loc = i.loc
    # An index out of range gives poison, for which any element will do.
    result = components[-1]
    for k, component in enumerate(components[:-1]):
        result = builder.select(_is(builder, index, k), component, result)
    return [result]


def _insert_element(parts: Parts, i: Instruction) -> list[Value] | None:
    vector, value, index = i.operands
    components = parts.of(vector)
    if components is None:
        return None
    if isinstance(index, ConstInt):
        return [value if k == index.value else c for k, c in enumerate(components)]
    builder = Builder(before=i)
    builder.loc = i.loc
    return [builder.select(_is(builder, index, k), value, c) for k, c in enumerate(components)]


def _is(builder: Builder, index: Value, number: int) -> Value:
    assert isinstance(index.type, IntType)
    return builder.icmp("eq", index, ConstInt(index.type, number))


def _shuffle(parts: Parts, i: Instruction) -> list[Value] | None:
    first, second = parts.of(i.operands[0]), parts.of(i.operands[1])
    if first is None or second is None or components_of(i.type) is None:
        return None
    assert isinstance(i.type, VectorType)
    both = [*first, *second]
    return [both[k] if k >= 0 else Poison(i.type.element) for k in i.attrs["mask"]]


def _compare_exchange(parts: Parts, i: Instruction) -> list[Value] | None:
    """The old value is all that is taken from the instruction: it was exchanged if it is the expected one."""
    assert i.block is not None
    i.attrs["weak"] = False
    users = [u for u in i.instruction_users() if u.op == "extractvalue" and u.attrs["indices"] == (1,)]
    if users:
        following = i.block.instructions
        builder = Builder(before=following[following.index(i) + 1])
        builder.loc = i.loc
        exchanged = builder.icmp("eq", builder.extract_value(i, (0,)), i.operands[1])
        for user in users:
            user.replace_all_uses(exchanged)
    return None


HANDLERS: dict[str, Handler] = {
    **{
        name: _each
        for name, o in OPCODES.items()
        if o.form in ("binary", "unary", "cast", "compare", "select", "gep")
    },
    "freeze": _each,
    "bitcast": _bitcast,
    "extractvalue": _extract_value,
    "insertvalue": _insert_value,
    "extractelement": _extract_element,
    "insertelement": _insert_element,
    "shufflevector": _shuffle,
    "load": load_components,
    "store": store_components,
    "call": call_on_components,
    "cmpxchg": _compare_exchange,
}

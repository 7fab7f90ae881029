"""Scalar replacement of loads and stores of composite values (`replacement`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.types import I8, I64, IntType, Type
from weft.transform.aggregates.bits import same_bits
from weft.transform.aggregates.types import byte_offsets, components_of

if TYPE_CHECKING:
    from weft.transform.aggregates.replacement import Parts

_KEPT_METADATA = ("invariant.load", "nontemporal")


def load_components(parts: Parts, load: Instruction) -> list[Value] | None:
    """Load each component; vectors of bits as one integer."""
    layout = parts.module.layout
    components = components_of(load.type)
    if components is None or load.attrs.get("ordering"):
        return None
    builder = Builder(before=load)
    builder.loc = load.loc
    pointer = load.pointer
    offsets = byte_offsets(load.type, layout)
    if offsets is None:
        if load.type.is_aggregate:
            return None
        bits = builder.insert(_access(load, IntType(layout.bit_size(load.type)), [pointer], load.alignment))
        return same_bits(builder, [bits], [c.type for c in components])
    align = load.alignment
    return [
        builder.insert(
            _access(
                load,
                c.type,
                [at_offset(builder, pointer, offset)],
                alignment_at(align, offset),
                f"{load.name}.{k}",
            )
        )
        for k, (c, offset) in enumerate(zip(components, offsets, strict=True))
    ]


def store_components(parts: Parts, store: Instruction) -> list[Value] | None:
    """Store each component; vectors of bits as one integer."""
    layout = parts.module.layout
    value, pointer = store.operands
    components = parts.of(value)
    if components is None or store.attrs.get("ordering"):
        return None
    builder = Builder(before=store)
    builder.loc = store.loc
    align = store.alignment
    offsets = byte_offsets(value.type, layout)
    if offsets is None:
        if value.type.is_aggregate:
            return None
        (bits,) = same_bits(builder, components, [IntType(layout.bit_size(value.type))])
        builder.insert(_access(store, store.type, [bits, pointer], align))
        return []
    for component, offset in zip(components, offsets, strict=True):
        builder.insert(
            _access(
                store,
                store.type,
                [component, at_offset(builder, pointer, offset)],
                alignment_at(align, offset),
            )
        )
    return []


def _access(like: Instruction, type: Type, operands: list[Value], align: int, name: str = "") -> Instruction:
    attrs = {**like.attrs, "align": align}
    access = Instruction(like.op, type, operands, attrs=attrs, name=name, loc=like.loc)
    access.metadata = {k: v for k, v in like.metadata.items() if k in _KEPT_METADATA}
    return access


def at_offset(builder: Builder, pointer: Value, offset: int) -> Value:
    """The place so many bytes behind a pointer."""
    return builder.gep(I8, pointer, (ConstInt(I64, offset),), ("inbounds",)) if offset else pointer


def alignment_at(align: int, offset: int) -> int:
    """The alignment at a distance from an aligned address."""
    return min(align, offset & -offset) if offset else align

"""What people call the values of a program: variables, fields of structures, elements at a fixed place."""

from __future__ import annotations

from weft.analysis.memory.alias import locate
from weft.ir import Argument, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.metadata import MDNode, MDTuple

_TRANSPARENT = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type"}


def value_name(value: Value) -> str:
    """The variable that a value belongs to, else the name that the program's text has for it."""
    for record in value.records:
        variable = record.variable
        if variable is not None and record.kind != "label" and variable.text("name"):
            return variable.text("name") or ""
    name = value.name
    if isinstance(value, Argument):
        # The Python front end: a.shape.0 and a.strides.1 are parts of an array.
        stem, dot, number = name.rpartition(".")
        if dot and number.isdigit() and stem.rpartition(".")[2] in ("shape", "strides"):
            return f"{stem}[{number}]"
    elif isinstance(value, Instruction):
        stem, dot, number = name.rpartition(".")
        name = stem if dot and number.isdigit() and stem else name
        # The Python front end: the hidden counter of a range.
        name = name.removesuffix(".counter") or name
    return name or "?"


def pointer_name(value: Value, layout: DataLayout) -> str:
    """What people call a pointer: a variable, or the place that it is loaded from."""
    if isinstance(value, Instruction) and value.op == "load":
        place = locate(value.pointer, layout)
        if not place.terms:
            return place_name(pointer_name(place.base, layout), pointee_of(place.base), place.offset)[0]
        return f"{pointer_name(place.base, layout)}[...]"
    return value_name(value)


def place_name(base: str, pointee: MDNode | None, offset: int) -> tuple[str, MDNode | None]:
    """What stands `offset` bytes behind a pointer: ``c->data``, ``p[2]``, ``*p``; and the type of what stands there.

    Parameters
    ----------
    base
        The name of the pointer.
    pointee
        The type of what it points to, as debug information has it.
    """
    pointee = _stripped(pointee)
    if pointee is None:
        return (f"*{base}" if offset == 0 else f"*({base} + {offset})"), None
    size = pointee.number("size") // 8
    if pointee.text("tag") in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
        prefix, at = f"{base}->", offset
        if size and not 0 <= offset < size:
            prefix, at = f"{base}[{offset // size}].", offset % size
        return _member(prefix, pointee, at)
    if size and offset % size == 0:
        return (f"*{base}" if offset == 0 else f"{base}[{offset // size}]"), pointee
    return f"*({base} + {offset})", None


def pointee_of(value: Value) -> MDNode | None:
    """The debug type of what a variable points to."""
    for record in value.records:
        variable = record.variable
        if variable is not None and record.kind != "label":
            return target_of(variable.node("type"))
    return None


def target_of(type: MDNode | None) -> MDNode | None:
    """What a pointer type points to; an array's elements."""
    type = _stripped(type)
    return None if type is None or type.text("tag") != "DW_TAG_pointer_type" else type.node("baseType")


def _stripped(type: MDNode | None) -> MDNode | None:
    while type is not None and type.text("tag") in _TRANSPARENT:
        type = type.node("baseType")
    return type


def _member(prefix: str, structure: MDNode, offset: int) -> tuple[str, MDNode | None]:
    members = structure.fields.get("elements")
    for item in members.items if isinstance(members, MDTuple) else ():
        if not isinstance(item, MDNode) or item.text("tag") != "DW_TAG_member":
            continue
        begin = item.number("offset") // 8
        size = item.number("size") // 8
        if begin <= offset < begin + size:
            type = _stripped(item.node("baseType"))
            name = f"{prefix}{item.text('name')}"
            if type is not None and type.text("tag") == "DW_TAG_structure_type":
                return _member(f"{name}.", type, offset - begin)
            if offset == begin:
                return name, type
            if type is not None and type.text("tag") == "DW_TAG_array_type":
                element = _stripped(type.node("baseType"))
                width = 0 if element is None else element.number("size") // 8
                if width and (offset - begin) % width == 0:
                    return f"{name}[{(offset - begin) // width}]", element
            return f"{name} + {offset - begin}", None
    return f"{prefix}+{offset}", None

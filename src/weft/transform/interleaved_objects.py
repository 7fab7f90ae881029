"""Stack objects of lanes laid out element by element.

An object made of elements of e bytes, of which each access takes one, may lie so that the elements with the same number
are neighbours: that of lane t at ``(number * W + t) * e``. What all lanes do to their elements of the same number then
is one vector access. Each distance within the object becomes W times as large; an address keeps its meaning for loads,
stores and comparisons with other addresses of the object.

A part of `objects_in_frame`: only distances within the object and alignments change here, its room is the caller's
business.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.memory.addresses import goes_by
from weft.ir import Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import I8, ArrayType, Type


def derived_addresses(alloca: Instruction) -> list[Instruction] | None:
    """All addresses in the object, itself first; None when there may be others, or they lead to other objects too."""
    found: dict[Value, None] = {alloca: None}
    work: list[Instruction] = [alloca]
    while work:
        for user in work.pop().instruction_users():
            if user.op in ("getelementptr", "phi", "select") and user not in found:
                found[user] = None
                work.append(user)
    addresses = [a for a in found if isinstance(a, Instruction)]
    return addresses if all(_stays_inside(a, found) for a in addresses) else None


def _stays_inside(address: Instruction, found: Collection[Value]) -> bool:
    if address.op == "phi" and not all(v in found for v in address.operands):
        return False
    if address.op == "select" and not all(v in found for v in address.operands[1:]):
        return False
    if address.op == "getelementptr" and any(v in found for v in address.operands[1:]):
        return False
    return all(_is_followed(user, address) for user in address.instruction_users())


def _is_followed(user: Instruction, address: Value) -> bool:
    if user.op == "store":
        return user.stored_value is not address and not user.is_ordered
    if user.op == "load":
        return not user.is_ordered
    return user.op in ("getelementptr", "phi", "select")


def element_bytes(addresses: Collection[Instruction], layout: DataLayout) -> int | None:
    """The bytes of the object's elements; None when accesses or distances are of different sizes."""
    sizes: set[int] = set()
    for address in addresses:
        for user in address.instruction_users():
            if user.op in ("load", "store"):
                type = user.accessed_type
                if layout.bit_size(type) != 8 * layout.size(type):
                    return None
                sizes.add(layout.size(type))
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    steps = [a for a in addresses if a.op == "getelementptr"]
    return size if all(_is_multiple(step, size, layout) for step in steps) else None


def _is_multiple(step: Instruction, size: int, layout: DataLayout) -> bool:
    """Whether a ``getelementptr`` goes by whole elements, along arrays only."""
    type: Type = step.source_type
    for _ in step.operands[2:]:
        if not isinstance(type, ArrayType):
            return False
        type = type.element
    return goes_by(step, size, layout)


def spread_elements(addresses: Collection[Instruction], size: int, lanes: int, layout: DataLayout) -> None:
    """Make each distance within the object `lanes` times as large; an element of `size` bytes is aligned as such."""
    for address in addresses:
        if address.op == "getelementptr":
            depth = len(address.operands) - 2
            address.attrs["source_type"] = _spread(address.source_type, depth, lanes, layout)
        for user in address.instruction_users():
            if user.op in ("load", "store"):
                user.attrs["align"] = min(user.attrs.get("align", 0), size & -size)


def _spread(type: Type, depth: int, lanes: int, layout: DataLayout) -> Type:
    """A type `lanes` times as large, an array down to so many levels as the type is."""
    if depth and isinstance(type, ArrayType):
        return ArrayType(_spread(type.element, depth - 1, lanes, layout), type.count)
    return ArrayType(I8, layout.size(type) * lanes)

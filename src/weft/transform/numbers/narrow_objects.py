"""Stack objects whose elements all fit a narrower type get elements of it.

    above = alloca [129 x i32]                  above = alloca [129 x i16]
    x = load i32, above[k]                      x = sext (load i16, above[k])
    store i32 y, above[k]                       store i16 (trunc y), above[k]

Lanes have such objects side by side: what a group of lanes keeps there takes half of the cache, and an access half of
the registers. What becomes of loads and stores is done with the other instructions that get fewer bits
(`weft.transform.numbers.narrow_chains`); here are the objects and the addresses in them.

Precondition: P-LLVM without predicates, shadows and guards; ranges hold for all that is loaded and stored.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from weft.analysis.memory.addresses import decompose, with_factors
from weft.analysis.memory.stack_objects import StackObjects
from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.layout import DataLayout
from weft.ir.types import I64, ArrayType, IntType


class NarrowObject(Struct, eq=False):
    """An object of integers, and all that is done with it.

    Parameters
    ----------
    site
        The alloca.
    type
        Of its elements.
    addresses
        Those computed in it, operands first; the alloca itself is not among them.
    loads, stores, fills
        The accesses; fills clear a part of it.
    """

    site: Instruction
    type: IntType
    addresses: list[Instruction] = field(default_factory=list)
    loads: list[Instruction] = field(default_factory=list)
    stores: list[Instruction] = field(default_factory=list)
    fills: list[Instruction] = field(default_factory=list)


def objects_of_integers(
    objects: StackObjects, layout: DataLayout, fits: Callable[[Value], bool]
) -> list[NarrowObject]:
    """The objects of which each element that is loaded or stored fits."""
    found: list[NarrowObject] = []
    for site in objects.sites:
        if not isinstance(site, Instruction) or site in objects.escaped:
            continue
        loads = [a for a in objects.accesses[site] if a.op == "load"]
        if not loads or not isinstance(loads[0].type, IntType):
            continue
        each = NarrowObject(site, loads[0].type)
        if _is_of_elements(each, layout, fits):
            found.append(each)
    return found


def _is_of_elements(each: NarrowObject, layout: DataLayout, fits: Callable[[Value], bool]) -> bool:
    """Whether all uses of an object are known, and made of its elements; notes them."""
    size = layout.size(each.type)
    if layout.bit_size(each.type) != 8 * size or not isinstance(each.site.operands[0], ConstInt):
        return False
    work = [each.site]
    while work:
        pointer = work.pop()
        for user in pointer.instruction_users():
            if user.op == "getelementptr" and user.operands[0] is pointer and not user.type.is_vector:
                address = with_factors(decompose(user.operands, user.source_type, layout))
                if len(address.scales) > 1 or any(scale != size for scale in address.scales):
                    return False
                if address.offset % size or user in each.addresses:
                    return False
                each.addresses.append(user)
                work.append(user)
            elif user.op == "load" and user.is_plain_access and user.type == each.type and fits(user):
                each.loads.append(user)
            elif user.op == "store" and user.is_plain_access and user.stored_value is not pointer:
                if user.stored_value.type != each.type or not fits(user.stored_value):
                    return False
                each.stores.append(user)
            elif _clears(user, pointer, size):
                each.fills.append(user)
            elif not (user.callee_name or "").startswith("llvm.lifetime.") or pointer is not each.site:
                return False
    return True


def _clears(user: Instruction, pointer: Instruction, size: int) -> bool:
    """Whether a call fills whole elements with zeros."""
    if not (user.callee_name or "").startswith("llvm.memset.") or user.args[0] is not pointer:
        return False
    _, value, length, volatile = user.args
    numbers = (value, length, volatile)
    if not all(isinstance(v, ConstInt) for v in numbers):
        return False
    value, length, volatile = (v.value for v in numbers if isinstance(v, ConstInt))
    return value == 0 and volatile == 0 and length % size == 0


def narrow_places(each: NarrowObject, to: IntType, layout: DataLayout) -> dict[Value, Value]:
    """Make the object with narrow elements; where each place in it is, by where it was."""
    site, size = each.site, layout.size(each.type)
    build = Builder(before=site)
    build.loc = site.loc
    count = site.operands[0]
    assert isinstance(count, ConstInt)
    elements = -(-layout.size(site.allocated_type) * count.value // size)
    places: dict[Value, Value] = {site: build.alloca(ArrayType(to, elements), name=site.name)}
    for address in each.addresses:
        linear = with_factors(decompose(address.operands, address.source_type, layout))
        build = Builder(before=address)
        build.loc = address.loc
        flags = tuple(flag for flag in address.flags if flag == "inbounds")
        place = places[linear.base]
        if linear.indices:
            place = build.gep(to, place, linear.indices, flags)
        if linear.offset:
            place = build.gep(to, place, (const_int(linear.offset // size),), flags)
        places[address] = place
    return places


def finish_object(each: NarrowObject, to: IntType, places: dict[Value, Value], layout: DataLayout) -> None:
    """Let fills have the narrow object, and remove what was, which nobody loads from or stores to any more."""
    narrower = layout.size(each.type) // layout.size(to)
    for fill in each.fills:
        length = fill.args[2]
        assert isinstance(length, ConstInt)
        fill.attrs.pop("arg_attrs", None)
        fill.set_operand(0, places[fill.args[0]])
        fill.set_operand(2, const_int(length.value // narrower, length.type))
    for address in reversed(each.addresses):
        address.erase()
    for user in list(each.site.instruction_users()):
        # Its life.
        for index, operand in enumerate(user.operands):
            if operand is each.site:
                user.set_operand(index, places[each.site])
            elif isinstance(operand, ConstInt) and operand.type == I64 and operand.signed > 0:
                user.set_operand(index, const_int(operand.value // narrower))
    each.site.erase()

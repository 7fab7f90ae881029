"""Stack objects of lanes, and addresses in them, by the layout of `stack_objects`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

from weft.analysis.memory.addresses import LinearAddress, decompose, with_factors
from weft.codegen.widen.context import Widening
from weft.codegen.widen.stack_objects import CACHE_LINE, object_bytes
from weft.diag.errors import UnsupportedError
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I8, I32, I64, ArrayType, IntType, PointerType, int_type


def widen_alloca(w: Widening, alloca: Instruction) -> None:
    """One object when all lanes do the same to it, else one for each lane."""
    layout = w.module.layout
    if alloca in w.kept and w.divergence.shape(alloca).is_uniform:
        copy = alloca.clone()
        w.target.entry.insert(0, copy)
        w.set_scalar(alloca, copy)
        return
    if not isinstance(alloca.operands[0], ConstInt):
        raise UnsupportedError("a stack object of variable size cannot be widened")
    type, width = alloca.allocated_type, w.lanes.width
    align = max(alloca.attrs.get("align", 0), layout.align(type), 16)
    element = w.divergence.element_bytes(alloca)
    if element is not None:
        w.remark(alloca, "elements side by side")
        align = max(align, min(element * width, CACHE_LINE))
    size = object_bytes(alloca, layout)
    attrs = {"allocated_type": ArrayType(I8, size * width), "align": align, "space": 0}
    objects = Instruction("alloca", PointerType(0), (ConstInt(I32, 1),), name=alloca.name, attrs=attrs)
    w.target.entry.insert(0, objects)
    if alloca in w.kept:
        w.set_scalar(alloca, objects)
    else:
        steps = w.lanes.constant(I64, [(element or size) * t for t in range(width)])
        w.set_vector(alloca, w.builder.gep(I8, objects, (steps,)))


def widen_step(w: Widening, gep: Instruction) -> bool:
    """Move an address within interleaved objects; False when it leads to none."""
    element = w.divergence.element_bytes(gep)
    if element is None:
        return False
    address = decompose(gep.operands, gep.source_type, w.module.layout)
    if gep in w.kept:
        w.set_scalar(gep, _moved(w, address, w.scalar, gep.name))
    elif w.is_scalar(address.base):
        w.set_vector(gep, _from_one_address(w, address, element, gep.name))
    else:
        w.set_vector(gep, _moved(w, address, w.vector, gep.name))
    return True


def _moved(w: Widening, address: LinearAddress, value_of: Callable[[Value], Value], name: str) -> Value:
    """The address moved W times as far as one thread would."""
    width, moved = w.lanes.width, value_of(address.base)
    for index, scale in zip(address.indices, address.scales, strict=True):
        moved = w.builder.gep(ArrayType(I8, scale * width), moved, (value_of(index),), name=name)
    if address.offset or not address.indices:
        moved = w.builder.gep(I8, moved, (ConstInt(I64, address.offset * width),), name=name)
    return moved


def _from_one_address(w: Widening, address: LinearAddress, element: int, name: str) -> Value:
    """Addresses as one address and 32-bit numbers of elements: what gathers take.

    Objects are far smaller than 4 GiB, so in lanes that access memory 32 bits of an index are enough.
    """
    strides = [s for s in w.divergence.shape(address.base).strides if isinstance(s, int)]
    first = [(o + address.offset * w.lanes.width) // element for o in w.lanes.offsets(strides)]
    address = with_factors(address)
    total = element_numbers(w, first, zip(address.indices, address.scales, strict=True), element)
    return w.builder.gep(int_type(8 * element), w.scalar(address.base), (total,), name=name)


def element_numbers(
    w: Widening, first: Sequence[int], terms: Iterable[tuple[Value, int]], element: int
) -> Value:
    """Each lane's number of an element among those of all lanes, in 32 bits.

    Parameters
    ----------
    first
        Of each lane, the number where all indices are 0.
    terms
        Indices, and how many bytes of one thread's object each counts for.
    element
        Bytes of an element.
    """
    total: Value = w.lanes.constant(I32, first)
    for index, scale in terms:
        count = w.vector(index)
        rest = element // gcd(scale, element)
        if rest > 1:
            # The index is a multiple of this, be it a distance in bytes (`weft.analysis.memory.multiples`).
            count, scale = _divided(w, count, rest), scale * rest
        number = _as_i32(w, count)
        factor = w.lanes.splat(ConstInt(I32, scale // element * w.lanes.width % 2**32))
        total = w.builder.binary("add", w.builder.binary("mul", number, factor), total)
    return total


def _divided(w: Widening, count: Value, power: int) -> Value:
    """Numbers that are multiples of a power of two, divided by it."""
    scalar = count.type.scalar
    assert isinstance(scalar, IntType)
    return w.builder.binary("ashr", count, w.lanes.splat(ConstInt(scalar, power.bit_length() - 1)))


def _as_i32(w: Widening, index: Value) -> Value:
    scalar = index.type.scalar
    assert isinstance(scalar, IntType)
    if scalar.bits == 32:
        return index
    return w.builder.cast("trunc" if scalar.bits > 32 else "sext", index, w.lanes.vector(I32))

"""Calls of LLVM's masked loads, stores, gathers and scatters.

Where there is no instruction for a gather or scatter, LLVM takes it apart, and asks for each lane whether it is active:
branches that no processor foresees where lanes disagree. There passive lanes access a spare object, without a question.
"""

from __future__ import annotations

from weft.codegen.widen.context import Widening, broadcast
from weft.ir import Instruction, Poison, Value
from weft.ir.types import VOID, FunctionType, IntType, PointerType, Type, VectorType


def masked_load(w: Widening, type: VectorType, address: Value, mask: Value, align: int) -> Instruction:
    """Load the elements of `type` behind `address` for which `mask` is true; the others are poison."""
    name = f"llvm.masked.load.{mangled(type)}.{mangled(address.type)}"
    return _call(w, name, type, [address, mask, Poison(type)], 0, align)


def masked_store(w: Widening, data: Value, address: Value, mask: Value, align: int) -> Instruction:
    """Store the elements of a vector for which `mask` is true."""
    name = f"llvm.masked.store.{mangled(data.type)}.{mangled(address.type)}"
    return _call(w, name, VOID, [data, address, mask], 1, align)


def store_some(
    w: Widening,
    store: Instruction,
    data: Value,
    address: Value,
    mask: Value | None,
    align: int,
    may_write_back: bool | None = None,
) -> Instruction:
    """Store the elements of a vector that lie side by side, those for which `mask` is true if there is one.

    Where masked stores are slow, or branches for each lane, all are stored if passive lanes may write back what they
    find: those of `store`, unless it is said.
    """
    if may_write_back is None:
        may_write_back = w.may_write_back(store)
    if mask is not None and not w.isa.mask_registers and may_write_back:
        found = w.builder.load(data.type, address, align=align)
        found.loc = store.loc
        # LLVM takes a choice between a value and what is there for a masked store, unless it is frozen.
        data, mask = w.builder.select(mask, data, w.builder.unary("freeze", found)), None
    built = (
        w.builder.store(data, address, align) if mask is None else masked_store(w, data, address, mask, align)
    )
    built.loc = store.loc
    return built


def masked_gather(w: Widening, type: VectorType, addresses: Value, mask: Value, align: int) -> Instruction:
    """Load an element from each of the addresses for which `mask` is true; the others are poison."""
    if not (w.isa.gather and w.isa.mask_registers):
        addresses, mask = _for_all_lanes(w, type, addresses, mask, written=False)
    name = f"llvm.masked.gather.{mangled(type)}.{mangled(addresses.type)}"
    return _call(w, name, type, [addresses, mask, Poison(type)], 0, align)


def masked_scatter(w: Widening, data: Value, addresses: Value, mask: Value, align: int) -> Instruction:
    """Store the elements for which `mask` is true to the addresses."""
    assert isinstance(data.type, VectorType)
    if not (w.isa.scatter and w.isa.mask_registers):
        addresses, mask = _for_all_lanes(w, data.type, addresses, mask, written=True)
    name = f"llvm.masked.scatter.{mangled(data.type)}.{mangled(addresses.type)}"
    return _call(w, name, VOID, [data, addresses, mask], 1, align)


def _for_all_lanes(
    w: Widening, type: VectorType, addresses: Value, mask: Value, *, written: bool
) -> tuple[Value, Value]:
    """Addresses that all lanes may access, those of passive ones in a spare object, and the mask of all lanes."""
    everyone = w.lanes.all_lanes
    if mask == everyone or type.count != w.lanes.width or not isinstance(addresses.type, VectorType):
        return addresses, mask
    spare = w.spare_place(type.element, addresses.type.element, written=written)
    return w.builder.select(mask, addresses, broadcast(w.builder, spare, w.lanes)), everyone


def _call(
    w: Widening, name: str, result: Type, operands: list[Value], pointer_at: int, align: int
) -> Instruction:
    """A call whose pointer argument carries the alignment of each element."""
    callee = w.module.declare(name, FunctionType(result, tuple(o.type for o in operands)))
    call = w.builder.call(callee, operands)
    if align:
        attrs: list[tuple[str, ...]] = [() for _ in operands]
        attrs[pointer_at] = (f"align {align}",)
        call.attrs["arg_attrs"] = tuple(attrs)
    return call


def mangled(type: Type) -> str:
    """A type as it appears in the name of an overloaded LLVM intrinsic."""
    if isinstance(type, VectorType):
        return f"v{type.count}{mangled(type.element)}"
    if isinstance(type, IntType):
        return f"i{type.bits}"
    if isinstance(type, PointerType):
        return f"p{type.space}"
    return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[str(type)]

"""Gathers: a load for each lane from an address of its own.

Where processors have no masks for gathers, LLVM takes these apart into a load for each lane. An address of 64 bits that
was computed in a vector costs three instructions a lane to take out; a number of 32 bits costs one, and the load adds
it to the base. So numbers stay numbers there (`weft.codegen.widen.lane_addresses`), those of passive lanes 0: an array
begins at its base, which can be read if some lane reads any of it. If none does, a spare object is the base. Numbers
that are not below 0 are extended by zeros, which takes no instruction. `weft.target.rewrites.numbered_accesses` makes
the loads. Of elements of 8 and 16 bits no processor gathers any, but words that they are in
(`weft.target.rewrites.word_gathers`). Scatters of all lanes are the same; passive lanes must not write, and have 64-bit
addresses of a spare object.
"""

from __future__ import annotations

from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_addresses import LaneNumbers, each_number, lane_addresses, lane_numbers
from weft.codegen.widen.masked import masked_gather
from weft.codegen.widen.strided import strided_addresses
from weft.ir import Argument, ConstInt, Instruction, Value
from weft.ir.function import GlobalVariable
from weft.ir.types import I8, I16, I32, I64, VectorType, int_type

MOST_BEHIND = 1 << 28
"""Elements from which on a constant is no part of an instruction's address, of which each is 8 bytes or less."""


def gather(w: Widening, load: Instruction, type: VectorType, align: int, moved: int = 0) -> Instruction:
    """Load an element of `type` for each active lane from where `load` does, or so many bytes behind that."""
    mask = w.active()
    strided = strided_addresses(w, load, moved)
    if strided is not None:
        return masked_gather(w, type, strided, mask, align)
    addresses = None if w.isa.mask_registers else _numbered_addresses(w, load, type, moved)
    if addresses is None:
        addresses = _word_addresses(w, load, type, moved) or lane_addresses(w, load, moved)
        return masked_gather(w, type, addresses, mask, align)
    return masked_gather(w, type, addresses, w.lanes.all_lanes, align)


def scatter_addresses(w: Widening, store: Instruction) -> Value:
    """The addresses of all lanes' stores."""
    strided = strided_addresses(w, store)
    if strided is not None:
        return strided
    numbers = None if w.isa.mask_registers or w.mask is not None else lane_numbers(w, store)
    if numbers is None or not numbers.natural:
        return lane_addresses(w, store)
    wide = w.builder.cast("zext", each_number(w, numbers), w.lanes.vector(I64), ("nneg",))
    return w.builder.gep(int_type(8 * numbers.unit), numbers.base, (wide,))


def _numbered_addresses(w: Widening, load: Instruction, type: VectorType, moved: int) -> Value | None:
    """Addresses from which all lanes may load, as numbers behind one; None where there are no such."""
    numbers = lane_numbers(w, load, moved)
    if numbers is None:
        return None
    element = int_type(8 * numbers.unit)
    found = _less_constant(w, load, numbers) if w.mask is None and numbers.natural else None
    if found is not None:
        own, constant = found
        return w.builder.gep(element, w.builder.gep(element, numbers.base, (constant,)), (own,))
    each, base = each_number(w, numbers), numbers.base
    if w.mask is not None:
        if not numbers.begins:
            return None
        each = w.builder.select(w.mask, each, w.lanes.splat(ConstInt(I32, 0)))
        some = w.some_active()
        if some is not None and not isinstance(base, GlobalVariable) and not _is_on_stack(base):
            base = w.builder.select(some, base, w.spare_place(type.element, base.type, written=False))
    if numbers.natural:
        each = w.builder.cast("zext", each, w.lanes.vector(I64), ("nneg",))
    return w.builder.gep(element, base, (each,))


def _less_constant(w: Widening, load: Instruction, numbers: LaneNumbers) -> tuple[Value, ConstInt] | None:
    """Numbers that are extended by sign, and a constant above 0 that is added to them behind that.

    What is natural less such a constant does not wrap around, though the sum may in other lanes of other accesses. So
    neighbours, as ``table[k]`` and ``table[k + 1]``, have numbers in common, each with a base of its own.
    """
    terms = w.addresses.location(load.pointer).terms
    if not isinstance(numbers.same, ConstInt):
        return None
    own, constant = numbers.own, numbers.same.signed
    index = next(iter(terms), None) if len(terms) == 1 else None
    if isinstance(index, Instruction) and index.op == "sext":
        (index,) = index.operands
    if isinstance(index, Instruction) and index.op == "add" and numbers.unit in terms.values():
        number, more = index.operands
        if number.type == I32 and isinstance(more, ConstInt):
            own, constant = w.vector(number), constant + more.signed
    return (own, ConstInt(I64, constant)) if 0 < constant < MOST_BEHIND else None


def _word_addresses(w: Widening, load: Instruction, type: VectorType, moved: int) -> Value | None:
    """Addresses of elements of less than 32 bits, as natural numbers, where words that hold them may be gathered.

    Words that have just been stored to in part would be waited for.
    """
    if type.element not in (I8, I16) or not w.isa.gathers_words:
        return None
    numbers = lane_numbers(w, load, moved)
    if numbers is None or not numbers.natural or numbers.unit != w.module.layout.size(type.element):
        return None
    base = w.addresses.location(load.pointer).base
    if not isinstance(base, Argument) or any(
        i.op == "store" and w.addresses.location(i.pointer).base is base for i in w.source.instructions()
    ):
        return None
    wide = w.builder.cast("zext", each_number(w, numbers), w.lanes.vector(I64), ("nneg",))
    return w.builder.gep(int_type(8 * numbers.unit), numbers.base, (wide,))


def _is_on_stack(base: Value) -> bool:
    return isinstance(base, Instruction) and base.op == "alloca"

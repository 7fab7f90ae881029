"""Updates of integers at places of the lanes' own, where processors have no scatter for them: counters of histograms.

A gather and a scatter of bytes are taken apart: each lane's element is loaded and put into a vector, and what is added
there is taken out again and stored, by addresses that are taken out of vectors, too. Where a load, one operation and a
store to the same place are all that happens to it, each lane does the three, which most processors have as one
instruction, ``add byte [base + number], 1``. Only the number is taken out of a vector, two of 32 bits at a time.

It is for blocks that all lanes run. Lanes that go to one place do so one after the other, as threads may.

Precondition: the load has been found to be a gather. Postcondition: neither the load nor the operation has a vector,
which nobody else asks for; the store makes all three.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.codegen.widen.context import Widening
from weft.codegen.widen.in_lanes import in_lanes
from weft.codegen.widen.lane_addresses import each_number, lane_numbers
from weft.ir import ConstInt, Instruction, Value
from weft.ir.effects import may_not_return, may_write
from weft.ir.types import I64, IntType, VectorType, int_type

_OPERATIONS = frozenset({"add", "sub", "and", "or", "xor"})
_SCATTERED = 32
"""The least bits of elements that processors scatter."""


class ApartUpdate(Struct, frozen=True):
    """A load, what is computed of it, and the store of that."""

    load: Instruction
    operation: Instruction
    store: Instruction


def update_of(w: Widening, load: Instruction) -> ApartUpdate | None:
    """The update that begins with a gather, if there is one that had better be made lane by lane."""
    type = load.type
    if not isinstance(type, IntType) or type.bits not in (8, 16, 32, 64):
        return None
    if (type.bits >= _SCATTERED and w.isa.scatter) or w.mask is not None:
        return None
    operation = _only_user(load)
    if operation is None or operation.op not in _OPERATIONS or operation.operands.count(load) != 1:
        return None
    store = _only_user(operation)
    if store is None or store.op != "store" or not store.is_plain_access:
        return None
    if store.pointer is not load.pointer or store.stored_value is not operation or load.total or store.total:
        return None
    return ApartUpdate(load, operation, store) if _is_undisturbed(load, store) else None


def _only_user(value: Instruction) -> Instruction | None:
    users = list(value.users)
    user = users[0] if len(users) == 1 else None
    return user if isinstance(user, Instruction) and user.block is value.block else None


def _is_undisturbed(load: Instruction, store: Instruction) -> bool:
    """Whether nothing between the two may write or stay away."""
    block = load.block
    assert block is not None
    here = block.instructions
    between = here[here.index(load) + 1 : here.index(store)]
    return not any(may_write(i) or may_not_return(i) for i in between)


def widen_apart_update(w: Widening, update: ApartUpdate) -> None:
    """Make the three for one lane after the other."""
    builder, load, operation, store = w.builder, update.load, update.operation, update.store
    first, second = operation.operands
    others = in_lanes(w, second if first is load else first)
    for address, other in zip(_addresses(w, store), others, strict=True):
        old = builder.load(load.type, address, align=load.alignment)
        new = builder.binary(operation.op, *((old, other) if first is load else (other, old)))
        builder.store(new, address, align=store.alignment)


def _addresses(w: Widening, store: Instruction) -> Iterator[Value]:
    """The places of the lanes, each when it is asked for."""
    numbers = lane_numbers(w, store)
    if numbers is None or w.lanes.width % 2:
        yield from in_lanes(w, store.pointer)
        return
    builder, half = w.builder, ConstInt(I64, 32)
    words = builder.cast("bitcast", each_number(w, numbers), VectorType(I64, w.lanes.width // 2))
    extended = "lshr" if numbers.natural else "ashr"
    for k in range(w.lanes.width // 2):
        word = builder.extract_element(words, ConstInt(I64, k))
        # LLVM would take halves that are cut off out of the vector one by one.
        if numbers.natural:
            low = builder.binary("and", word, ConstInt(I64, (1 << 32) - 1))
        else:
            low = builder.binary("ashr", builder.binary("shl", word, half), half)
        for number in (low, builder.binary(extended, word, half)):
            yield builder.gep(int_type(8 * numbers.unit), numbers.base, (number,))

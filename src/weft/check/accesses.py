"""What a function reads and writes through a pointer, as far as it shows: records, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from weft.analysis.integers.declared_ranges import declared
from weft.analysis.integers.intervals import Interval
from weft.ir import ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, Type, VectorType

_ACCESSES = ("load", "store", "atomicrmw", "cmpxchg")


class Field(Struct, frozen=True):
    """A number in a record.

    Parameters
    ----------
    type
        Its type.
    promised
        The range of what loads of it give; None where nothing is promised.
    """

    type: Type
    promised: Interval | None = None


class Record(Struct):
    """The numbers that lie one after the other where a pointer leads, again and again.

    Parameters
    ----------
    fields
        Each by its offset in bytes.
    stride
        Bytes from one record to the next; 0 where the pointer is not stepped.
    """

    fields: dict[int, Field] = field(default_factory=dict)
    stride: int = 0

    def bytes(self, layout: DataLayout) -> int:
        """How many bytes a record has."""
        end = max((at + layout.size(f.type) for at, f in self.fields.items()), default=0)
        largest = max((layout.align(f.type) for f in self.fields.values()), default=1)
        return self.stride or -(-end // largest) * largest

    def folded(self, layout: DataLayout) -> Record:
        """The same with each field within one record, and none that overlaps another."""
        size = self.bytes(layout)
        made = Record(stride=size)
        taken: list[tuple[int, int]] = []
        for at, each in sorted(self.fields.items()):
            low = at % size
            high = low + layout.size(each.type)
            if high <= size and not any(low < end and begin < high for begin, end in taken):
                made.fields[low] = each
                taken.append((low, high))
        return made


def record_at(pointer: Value, layout: DataLayout) -> Record:
    """What is accessed through a pointer; no fields where none of that shows."""
    found = Record()
    seen, left = {pointer}, [(pointer, 0)]
    while left:
        value, offset = left.pop(0)
        for user in value.instruction_users():
            if user.op in _ACCESSES and user.pointer is value:
                for at, each in _numbers(user, offset, layout):
                    found.fields.setdefault(at, each)
            elif user not in seen and (moved := _moved(user, value, offset, found, layout)) is not None:
                seen.add(user)
                left.append((user, moved))
    return found


def _numbers(access: Instruction, offset: int, layout: DataLayout) -> Iterator[tuple[int, Field]]:
    type = access.accessed_type
    if isinstance(type, VectorType):
        size = layout.size(type.element)
        yield from ((offset + k * size, Field(type.element)) for k in range(type.count))
        return
    promised = declared(access, type.bits) if access.op == "load" and isinstance(type, IntType) else None
    yield offset, Field(type, promised)


def _moved(user: Instruction, value: Value, offset: int, found: Record, layout: DataLayout) -> int | None:
    """Where in a record an instruction leads that is made of a pointer; None where it is not."""
    if user.op in ("phi", "select", "freeze"):
        return offset
    if user.op != "getelementptr" or user.operands[0] is not value:
        return None
    type, (first, *inner) = user.source_type, user.operands[1:]
    if not all(isinstance(i, ConstInt) for i in inner):
        # An array in the record: what is in it repeats.
        found.stride = found.stride or layout.size(type)
        return offset
    offset += layout.offset(type, tuple(i.value for i in inner if isinstance(i, ConstInt)))
    if isinstance(first, ConstInt):
        low = first.value
        bits = first.type.bits if isinstance(first.type, IntType) else 64
        low -= (low >> (bits - 1) & 1) << bits
        return offset + low * layout.size(type)
    found.stride = max(found.stride, layout.size(type))
    return offset

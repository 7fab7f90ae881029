"""Sizes, alignments and offsets of types in memory, by LLVM's data layout rules."""

from __future__ import annotations

from functools import cache

from msgspec import Struct, field

from weft.diag.errors import IRSyntaxError
from weft.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align


class DataLayout(Struct, frozen=True):
    """The part of a module's data layout that decides offsets; all results are in bytes.

    `pointer_bytes` maps an address space to its pointer size (8 where missing), `integer_align` an integer
    width in bits, in ascending order, to its ABI alignment.
    """

    pointer_bytes: tuple[tuple[int, int], ...] = ()
    integer_align: tuple[tuple[int, int], ...] = ((8, 1), (16, 2), (32, 4), (64, 8), (128, 16))
    little_endian: bool = field(default=True)

    def pointer_size(self, space: int) -> int:
        size = 8
        for known, bytes in self.pointer_bytes:
            if known == space:
                return bytes
            if known == 0:
                size = bytes
        return size

    def size(self, type: Type) -> int:
        """Bytes from one element of an array of `type` to the next (LLVM's alloc size)."""
        return _round_up(self.store_size(type), self.align(type))

    def store_size(self, type: Type) -> int:
        """Bytes that a load or store of `type` touches."""
        if isinstance(type, (IntType, FloatType)):
            return (type.bits + 7) // 8
        if isinstance(type, PointerType):
            return self.pointer_size(type.space)
        if isinstance(type, VectorType):
            return (self.bit_size(type.element) * type.count + 7) // 8
        if isinstance(type, ArrayType):
            return self.size(type.element) * type.count
        if isinstance(type, StructType):
            return self.struct_layout(type)[1]
        raise TypeError(f"{type} has no size")

    def bit_size(self, type: Type) -> int:
        """Bits of a first-class value (i1 is 1 bit)."""
        if isinstance(type, (IntType, FloatType)):
            return type.bits
        if isinstance(type, VectorType):
            return self.bit_size(type.element) * type.count
        return self.store_size(type) * 8

    def align(self, type: Type) -> int:
        """ABI alignment in bytes."""
        if isinstance(type, IntType):
            return self._integer_align(type.bits)
        if isinstance(type, VectorType):
            size = max(1, self.store_size(type))
            return 1 << (size - 1).bit_length()
        if isinstance(type, ArrayType):
            return self.align(type.element)
        if isinstance(type, StructType):
            if type.packed or not type.fields:
                return 1
            return max(self.align(f) for f in type.fields)
        return self.store_size(type)

    def _integer_align(self, bits: int) -> int:
        """That of the least integer in the table that is no narrower, or of the widest one."""
        for known, align in self.integer_align:
            if known >= bits:
                return align
        return self.integer_align[-1][1]

    def struct_layout(self, type: StructType) -> tuple[tuple[int, ...], int]:
        """The offset of each field and the size of the struct, padding at the end included."""
        if type.fields is None:
            raise TypeError(f"{type} is opaque and has no size")
        offsets: list[int] = []
        end = 0
        for f in type.fields:
            start = end if type.packed else _round_up(end, self.align(f))
            offsets.append(start)
            end = start + self.size(f)
        return tuple(offsets), end if type.packed else _round_up(end, self.align(type))

    def offset(self, type: Type, indices: tuple[int, ...]) -> int:
        """The byte offset of the member of `type` at constant `indices`."""
        total = 0
        for index in indices:
            if isinstance(type, StructType):
                assert type.fields is not None
                total += self.struct_layout(type)[0][index]
                type = type.fields[index]
            else:
                assert isinstance(type, (ArrayType, VectorType))
                total += index * self.size(type.element)
                type = type.element
        return total


@cache
def parse_datalayout(text: str) -> DataLayout:
    """Read a ``target datalayout`` string; an empty one means x86-64 (LLVM 22).

    Raises
    ------
    IRSyntaxError
        A number in it is none.
    """
    pointers: dict[int, int] = {}
    integers = dict(DataLayout().integer_align)
    little = True
    for part in text.split("-"):
        fields = part.split(":")
        try:
            if part in ("e", "E"):
                little = part == "e"
            elif part.startswith("p") and len(fields) > 1:
                pointers[int(fields[0][1:] or 0)] = int(fields[1]) // 8
            elif part.startswith("i") and len(fields) > 1 and fields[0][1:].isdigit():
                integers[int(fields[0][1:])] = max(1, int(fields[1]) // 8)
        except ValueError:
            raise IRSyntaxError(f"the target's data layout cannot be read at {part!r}") from None
    return DataLayout(tuple(sorted(pointers.items())), tuple(sorted(integers.items())), little)


X86_64_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

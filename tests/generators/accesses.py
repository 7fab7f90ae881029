"""Random accesses of every form and type: rows, records of arrays, atomics, whole objects.

Beside its slice (`generators.memory`) each thread owns one element of each row behind the slices, and its members of
arrays of records; all threads have a few counters in common, each with one operation that commutes with itself and
whose result nobody reads. So the order of threads shows nowhere.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from generators.numbers import FLOATS, INTEGERS, plain
from weft.ir import Builder, ConstInt, Function, Value
from weft.ir.types import (
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    VOID,
    FloatType,
    FunctionType,
    IntType,
    Type,
)

if TYPE_CHECKING:
    from generators.expressions import Expressions, Pool
    from generators.memory import MemoryStatements

THREADS = 64
SLICES = THREADS * 128
ROW = THREADS * 8
_ROWS: tuple[tuple[Type, bool], ...] = (
    (I32, False), (F32, False), (I8, False), (I64, True), (I16, True), (F64, False), (F32, True), (F16, False),
)  # fmt: skip
"""The type of each row, and whether threads own its elements in reverse."""
_RECORDS = SLICES + ROW * len(_ROWS)
_MEMBERS = (2, 3, 4, 8)
"""Members of the records of each array; all are i32."""
COUNTERS = _RECORDS + 4 * THREADS * sum(_MEMBERS)
_COUNTERS: tuple[tuple[str, Type], ...] = (
    ("add", I32), ("xor", I64), ("or", I32), ("and", I32), ("umax", I32), ("min", I64), ("add", I64), ("fadd", F32),
    ("umin", I64), ("max", I32), ("sub", I16), ("xor", I8),
)  # fmt: skip
FLOAT_COUNTER = COUNTERS + 8 * 7
"""The byte offset of the counter that adds floats: small integers, so that no sum is rounded."""
BYTES = COUNTERS + 8 * len(_COUNTERS)
"""Of the output."""

_UPDATES = ("add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "xchg")


class Accesses:
    """Statements that access memory, for one function."""

    def __init__(
        self, rng: random.Random, function: Function, memory: MemoryStatements, expressions: Expressions,
        half: bool, atomics: bool,
    ) -> None:  # fmt: skip
        self.rng = rng
        self.input = function.args[0]
        self.output = function.args[1]
        assert function.module is not None
        self.module = function.module
        self.memory = memory
        self.pick = expressions.pick
        self.half = half
        self.atomics = atomics

    def statement(self, builder: Builder, pool: Pool) -> None:
        """One access, or a few that belong together."""
        kinds = [self._row, self._record, self._input_records, self._input, self._own, self._bulk]
        weights = [4, 2, 2, 3, 3, 1]
        if self.atomics:
            kinds += [self._count, self._update, self._exchange, self._ordered]
            weights += [3, 2, 1, 1]
        self.rng.choices(kinds, weights)[0](builder, pool)

    def show(self, builder: Builder, pool: Pool) -> None:
        """Write the newest values of some types behind what `MemoryStatements.leave` writes."""
        for place, type in enumerate((I64, F64, F32, I16, I8, F16), 9):
            if pool[type] and self.rng.random() < 0.5:
                assert self.memory.slice is not None
                pointer = builder.gep(I8, self.memory.slice, (ConstInt(I64, 8 * place),))
                value = pool[type][-1]
                shown = plain(builder, value) if isinstance(type, FloatType) else value
                builder.store(shown, pointer, size_of(type))

    def _types(self) -> tuple[Type, ...]:
        return (*INTEGERS, *(FLOATS if self.half else FLOATS[:2]))

    def _read(self, builder: Builder, pool: Pool, type: Type, pointer: Value, align: int = 0) -> None:
        volatile = self.rng.random() < 0.05
        loaded = builder.load(type, pointer, align or size_of(type))
        loaded.attrs = {**loaded.attrs, "volatile": volatile}
        pool[type].append(loaded)

    def _write(self, builder: Builder, pool: Pool, type: Type, pointer: Value, align: int = 0) -> None:
        value = self.pick(type, pool)
        if isinstance(type, FloatType):
            value = plain(builder, value)
        builder.store(value, pointer, align or size_of(type), volatile=self.rng.random() < 0.05)

    def _either(self, builder: Builder, pool: Pool, type: Type, pointer: Value, align: int = 0) -> None:
        (self._read if self.rng.random() < 0.4 else self._write)(builder, pool, type, pointer, align)

    def _index(self, builder: Builder, factor: int, offset: int) -> Value:
        tid = self.memory.tid
        assert tid is not None
        scaled = tid if factor == 1 else builder.binary("mul", tid, ConstInt(I64, factor))
        return scaled if offset == 0 else builder.binary("add", scaled, ConstInt(I64, offset))

    def _row(self, builder: Builder, pool: Pool) -> None:
        """Contiguous, or reversed."""
        number = self.rng.randrange(len(_ROWS) if self.half else len(_ROWS) - 1)
        type, reverse = _ROWS[number]
        base = builder.gep(I8, self.output, (ConstInt(I64, SLICES + number * ROW),))
        index = self._index(builder, -1, THREADS - 1) if reverse else self._index(builder, 1, 0)
        self._either(builder, pool, type, builder.gep(type, base, (index,)))

    def _record(self, builder: Builder, pool: Pool) -> None:
        """Some members of the thread's own record in an array of records."""
        rng = self.rng
        number = rng.randrange(len(_MEMBERS))
        members = _MEMBERS[number]
        start = _RECORDS + 4 * THREADS * sum(_MEMBERS[:number])
        base = builder.gep(I8, self.output, (ConstInt(I64, start),))
        act = self._read if rng.random() < 0.4 else self._write
        for member in rng.sample(range(members), rng.randint(1, min(members, 4))):
            index = self._index(builder, members, member)
            act(builder, pool, I32, builder.gep(I32, base, (index,)))

    def _input_records(self, builder: Builder, pool: Pool) -> None:
        """Members of records of 2 to 8 of the input, or the input backwards."""
        rng = self.rng
        type = rng.choice((I32, F32, I16))
        if rng.random() < 0.3:
            pointer = builder.gep(
                type, self.input, (self._index(builder, -1, THREADS - 1 + rng.randint(0, 9)),)
            )
            return self._read(builder, pool, type, pointer)
        stride = rng.randint(2, 8)
        for member in rng.sample(range(stride), min(stride, rng.randint(1, 3))):
            index = self._index(builder, stride, member)
            self._read(builder, pool, type, builder.gep(type, self.input, (index,)))
        return None

    def _input(self, builder: Builder, pool: Pool) -> None:
        """Anywhere in the input: the same address for all threads, or one for each."""
        type = self.rng.choice(self._types())
        source = self.rng.choice((I8, I32, I64))
        index: Value = builder.binary("and", self.pick(source, pool), ConstInt(source, 127))
        index = index if source is I64 else builder.cast("zext", index, I64)
        self._read(builder, pool, type, builder.gep(type, self.input, (index,)))

    def _own(self, builder: Builder, pool: Pool) -> None:
        """Any type anywhere in the own slice."""
        type = self.rng.choice(self._types())
        pointer = self._place(builder, pool, size_of(type))
        self._either(builder, pool, type, pointer)

    def _place(self, builder: Builder, pool: Pool, unit: int) -> Value:
        assert self.memory.slice is not None
        last = 128 // unit - 1
        index: Value = ConstInt(I64, self.rng.randint(0, last))
        if self.rng.random() < 0.4:
            index = builder.binary("and", self.pick(I64, pool), ConstInt(I64, last))
        offset = builder.binary("mul", index, ConstInt(I64, unit))
        kind = self.rng.random()
        if kind < 0.1:
            address = builder.binary("add", builder.cast("ptrtoint", self.memory.slice, I64), offset)
            return builder.cast("inttoptr", address, PTR)
        return builder.gep(I8, self.memory.slice, (offset,), ("inbounds", "nuw") if kind < 0.4 else ())

    def _bulk(self, builder: Builder, pool: Pool) -> None:
        """Copies and fills within the own slice, of bytes of the input."""
        assert self.memory.slice is not None
        kind = self.rng.choice(("memcpy", "memset", "memmove"))
        size = ConstInt(I64, self.rng.choice((1, 4, 8, 12, 32)))
        target = builder.gep(I8, self.memory.slice, (ConstInt(I64, 8 * self.rng.randint(0, 12)),))
        never = ConstInt(I1, 0)
        if kind == "memset":
            fill = self.module.declare("llvm.memset.p0.i64", FunctionType(VOID, (PTR, I8, I64, I1)), _BULK)
            builder.call(fill, (target, self.pick(I8, pool), size, never))
            return
        source = builder.gep(
            I8, self.input, (builder.binary("and", self.pick(I64, pool), ConstInt(I64, 1023)),)
        )
        if kind == "memmove":
            source = builder.gep(I8, self.memory.slice, (ConstInt(I64, self.rng.randint(0, 96)),))
        copy = self.module.declare(f"llvm.{kind}.p0.p0.i64", FunctionType(VOID, (PTR, PTR, I64, I1)), _BULK)
        builder.call(copy, (target, source, size, never))

    def _count(self, builder: Builder, pool: Pool) -> None:
        """Update a counter that all threads have in common."""
        number = self.rng.randrange(len(_COUNTERS))
        operation, type = _COUNTERS[number]
        pointer = builder.gep(I8, self.output, (ConstInt(I64, COUNTERS + 8 * number),))
        if operation == "fadd":
            few = builder.binary("and", self.pick(I32, pool), ConstInt(I32, 15))
            builder.atomic_rmw(operation, pointer, builder.cast("uitofp", few, F32))
        else:
            builder.atomic_rmw(operation, pointer, self.pick(type, pool))

    def _update(self, builder: Builder, pool: Pool) -> None:
        """Update a place of the own slice, and read what it was."""
        type = self.rng.choice(INTEGERS)
        pointer = self._place(builder, pool, size_of(type))
        ordering = self.rng.choice(("monotonic", "acq_rel", "seq_cst"))
        operation = self.rng.choice(_UPDATES)
        pool[type].append(builder.atomic_rmw(operation, pointer, self.pick(type, pool), ordering))

    def _exchange(self, builder: Builder, pool: Pool) -> None:
        type = self.rng.choice((I32, I64))
        pointer = self._place(builder, pool, size_of(type))
        pair = builder.cmpxchg(pointer, self.pick(type, pool), self.pick(type, pool))
        pool[type].append(builder.extract_value(pair, (0,)))
        pool[I1].append(builder.extract_value(pair, (1,)))

    def _ordered(self, builder: Builder, pool: Pool) -> None:
        """An atomic load or store of the own slice, or a fence."""
        if self.rng.random() < 0.2:
            builder.fence(self.rng.choice(("acquire", "release", "seq_cst")))
            return
        type = self.rng.choice(INTEGERS)
        pointer = self._place(builder, pool, size_of(type))
        if self.rng.random() < 0.5:
            loaded = builder.load(type, pointer, size_of(type))
            loaded.attrs = {**loaded.attrs, "ordering": self.rng.choice(("monotonic", "acquire"))}
            pool[type].append(loaded)
        else:
            stored = builder.store(self.pick(type, pool), pointer, size_of(type))
            stored.attrs = {**stored.attrs, "ordering": self.rng.choice(("monotonic", "release"))}


_BULK = ("nounwind", "willreturn")


def size_of(type: Type) -> int:
    """Bytes of a number."""
    assert isinstance(type, (IntType, FloatType))
    return type.bits // 8

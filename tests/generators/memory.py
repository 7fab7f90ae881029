"""Random loads and stores: the input anywhere, the output in the thread's own slice, and stack objects."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from generators.expressions import Expressions, Pool
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.intrinsics import declare
from weft.ir.types import I1, I8, I16, I32, I64, PTR, VOID, ArrayType, FloatType, FunctionType, IntType, Type

if TYPE_CHECKING:
    from generators.programs import Options

_OBJECT_WORDS = 8


class MemoryStatements:
    """Statements that access memory, for one kernel."""

    def __init__(
        self, rng: random.Random, function: Function, options: Options, expressions: Expressions
    ) -> None:
        self.rng = rng
        self.function = function
        self.options = options
        self.expressions = expressions
        self.is_ready = False
        self.tid: Value | None = None
        self.slice: Value | None = None

    def enter(self, builder: Builder, pool: Pool) -> None:
        """Ids, the thread's slice, stack objects."""
        module = self.function.module
        assert module is not None
        tid = builder.call(declare(module, "weft.local.id"), (ConstInt(I32, 0),), name="tid")
        if self.options.grid:
            tid = self._place_in_grid(builder, tid)
        self.tid = tid
        pool[I64].append(tid)
        pool[I32].append(builder.cast("trunc", tid, I32, name="tid32"))
        if self.options.lane_ids and self.rng.random() < 0.5:
            pool[I32].append(builder.call(declare(module, "weft.lane.id"), ()))
        if self.rng.random() < 0.5:
            pool[I64].append(builder.call(declare(module, "weft.group.id"), (ConstInt(I32, 0),)))
        if self.options.memory:
            start = builder.binary("mul", tid, ConstInt(I64, 128), name="start")
            self.slice = builder.gep(I8, self.function.args[1], (start,), name="slice")
            self.is_ready = True
        if self.options.stack:
            for _ in range(self.rng.choice((0, 1, 1, 2))):
                self._object(builder, pool)

    def _place_in_grid(self, builder: Builder, x: Instruction) -> Instruction:
        """The number of the thread among all of a grid along x, whose groups have rows along y."""
        module = self.function.module
        assert module is not None

        def asked(name: str, dimension: int) -> Value:
            return builder.call(declare(module, name), (ConstInt(I32, dimension),))

        above = builder.binary("mul", asked("weft.group.id", 0), asked("weft.local.size", 1))
        row = builder.binary("add", above, asked("weft.local.id", 1))
        first = builder.binary("mul", row, asked("weft.local.size", 0))
        return builder.binary("add", first, x, name="place")

    def _object(self, builder: Builder, pool: Pool) -> None:
        module = self.function.module
        assert module is not None
        made = builder.alloca(ArrayType(I32, _OBJECT_WORDS), align=4)
        fill = module.declare(
            "llvm.memset.p0.i64", FunctionType(VOID, (PTR, I8, I64, I1)), ("nounwind", "willreturn")
        )
        size = ConstInt(I64, 4 * _OBJECT_WORDS)
        builder.call(fill, (made, ConstInt(I8, self.rng.randint(0, 5)), size, ConstInt(I1, 0)))
        pool[PTR].append(made)

    def statement(self, builder: Builder, pool: Pool) -> None:
        rng = self.rng
        kind = rng.random()
        if kind < self.options.stack_share and pool[PTR]:
            self._stack(builder, pool)
        elif kind < 0.8:
            self._load_input(builder, pool)
        else:
            self._own(builder, pool)

    def _load_input(self, builder: Builder, pool: Pool) -> None:
        """A load from the input: contiguous, strided, uniform or anywhere."""
        rng = self.rng
        assert self.tid is not None
        type = rng.choice((I32, I32, I64, I8, I16, *((FloatType("float"),) if self.options.floats else ())))
        kind = rng.random()
        index: Value
        if kind < 0.3:
            index = builder.binary("add", self.tid, ConstInt(I64, rng.randint(0, 60)))
        elif kind < 0.45:
            index = builder.binary("mul", self.tid, ConstInt(I64, rng.choice((1, 2))))
        else:
            index = builder.binary("and", self.expressions.pick(I64, pool), ConstInt(I64, 127))
        pointer = builder.gep(type, self.function.args[0], (index,), self.expressions.flags("inbounds"))
        pool[type].append(builder.load(type, pointer, align=_bytes(type)))

    def _own(self, builder: Builder, pool: Pool) -> None:
        """An access to the thread's slice of the output."""
        rng = self.rng
        assert self.slice is not None
        index: Value = ConstInt(I64, rng.randint(0, 31))
        if rng.random() < 0.4:
            index = builder.binary("and", self.expressions.pick(I64, pool), ConstInt(I64, 31))
        pointer = builder.gep(I32, self.slice, (index,))
        if rng.random() < 0.4:
            pool[I32].append(builder.load(I32, pointer, align=4))
        elif self.options.atomics and rng.random() < 0.3:
            operation = rng.choice(("add", "xchg", "umax", "xor"))
            pool[I32].append(builder.atomic_rmw(operation, pointer, self.expressions.pick(I32, pool)))
        else:
            builder.store(self._stored(builder, self.expressions.pick(I32, pool)), pointer, align=4)

    def _stack(self, builder: Builder, pool: Pool) -> None:
        """An access to a stack object, through its address or a pointer chosen between objects."""
        rng = self.rng
        base = self.expressions.pick(PTR, pool)
        if rng.random() < 0.75:
            index: Value = ConstInt(I64, rng.choice((0, 0, 1, 1, 2, _OBJECT_WORDS - 1)))
        else:
            index = builder.binary("and", self.expressions.pick(I64, pool), ConstInt(I64, _OBJECT_WORDS - 1))
        pointer = builder.gep(I32, base, (index,))
        if rng.random() < 0.5:
            pool[I32].append(builder.load(I32, pointer, align=4))
        else:
            value: Value = ConstInt(I32, rng.randint(0, 99))
            if rng.random() < 0.5:
                value = self._stored(builder, self.expressions.pick(I32, pool))
            builder.store(value, pointer, align=4)

    def _stored(self, builder: Builder, value: Value) -> Value:
        return builder.unary("freeze", value) if self.options.poison and self.rng.random() < 0.5 else value

    def leave(self, builder: Builder, pool: Pool) -> None:
        """Write what there is to the thread's slice."""
        if self.slice is None:
            return
        for word in range(min(8, 1 + len(pool[I32]))):
            pointer = builder.gep(I32, self.slice, (ConstInt(I64, word),))
            builder.store(self.expressions.pick(I32, pool), pointer, align=4)
        if pool[I64]:
            builder.store(
                self.expressions.pick(I64, pool), builder.gep(I64, self.slice, (ConstInt(I64, 8),)), align=8
            )


def _bytes(type: Type) -> int:
    assert isinstance(type, (IntType, FloatType))
    return type.bits // 8

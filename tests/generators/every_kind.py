"""Statements of every kind that P-LLVM has, for programs with `Options.every_kind`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from generators.accesses import Accesses
from generators.callees import call_some
from generators.numbers import FLOATS, INTEGERS, Numbers
from generators.records import Records
from weft.ir import Builder, Function, Value
from weft.ir.intrinsics import declare
from weft.ir.types import I1, I32, I64, Type

if TYPE_CHECKING:
    from generators.expressions import Expressions, Pool
    from generators.memory import MemoryStatements
    from generators.programs import Options


class EveryKind:
    """Makes statements for one function."""

    def __init__(
        self,
        rng: random.Random,
        function: Function,
        options: Options,
        expressions: Expressions,
        memory: MemoryStatements,
        callees: list[Function],
    ) -> None:
        assert function.module is not None
        self.rng = rng
        self.function = function
        self.options = options
        self.expressions = expressions
        self.memory = memory
        self.callees = callees
        self.numbers = Numbers(rng, function.module, expressions, options.half)
        self.records = Records(rng, function, expressions)
        self.accesses: Accesses | None = None

    def enter(self, builder: Builder) -> None:
        """In the entry block, where the thread's slice is known."""
        if self.memory.is_ready:
            self.accesses = Accesses(
                self.rng,
                self.function,
                self.memory,
                self.expressions,
                self.options.half,
                self.options.atomics,
            )
        if self.options.stack:
            self.records.enter(builder)

    def statement(self, builder: Builder, pool: Pool) -> None:
        """One statement."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.3 and self.accesses is not None:
            self.accesses.statement(builder, pool)
        elif kind < 0.4:
            self.records.statement(builder, pool)
        elif kind < 0.48 and self.callees:
            call_some(builder, pool, rng.choice(self.callees), self.function, self.expressions)
        elif kind < 0.56 and self.options.horizontal:
            self._horizontal(builder, pool)
        else:
            value = self.numbers.statement(builder, pool)
            pool[value.type].append(value)

    def leave(self, builder: Builder, pool: Pool) -> None:
        """Show the newest values."""
        if self.accesses is not None:
            self.accesses.show(builder, pool)

    def phi_type(self) -> Type:
        """The type of a φ."""
        return self.rng.choice((I1, *INTEGERS, *(FLOATS if self.options.half else FLOATS[:2])))

    def _horizontal(self, builder: Builder, pool: Pool) -> None:
        """What lanes tell each other, and where they are."""
        rng, pick = self.rng, self.expressions.pick
        name = rng.choice(self.options.lane_operations)
        arguments: list[Value] = []
        if name in ("weft.any", "weft.all", "weft.ballot", "weft.popcount"):
            arguments = [pick(I1, pool)]
        elif name == "weft.match.any.i64":
            arguments = [pick(I64, pool)]
        elif name.startswith("weft.shfl"):
            arguments = [pick(I64 if name.endswith("i64") else I32, pool), pick(I32, pool)]
        assert self.function.module is not None
        result = builder.call(declare(self.function.module, name), arguments)
        pool[result.type].append(result)


LANE_OPERATIONS = (
    "weft.any", "weft.all", "weft.ballot", "weft.popcount", "weft.mask", "weft.active", "weft.lane.id",
    "weft.num.lanes", "weft.match.any.i64", "weft.shfl.idx.i32", "weft.shfl.idx.i64",
)  # fmt: skip
"""All of them."""

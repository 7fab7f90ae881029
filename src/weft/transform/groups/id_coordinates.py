"""Divisions of flat numbers of threads, replaced by what they give of columns, rows and planes.

Precondition: the divisors are columns, rows and planes as `weft.transform.groups.id_divisors` finds them, and hold what
`Splitting` notes. Postcondition: positions are x, y and z; their sum stands for the flat number.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.graph.cfg import reverse_postorder
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import is_zero
from weft.ir.types import I1, I64, IntType
from weft.transform.groups.id_divisors import (
    CASTS,
    Division,
    Divisors,
    factors_of,
    is_known,
    is_same,
)
from weft.transform.groups.merge_groups import GRID_RANGE

_EXACT = ("nuw", "nsw")

POSITIONS = ConstInt(I64, 1 << 41)
"""There are no more, nor rows or planes of them."""

_TERMS = 16
"""How deep additions and multiplications of an index are that is asked about."""

_ZERO = ConstInt(I64, 0)


class _Number(Struct, frozen=True):
    """A number of positions: ``planes·h·w + rows·y·w + columns·x``, or ``planes·h + rows·y`` where it counts rows.

    `planes` is what all threads of a plane share, None for zero. A number that counts rows, and has none, is `planes`
    itself.
    """

    counts_rows: bool
    planes: Value | None
    rows: bool
    columns: bool = False

    @property
    def counts_planes(self) -> bool:
        return self.counts_rows and not self.rows and self.planes is not None


class Splitting:
    """Replaces the divisions of a kernel, and notes what has to hold for that in `required`."""

    def __init__(
        self,
        kernel: Function,
        divisors: Divisors,
        uniform: set[Instruction],
        position: Argument,
        others: Sequence[Argument],
    ) -> None:
        self._kernel, self._divisors, self._uniform = kernel, divisors, uniform
        self._x, (self._y, self._z) = position, others
        self.required: list[tuple[Value, Value]] = []
        """Values of the kernel, and what they have to be."""
        self.multiples: list[tuple[Value, bool]] = []
        """Divisors that are multiples of h, or of h·w."""
        self.indices: list[Value] = []
        """Sums and products of positions and of what all threads share that have not to be negative, nor to wrap."""
        self._numbers: dict[Value, _Number] = {}

    def run(self) -> None:
        """Replace all of them."""
        view = cfg_of(self._kernel)
        for d in (self._x, self._y, self._z):
            d.attributes = (*(a for a in d.attributes if not a.startswith("range(")), GRID_RANGE)
        users = list(dict.fromkeys(self._x.instruction_users()))
        blocks = [view.blocks[k] for k in reverse_postorder(view.cfg.succs)]
        instructions = [i for block in blocks for i in block.instructions]
        self._builder = Builder.after_phis(self._kernel.entry)
        self._copies: dict[Value, Value] = {}
        self._columns = self._number(self._divisors.columns)
        self._rows = self._plane = None
        planes: Value | None = None
        if self._divisors.has_planes:
            if self._divisors.rows is not None:
                self._rows = self._number(self._divisors.rows)
                self._plane = self._builder.binary("mul", self._rows, self._columns, _EXACT)
            else:
                assert self._divisors.plane is not None
                self._plane = self._number(self._divisors.plane)
                self._rows = self._builder.binary("udiv", self._plane, self._columns)
            planes = self._z
        whole = _Number(False, planes, True, True)
        number = self._made(self._builder, whole)
        for user in users:
            user.replace_operand(self._x, number)
        self._numbers[number] = whole
        for instruction in instructions:
            if instruction not in self._uniform:
                self._visit(instruction)

    def _number(self, value: Value) -> Value:
        """A divisor as a number of 64 bits, computed at the kernel's entry."""
        copy = self._copied(value)
        if isinstance(copy, ConstInt):
            return ConstInt(I64, copy.signed)
        # Extents are asked for numbers that are positive.
        return copy if copy.type == I64 else self._builder.cast("zext", copy, I64)

    def _copied(self, value: Value) -> Value:
        if not isinstance(value, Instruction):
            return value
        known = self._copies.get(value)
        if known is None:
            operands = [self._copied(v) for v in value.operands]
            copy = value.clone()
            for k, operand in enumerate(operands):
                copy.set_operand(k, operand)
            # Where it stands now it may be computed for threads that do not use it.
            copy.flags = ()
            known = self._copies[value] = self._builder.insert(copy)
        return known

    def _visit(self, i: Instruction) -> None:
        division = Division.of(i)
        if division is not None and division.number in self._numbers:
            self._divide(i, division)
        elif i.op in CASTS and i.operands[0] in self._numbers:
            if i.op != "trunc" or "nsw" in i.flags:
                self._numbers[i] = self._numbers[i.operands[0]]
        elif i.op == "select":
            self._choose(i)
        elif i.op == "and" and i.type == I1:
            self._decide(i)
        elif i.op == "icmp" and self._is_negative(i):
            replace_and_erase(i, ConstInt(I1, 0))
        elif i.op == "sext" and is_zero(i.operands[0]):
            assert isinstance(i.type, IntType)
            replace_and_erase(i, ConstInt(i.type, 0))
        elif i.op == "add" and any(map(is_zero, i.operands)):
            self._replace(i, i.operands[1 if is_zero(i.operands[0]) else 0])

    def _replace(self, i: Instruction, by: Value) -> None:
        self._numbers.pop(i, None)
        replace_and_erase(i, by)

    def _choose(self, i: Instruction) -> None:
        condition, *arms = i.operands
        if isinstance(condition, ConstInt):
            self._replace(i, arms[0 if condition.value else 1])
            return
        ours = [k for k, v in enumerate(arms) if v in self._numbers]
        if condition in self._uniform and len(ours) == 1:
            self.required.append((condition, ConstInt(I1, 1 - ours[0])))
            self._replace(i, arms[ours[0]])
        elif self._asks_for_zero(condition):
            constants = [v for v in arms if isinstance(v, ConstInt)]
            others = [v for v in arms if v in self._uniform]
            if len(constants) == len(others) == 1:
                self.required.append((others[0], constants[0]))
                self._replace(i, constants[0])

    def _decide(self, i: Instruction) -> None:
        """Of ``remainder != 0 and divisor < 0`` the second part is asked before, as it is the same for all threads."""
        if any(map(is_zero, i.operands)):
            self._replace(i, ConstInt(I1, 0))
            return
        first, second = i.operands
        if second not in self._uniform:
            first, second = second, first
        if second in self._uniform and self._asks_for_zero(first):
            self.required.append((second, ConstInt(I1, 0)))
            self._replace(i, ConstInt(I1, 0))

    def _asks_for_zero(self, condition: Value) -> bool:
        return (
            isinstance(condition, Instruction)
            and condition.op == "icmp"
            and condition.predicate in ("eq", "ne")
            and condition.operands[0] in self._numbers
            and is_zero(condition.operands[1])
        )

    def _is_negative(self, i: Instruction) -> bool:
        """Whether it is asked if one of our numbers, or it and a divisor, are of different signs."""
        if i.predicate != "slt" or not is_zero(i.operands[1]):
            return False
        number = i.operands[0]
        if isinstance(number, Instruction) and number.op == "xor":
            ours = [v for v in number.operands if v in self._numbers]
            divisors = (self._divisors.columns, self._divisors.rows, self._divisors.plane)
            return len(ours) == 1 and any(v is d for v in number.operands for d in divisors)
        if number in self._numbers:
            return True
        if number.type != I64 or self.terms(number) is None:
            return False
        self.indices.append(number)
        return True

    def terms(self, index: Value) -> list[Instruction] | None:
        """The additions and multiplications of our numbers and uniform ones that make an index; None if more does."""
        found: dict[Instruction, None] = {}

        def visit(value: Value, depth: int) -> bool:
            if self.most(value) is not None or value in found:
                return True
            if not isinstance(value, Instruction) or value.op not in ("add", "mul") or depth == _TERMS:
                return False
            if not all(visit(v, depth + 1) for v in value.operands):
                return False
            found[value] = None
            return True

        return list(found) if visit(index, 0) else None

    def most(self, value: Value) -> Value | None:
        """What a number of positions is at most, or one that all threads share is; None for others."""
        number = self._numbers.get(value)
        if number is None:
            return value if is_known(value, self._uniform) else None
        if number.counts_rows or number.rows or number.planes is not None:
            return POSITIONS
        return self._divisors.columns

    def _divide(self, i: Instruction, division: Division) -> None:
        number, by = self._numbers[division.number], division.divisor
        if number.counts_planes:
            # Threads of a box share it, and what it is divided into.
            return
        builder = Builder(before=i)
        builder.loc = i.loc
        pair = self._parts(builder, number, by)
        if pair is None:
            return
        result = pair[division.remainder]
        made = self._made(builder, result)
        assert isinstance(i.type, IntType)
        if made.type != i.type:
            made = (
                ConstInt(i.type, made.value)
                if isinstance(made, ConstInt)
                else builder.cast("trunc", made, i.type, _EXACT)
            )
        if not isinstance(made, ConstInt):
            self._numbers[made] = result
        replace_and_erase(i, made)

    def _parts(self, builder: Builder, n: _Number, by: Value) -> tuple[_Number, _Number] | None:
        """Quotient and remainder of a number; None where these are no numbers of positions."""
        if not n.counts_rows and is_same(by, self._divisors.columns):
            return _Number(True, n.planes, n.rows), _Number(False, None, False, n.columns)
        unit = self._divisors.rows if n.counts_rows else self._divisors.plane
        length = self._rows if n.counts_rows else self._plane
        if unit is None or length is None or not is_known(by, self._uniform):
            return None
        rest = _Number(n.counts_rows, None, n.rows, n.columns)
        if is_same(by, unit):
            return _Number(True, n.planes, False), rest
        (constant, parts), (least, few) = factors_of(by), factors_of(unit)
        if constant % least or not few <= parts:
            return None
        self.multiples.append((by, n.counts_rows))
        if n.planes is None:
            return _Number(True, None, False), rest
        factor = builder.binary("udiv", self._wide(builder, by), length)
        quotient, left = (builder.binary(op, n.planes, factor) for op in ("udiv", "urem"))
        return _Number(True, quotient, False), _Number(n.counts_rows, left, n.rows, n.columns)

    def _wide(self, builder: Builder, value: Value) -> Value:
        if isinstance(value, ConstInt):
            return ConstInt(I64, value.signed)
        return value if value.type == I64 else builder.cast("zext", value, I64)

    def _made(self, builder: Builder, n: _Number) -> Value:
        row: Value | None = self._y if n.rows else None
        if n.planes is not None:
            if n.counts_planes:
                return n.planes
            assert self._rows is not None
            above = builder.binary("mul", n.planes, self._rows, _EXACT)
            row = above if row is None else builder.binary("add", above, row, _EXACT)
        if n.counts_rows:
            return row or _ZERO
        column: Value | None = self._x if n.columns else None
        if row is None:
            return column or _ZERO
        before = builder.binary("mul", row, self._columns, _EXACT)
        return before if column is None else builder.binary("add", before, column, _EXACT)

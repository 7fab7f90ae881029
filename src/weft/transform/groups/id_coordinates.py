"""Divisions of flat numbers of threads, replaced by what they give of columns, rows and planes.

Precondition: the divisors are columns, rows and planes as `weft.transform.groups.id_divisors` finds them, and hold what
`Splitting` notes. Postcondition: positions are x, y and z; their sum stands for the flat number.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from weft.graph.cfg import reverse_postorder
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import is_zero
from weft.ir.intrinsics import SMALL_GRID, SMALL_GRID_ATTRIBUTE
from weft.ir.types import I1, I32, I64, IntType
from weft.transform.groups.id_divisors import CASTS, Division, Divisors, is_known, is_multiple, is_same
from weft.transform.groups.id_numbers import POSITIONS, Bound, Number
from weft.transform.groups.merge_groups import GRID_RANGE

_EXACT = ("nuw", "nsw")

_TERMS = 16
"""How deep additions and multiplications of an index are that is asked about."""

_ZERO = ConstInt(I64, 0)


class Splitting:
    """Replaces the divisions of a kernel, and notes what has to hold for that in `required`."""

    def __init__(
        self,
        kernel: Function,
        divisors: Divisors,
        uniform: set[Instruction],
        position: Argument,
        others: Sequence[Argument],
        *,
        by_planes: bool,
    ) -> None:
        self._kernel, self._divisors, self._uniform = kernel, divisors, uniform
        self._x, (self._y, self._z) = position, others
        self._by_planes = by_planes
        self.required: list[tuple[Value, Value]] = []
        """Values of the kernel, and what they have to be."""
        self.multiples: list[tuple[Value, bool]] = []
        """Divisors that are multiples of h, or of h·w."""
        self.stacks: list[tuple[Value, int]] = []
        """Divisors of numbers of a level that are multiples of so many threads, rows or planes as a stack has."""
        self.positive: list[Value] = []
        """Divisors of planes, or of stacks."""
        self.indices: list[Value] = []
        """Sums and products of positions and of what all threads share that have not to be negative, nor to wrap."""
        self.extended: list[Value] = []
        """Those of 32 bits that have not to wrap, as they are computed in 64."""
        few = kernel.attribute(SMALL_GRID_ATTRIBUTE) is not None
        self.positions = ConstInt(I64, SMALL_GRID) if few else POSITIONS
        """How many there are at most."""
        self._numbers: dict[Value, Number] = {}

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
        self._rows = self._plane = self._depth = None
        row: Value = self._y
        whole = Number(0, True, True)
        if self._divisors.has_planes:
            if self._divisors.rows is not None:
                self._rows = self._number(self._divisors.rows)
                self._plane = self._builder.binary("mul", self._rows, self._columns, _EXACT)
            else:
                assert self._divisors.plane is not None
                self._plane = self._number(self._divisors.plane)
                self._rows = self._builder.binary("udiv", self._plane, self._columns)
            whole = Number(0, True, True, above=self._z)
            if self._by_planes:
                self._depth = self._planes_of_stack()
                whole = Number(0, True, True, True)
            if self._depth is not None:
                stack, row = (self._builder.binary(op, self._y, self._rows) for op in ("udiv", "urem"))
                whole = Number(0, True, True, True, stack)
        self._row = row
        number = self._made(self._builder, whole)
        for user in users:
            user.replace_operand(self._x, number)
        self._numbers[number] = whole
        for instruction in instructions:
            if instruction not in self._uniform:
                self._visit(instruction)

    @property
    def in_stacks(self) -> bool:
        """Whether planes are counted in stacks, of which positions along planes are in one."""
        return self._depth is not None

    def _number(self, value: Value) -> Value:
        """A divisor as a number of 64 bits, computed at the kernel's entry."""
        copy = self._copied(value)
        if isinstance(copy, ConstInt):
            return ConstInt(I64, copy.signed)
        # Extents are asked for numbers that are positive.
        return copy if copy.type == I64 else self._builder.cast("zext", copy, I64)

    def _planes_of_stack(self) -> Value | None:
        if self._divisors.depth is not None:
            return self._number(self._divisors.depth)
        if self._divisors.stack is None or self._plane is None:
            return None
        return self._builder.binary("udiv", self._number(self._divisors.stack), self._plane)

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
        elif i.op == "sext" and i.type == I64 and self._may_wrap(i.operands[0]):
            self._extend(i)
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

    def _may_wrap(self, value: Value) -> bool:
        """Whether it is a sum or a product of 32 bits as `terms` has them, of which a part may wrap around."""
        if value.type != I32 or is_known(value, self._uniform):
            return False
        return any("nsw" not in i.flags for i in self.terms(value) or ())

    def _extend(self, extension: Instruction) -> None:
        """Let what is extended be computed in 64 bits: neighbours are not known of what may wrap around."""
        index = extension.operands[0]
        self.extended.append(index)
        builder = Builder(before=extension)
        builder.loc = extension.loc
        wide: dict[Value, Value] = {}

        def read(value: Value) -> Value:
            if value not in wide:
                wide[value] = builder.cast("sext", value, I64)
            return wide[value]

        for i in self.terms(index) or ():
            first, second = map(read, i.operands)
            wide[i] = builder.binary(i.op, first, second)
        self._replace(extension, wide[index])

    def _replace(self, i: Instruction, by: Value) -> None:
        self._numbers.pop(i, None)
        replace_and_erase(i, by)

    def _choose(self, i: Instruction) -> None:
        condition, *arms = i.operands
        if isinstance(condition, ConstInt):
            self._replace(i, arms[0 if condition.value else 1])
            return
        ours = [k for k, v in enumerate(arms) if v in self._numbers]
        if len(ours) == 2 and _asks_for_exception(condition):
            # PTX has numbers themselves for their remainders by zero.
            del ours[0]
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
            known = (self._divisors.columns, self._divisors.rows, self._divisors.plane)
            depth = self._divisors.depth if self.in_stacks else None
            divisors = (*known, depth, *self.positive, *(v for v, _ in self.multiples))
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

    def most(self, value: Value) -> Bound | None:
        """What a number of positions is at most, or one that all threads share is; None for others."""
        number = self._numbers.get(value)
        if number is None:
            return Bound(value) if is_known(value, self._uniform) else None
        return number.bound

    def _divide(self, i: Instruction, division: Division) -> None:
        number, by = self._numbers[division.number], division.divisor
        builder = Builder(before=i)
        builder.loc = i.loc
        pair = self._parts(builder, number, by)
        if pair is None:
            return
        bound = Bound(number.bound.number, (*number.bound.parts, by))
        result = replace(pair[division.remainder], bound=Bound(by) if division.remainder else bound)
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

    def _parts(self, builder: Builder, n: Number, by: Value) -> tuple[Number, Number] | None:
        """Quotient and remainder of a number; None where these are no numbers of positions."""
        if n.level == 0 and is_same(by, self._divisors.columns):
            return replace(n, level=1, columns=False), Number(0, n.columns)
        if not is_known(by, self._uniform):
            return None
        if n.level >= 2:
            return self._parts_of_planes(builder, n, by)
        unit = self._divisors.rows if n.level else self._divisors.plane
        length = self._rows if n.level else self._plane
        if unit is None or length is None:
            return None
        if is_same(by, unit):
            return replace(n, level=2, columns=False, rows=False), Number(n.level, n.columns, n.rows)
        if not is_multiple(by, unit):
            return None
        pair = Number(2), Number(2)
        if n.has_planes:
            # Where planes are counted in stacks, a stack is what this is a multiple of, too.
            if self._by_planes and self._depth is None:
                return None
            factor = builder.binary("udiv", self._wide(builder, by), length)
            if self._depth is not None and not (n.level == 0 and self._is_stack(by)):
                self.stacks.append((by, n.level))
            pair = self._divided_planes(builder, n, factor)
        self.multiples.append((by, n.level == 1))
        quotient, rest = pair
        return quotient, replace(rest, level=n.level, columns=n.columns, rows=n.rows)

    def _is_stack(self, by: Value) -> bool:
        return self._divisors.depth is None and by is self._divisors.stack

    def _parts_of_planes(self, builder: Builder, n: Number, by: Value) -> tuple[Number, Number] | None:
        """The same of a number of planes, or of stacks, by what is positive."""
        depth = self._divisors.depth
        if n.level == 2 and self._by_planes:
            if depth is None or not is_multiple(by, depth):
                return None
            if is_same(by, depth):
                return Number(3, above=n.above), replace(n, above=None)
            self.stacks.append((by, 2))
        self.positive.append(by)
        return self._divided_planes(builder, n, self._wide(builder, by))

    def _divided_planes(self, builder: Builder, n: Number, factor: Value) -> tuple[Number, Number]:
        """The planes, or stacks, of a number as quotient and remainder."""
        level = 2 if self._depth is None else 3
        if self._depth is not None and n.level < 3:
            factor = builder.binary("udiv", factor, self._depth)
        if n.above is None:
            return Number(level), Number(2, planes=n.planes)
        quotient, left = (builder.binary(op, n.above, factor) for op in ("udiv", "urem"))
        return Number(level, above=quotient), Number(max(n.level, 2), planes=n.planes, above=left)

    def _wide(self, builder: Builder, value: Value) -> Value:
        if isinstance(value, ConstInt):
            return ConstInt(I64, value.signed)
        return value if value.type == I64 else builder.cast("zext", value, I64)

    def _made(self, builder: Builder, n: Number) -> Value:
        parts: list[tuple[Value | None, Value | None]] = [
            (n.above, self._depth),
            (self._z if n.planes else None, self._rows),
            (self._row if n.rows else None, self._columns),
            (self._x if n.columns else None, None),
        ]
        if self._depth is None:
            # What is above is a number of planes, too.
            parts = [(n.above if n.above is not None else parts[1][0], self._rows), *parts[2:]]
        number: Value | None = None
        for k, (part, unit) in enumerate(parts):
            if part is not None:
                number = part if number is None else builder.binary("add", number, part, _EXACT)
            if len(parts) - k - 1 == n.level:
                break
            if number is not None:
                assert unit is not None
                number = builder.binary("mul", number, unit, _EXACT)
        return number or _ZERO


def _asks_for_exception(condition: Value) -> bool:
    """Whether a condition is that a number is 0 or -1, by which programs do not divide as by others."""
    if not isinstance(condition, Instruction) or condition.op != "icmp" or condition.predicate != "eq":
        return False
    by = condition.operands[1]
    return isinstance(by, ConstInt) and by.signed in (0, -1)

"""Narrow twins of integers: instructions of fewer bits that say all that those they stand for say.

Where ranges say that a number is one of B bits, read as signed or as unsigned, its low B bits say all. Sums, products,
bitwise operations, selections and φs only need the low bits of their operands, shifts to the right, minima, maxima,
comparisons, divisions and conversions operands that fit themselves. Where not all bits of a number are used
(`weft.analysis.integers.used_bits`), and these are among the low B, it need not fit, nor what is shifted to the right;
such a twin is *loose*: its other bits are any, and so all its users have to be twins, or to cut it.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: instructions that were asked for are of the
narrow type, and extended for the users that are not. Preserves the program under FR. Nothing rests on no-wrap flags of
wider arithmetic, only on ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.used_bits import UsedBits
from weft.ir import BasicBlock, Builder, Constant, ConstInt, Instruction, Value
from weft.ir.cfg_edit import arriving
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, FunctionType, IntType

_LOW_BITS = {"add", "sub", "mul", "and", "or", "xor", "select", "phi", "shl"}
_EXACT = {"add", "sub", "mul"}
_SHIFTS = {"shl", "ashr", "lshr"}
_DIVISIONS = {"sdiv", "srem", "udiv", "urem"}
_CHOICES = {
    "llvm.smin": ("llvm.smin", "llvm.umin"),
    "llvm.smax": ("llvm.smax", "llvm.umax"),
    "llvm.umin": ("llvm.umin", "llvm.umin"),
    "llvm.umax": ("llvm.umax", "llvm.umax"),
}
"""What minima and maxima are of low bits: if all are read as signed, and if all are read as unsigned."""
_UNSIGNED = {"slt": "ult", "sle": "ule", "sgt": "ugt", "sge": "uge"}

RangeOf = Callable[[Value], Interval | None]
"""What is known of a number."""

RangeAt = Callable[[Value, BasicBlock | None], Interval | None]
"""What is known of a number in a block."""


class NarrowTwins:
    """The twins of some instructions of a function.

    Parameters
    ----------
    range_of
        The ranges of its values.
    to
        The narrow type.
    places
        Where elements of objects are that have narrow elements, by where they were.
    range_at
        The ranges of its values as a block sees them; those of `range_of` where nothing more is known.
    used
        Which bits of its values are used; without it all are.
    """

    def __init__(
        self,
        range_of: RangeOf,
        to: IntType,
        places: Mapping[Value, Value] | None = None,
        range_at: RangeAt | None = None,
        used: UsedBits | None = None,
    ) -> None:
        self._used = used
        self._range_of = range_of
        self._range_at: RangeAt = range_at or (lambda value, block: range_of(value))
        self._to = to
        self._places = places or {}
        self._twins: dict[Value, Value] = {}

    def can(self, instruction: Instruction) -> bool:
        """Whether the low bits of the instruction's value say all and can be computed from low bits."""
        return self._is_wide(instruction) and self.fits(instruction) and self._can(instruction)

    def can_loosely(self, instruction: Instruction) -> bool:
        """Whether the low bits say all that is used, or can be computed of low bits that do."""
        return (
            self._is_wide(instruction)
            and (self._uses_below(instruction, self._to.bits) or self.fits(instruction))
            and self._can(instruction, loosely=True)
        )

    def is_loose_of(self, instruction: Instruction) -> bool:
        """Whether a twin of loose ones is loose itself: bits that are not used may be any."""
        low = (1 << self._to.bits) - 1
        return self._used is not None and self._used.of(instruction) & low != low

    def _uses_below(self, value: Value, bits: int) -> bool:
        return self._used is not None and self._used.of(value) < 1 << bits

    def _can(self, instruction: Instruction, *, loosely: bool = False) -> bool:
        op, operands = instruction.op, instruction.operands
        if op in ("sext", "zext"):
            return isinstance(operands[0].type, IntType)
        if op == "trunc":
            return isinstance(operands[0].type, IntType)
        if op in _SHIFTS:
            count = operands[1]
            if not isinstance(count, ConstInt) or count.value >= self._to.bits:
                return False
            if loosely and self._uses_below(instruction, self._to.bits - count.value):
                return True
            return op == "shl" or (self.fits(operands[0]) and (op == "ashr" or self.is_natural(operands[0])))
        if op == "call":
            return self._choice(instruction) is not None
        if op in _DIVISIONS:
            return self._division(instruction) is not None
        return op in _LOW_BITS

    def build(self, chosen: list[Instruction], stores: Sequence[Instruction] = ()) -> None:
        """Build the twins, let users have them, and remove what they stand for.

        Operands come first in `chosen`, those of φs apart. What `stores` store goes to the narrow places.
        """
        for instruction in chosen:
            if instruction.is_phi:
                twin = Builder(before=instruction).build("phi", self._to, name=instruction.name)
                twin.loc = instruction.loc
                self._twins[instruction] = twin
        for instruction in chosen:
            if not instruction.is_phi:
                self._twins[instruction] = self._twin(instruction)
        for instruction in chosen:
            twin = self._twins[instruction]
            if instruction.is_phi:
                assert isinstance(twin, Instruction)
                low = arriving(instruction, lambda v, b: self.low(v, Builder(before=b.terminator)))
                for value, source in low:
                    twin.add_incoming(value, source)
        for store in stores:
            builder = Builder(before=store)
            builder.loc = store.loc
            builder.store(self.low(store.stored_value, builder), self._places[store.pointer])
            store.erase()
        narrow = set(chosen)
        for instruction in chosen:
            for user in list(instruction.instruction_users()):
                if user not in narrow and self.serves(user):
                    self._serve(user)
        for instruction in chosen:
            if any(user not in narrow for user in instruction.instruction_users()):
                self._extend(instruction, narrow)
        for instruction in chosen:
            instruction.drop_operands()
        for instruction in chosen:
            instruction.erase()

    def fits(self, value: Value) -> bool:
        """Whether the low bits say all, in one of both readings."""
        return self._is_signed(value) or self.is_natural(value)

    def is_natural(self, value: Value) -> bool:
        """Whether the number is its low bits read as unsigned."""
        known = self._range_of(value)
        return known is not None and known.lo >= 0 and known.hi < 1 << self._to.bits

    def _is_wide(self, value: Value) -> bool:
        return isinstance(value.type, IntType) and value.type.bits > self._to.bits

    def _is_signed(self, value: Value) -> bool:
        """Whether the number is its low bits read as signed."""
        known, half = self._range_of(value), 1 << self._to.bits - 1
        return known is not None and known.lo >= -half and known.hi < half

    def _choice(self, call: Instruction) -> str | None:
        """The function of low bits that a minimum or maximum is."""
        name = (call.callee_name or "").rpartition(".")[0]
        signed, natural = _CHOICES.get(name, (None, None))
        if all(map(self._is_signed, call.args)):
            return signed
        return natural if all(map(self.is_natural, call.args)) else None

    def _division(self, division: Instruction) -> str | None:
        """What a quotient or remainder is of low bits."""
        kind, half = division.op[1:], 1 << self._to.bits - 1
        known = [self._range_at(v, division.block) for v in division.operands]
        if all(r is not None and r.lo >= 0 and r.hi < 2 * half for r in known):
            return f"u{kind}"
        # The least number has no quotient by -1.
        fits = all(r is not None and r.lo > -half and r.hi < half for r in known)
        return f"s{kind}" if fits and division.op[0] == "s" else None

    def low(self, value: Value, builder: Builder) -> Value:
        """The low bits of a number."""
        known = self._twins.get(value)
        if known is not None:
            return known
        if isinstance(value, ConstInt):
            return ConstInt(self._to, value.value & (1 << self._to.bits) - 1)
        return builder.cast("trunc", value, self._to)

    def _twin(self, instruction: Instruction) -> Value:
        op, operands = instruction.op, instruction.operands
        builder = Builder(before=instruction)
        twin: Instruction
        if op in ("sext", "zext", "trunc"):
            source = operands[0].type
            assert isinstance(source, IntType)
            if source.bits == self._to.bits:
                return operands[0]
            if source.bits > self._to.bits:
                # Low bits of what is extended, or cut, are those of what it comes of.
                return self.low(operands[0], builder)
            twin = builder.cast(op, operands[0], self._to)
        elif op == "load":
            twin = builder.load(self._to, self._places[instruction.pointer], name=instruction.name)
        elif op == "select":
            twin = builder.select(operands[0], self.low(operands[1], builder), self.low(operands[2], builder))
        elif op == "call":
            name = self._choice(instruction)
            assert name is not None
            type = FunctionType(self._to, (self._to, self._to))
            chosen = builder.module.declare(f"{name}.i{self._to.bits}", type, PURE)
            twin = builder.call(chosen, [self.low(v, builder) for v in instruction.args])
        elif op in _DIVISIONS:
            left, right = (self.low(v, builder) for v in operands)
            twin = builder.binary(self._division(instruction) or op, left, right)
        else:
            exact = op in _EXACT and all(map(self._is_signed, (instruction, *operands)))
            # Of numbers of which the highest bit is not used it may be any.
            exact = exact and not self._uses_below(instruction, self._to.bits - 1)
            if op == "ashr" and not self._is_signed(operands[0]):
                op = "lshr"
            left, right = (self.low(v, builder) for v in operands)
            twin = builder.binary(op, left, right, ("nsw",) if exact else ())
        twin.loc = instruction.loc
        return twin

    def serves(self, user: Instruction) -> bool:
        """Whether a user that is not narrowed itself can work on low bits."""
        operands = user.operands
        if user.op == "icmp":
            fits = all(isinstance(v, Constant) or self.fits(v) for v in operands)
            return fits and (all(map(self._is_signed, operands)) or all(map(self.is_natural, operands)))
        if user.op == "trunc":
            return isinstance(user.type, IntType) and user.type.bits <= self._to.bits
        if user.op in ("sitofp", "uitofp"):
            return user.op == "sitofp" or self._is_signed(operands[0]) or self.is_natural(operands[0])
        return user.op == "switch" and self._cases(user) is not None

    def _cases(self, switch: Instruction) -> tuple[int, ...] | None:
        """What the cases of a switch are in low bits, if these tell them from all others."""
        value = switch.operands[0]
        assert isinstance(value.type, IntType)
        half, bits = 1 << self._to.bits - 1, value.type.bits
        low, high = (-half, half) if self._is_signed(value) else (0, 2 * half)
        cases = [to_signed(case, bits) for case in switch.attrs["cases"]]
        if not all(low <= case < high for case in cases):
            return None
        return tuple(case & 2 * half - 1 for case in cases)

    def _serve(self, user: Instruction) -> None:
        """Let a user that is not narrowed itself work on low bits."""
        builder = Builder(before=user)
        builder.loc = user.loc
        operands = user.operands
        built: Value
        if user.op == "switch":
            user.attrs["cases"] = self._cases(user)
            user.set_operand(0, self.low(operands[0], builder))
            return
        if user.op == "icmp":
            predicate: str = user.predicate
            if not all(map(self._is_signed, operands)):
                predicate = _UNSIGNED.get(predicate, predicate)
            left, right = (self.low(v, builder) for v in operands)
            built = builder.icmp(predicate, left, right)
        elif user.op == "trunc":
            built = self._twins[operands[0]]
            if user.type != self._to:
                built = builder.cast("trunc", built, user.type)
            # What is extended again has been taken for its own twin.
            self._twins = {value: built if twin is user else twin for value, twin in self._twins.items()}
        else:
            built = self._twins[operands[0]]
            reading = "sitofp" if self._is_signed(operands[0]) else "uitofp"
            if self._to.bits < I32.bits:
                built = builder.cast("sext" if reading == "sitofp" else "zext", built, I32)
                reading = "sitofp"
            built = builder.cast(reading, built, user.type)
        user.replace_all_uses(built)
        user.erase()

    def _extend(self, instruction: Instruction, narrow: set[Instruction]) -> None:
        """Give the users that need all bits the extended twin."""
        twin = self._twins[instruction]
        assert instruction.block is not None
        builder = Builder.after_phis(instruction.block) if instruction.is_phi else Builder(before=instruction)
        natural = self.is_natural(instruction)
        flags = ("nneg",) if natural and self._is_signed(instruction) else ()
        wide = builder.cast("zext" if natural else "sext", twin, instruction.type, flags)
        wide.loc = instruction.loc
        for user in list(instruction.instruction_users()):
            if user not in narrow:
                user.replace_operand(instruction, wide)

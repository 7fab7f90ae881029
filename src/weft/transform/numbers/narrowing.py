"""Integer narrowing: 64-bit numbers that fit in 32 bits are computed in 32 bits.

Indices and counters of the source language have 64 bits, and vectors of them take twice the registers, conversions and
gathers of vectors of 32 bits. Where ranges say that a number is below 2^31 in size, or from 0 to 2^32 - 1, its low half
says all; sums, products, bitwise operations, selections and φs only need the low halves of their operands, shifts to
the right, minima, maxima, comparisons and conversions operands that fit themselves.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: instructions for which it was asked and
that fit are of type i32, and extended for the users that are not. Preserves the program under FR. Nothing rests on
no-wrap flags of 64-bit arithmetic, only on ranges.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import Interval
from weft.graph.cfg import reverse_postorder
from weft.ir import Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import arriving
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, I64, FunctionType, IntType

_LOW_HALVES = {"add", "sub", "mul", "and", "or", "xor", "select", "phi", "shl"}
_EXACT = {"add", "sub", "mul"}
_CHOICES = {
    "llvm.smin.i64": ("llvm.smin.i32", "llvm.umin.i32"),
    "llvm.smax.i64": ("llvm.smax.i32", "llvm.umax.i32"),
    "llvm.umin.i64": ("llvm.umin.i32", "llvm.umin.i32"),
    "llvm.umax.i64": ("llvm.umax.i32", "llvm.umax.i32"),
}
"""What minima and maxima are of low halves: if all are read as signed, and if all are read as unsigned."""
_UNSIGNED = {"slt": "ult", "sle": "ule", "sgt": "ugt", "sge": "uge"}

RangeOf = Callable[[Value], Interval | None]
"""What is known of a number."""


def narrow_varying(function: Function, divergence: Divergence) -> int:
    """Compute in 32 bits what differs from thread to thread and fits; how many instructions that was."""
    ranges = divergence.engine.ranges
    assert ranges is not None
    view = cfg_of(function)
    order = (view.blocks[n] for n in reverse_postorder(view.cfg.succs))
    wide = [i for block in order for i in block.instructions if i.type == I64]
    return narrow_integers([i for i in wide if not divergence.shape(i).is_strided], ranges.of)


def narrow_integers(candidates: list[Instruction], range_of: RangeOf) -> int:
    """Compute those of the instructions in 32 bits that can be; how many, conversions not counted.

    Parameters
    ----------
    candidates
        Instructions of one function, in an order in which operands come first, those of φs apart.
    range_of
        The ranges of its values.
    """
    narrowing = _Narrowing(range_of)
    chosen = [i for i in candidates if narrowing.can(i)]
    if not any(i.is_phi for i in chosen):
        # Without a loop around, converting costs as much as it spares.
        return 0
    narrowing.build(chosen)
    return len(chosen)


class _Narrowing:
    """The 32-bit twins of some instructions of a function."""

    def __init__(self, range_of: RangeOf) -> None:
        self._range_of = range_of
        self._twins: dict[Value, Value] = {}

    def can(self, instruction: Instruction) -> bool:
        """Whether the low half of the instruction's value says all and can be computed from low halves."""
        if instruction.type != I64 or not self._fits(instruction):
            return False
        op, operands = instruction.op, instruction.operands
        if op in ("sext", "zext"):
            source = operands[0].type
            return isinstance(source, IntType) and source.bits <= 32
        if op in ("shl", "ashr", "lshr"):
            count = operands[1]
            if not isinstance(count, ConstInt) or count.value >= 32:
                return False
            return op == "shl" or (
                self._fits(operands[0]) and (op == "ashr" or self._is_natural(operands[0]))
            )
        if op == "call":
            return self._choice(instruction) is not None
        return op in _LOW_HALVES

    def build(self, chosen: list[Instruction]) -> None:
        """Build the twins, let users have them, and remove what they stand for."""
        for instruction in chosen:
            if instruction.is_phi:
                twin = Builder(before=instruction).build("phi", I32, name=instruction.name)
                twin.loc = instruction.loc
                self._twins[instruction] = twin
        for instruction in chosen:
            if not instruction.is_phi:
                self._twins[instruction] = self._twin(instruction)
        for instruction in chosen:
            twin = self._twins[instruction]
            if instruction.is_phi:
                assert isinstance(twin, Instruction)
                low = arriving(instruction, lambda v, b: self._low(v, Builder(before=b.terminator)))
                for value, source in low:
                    twin.add_incoming(value, source)
        narrow = set(chosen)
        for instruction in chosen:
            for user in list(instruction.instruction_users()):
                if user not in narrow:
                    self._serve(user)
        for instruction in chosen:
            if any(user not in narrow for user in instruction.instruction_users()):
                self._extend(instruction, narrow)
        for instruction in chosen:
            instruction.drop_operands()
        for instruction in chosen:
            instruction.erase()

    def _fits(self, value: Value) -> bool:
        return self._is_signed(value) or self._is_natural(value)

    def _is_signed(self, value: Value) -> bool:
        """Whether the number is the low half read as signed."""
        known = self._range_of(value)
        return known is not None and known.lo >= -(1 << 31) and known.hi < 1 << 31

    def _is_natural(self, value: Value) -> bool:
        """Whether the number is the low half read as unsigned."""
        known = self._range_of(value)
        return known is not None and known.lo >= 0 and known.hi < 1 << 32

    def _choice(self, call: Instruction) -> str | None:
        """The function of low halves that a minimum or maximum is."""
        signed, natural = _CHOICES.get(call.callee_name or "", (None, None))
        if all(map(self._is_signed, call.args)):
            return signed
        return natural if all(map(self._is_natural, call.args)) else None

    def _low(self, value: Value, builder: Builder) -> Value:
        """The low half of a number."""
        known = self._twins.get(value)
        if known is not None:
            return known
        if isinstance(value, ConstInt):
            return ConstInt(I32, value.value & 0xFFFFFFFF)
        return builder.cast("trunc", value, I32)

    def _twin(self, instruction: Instruction) -> Value:
        op, operands = instruction.op, instruction.operands
        builder = Builder(before=instruction)
        twin: Instruction
        if op in ("sext", "zext"):
            if operands[0].type == I32:
                return operands[0]
            twin = builder.cast(op, operands[0], I32)
        elif op == "select":
            twin = builder.select(
                operands[0], self._low(operands[1], builder), self._low(operands[2], builder)
            )
        elif op == "call":
            name = self._choice(instruction)
            assert name is not None
            chosen = builder.module.declare(name, FunctionType(I32, (I32, I32)), PURE)
            twin = builder.call(chosen, [self._low(v, builder) for v in instruction.args])
        else:
            exact = op in _EXACT and all(map(self._is_signed, (instruction, *operands)))
            if op == "ashr" and not self._is_signed(operands[0]):
                op = "lshr"
            left, right = (self._low(v, builder) for v in operands)
            twin = builder.binary(op, left, right, ("nsw",) if exact else ())
        twin.loc = instruction.loc
        return twin

    def _serve(self, user: Instruction) -> None:
        """Let a user that is not narrowed itself work on low halves, if it can."""
        builder = Builder(before=user)
        operands = user.operands
        built: Instruction | None = None
        if user.op == "icmp" and all(isinstance(v, Constant) or self._fits(v) for v in operands):
            predicate: str = user.predicate
            signed, natural = (all(map(f, operands)) for f in (self._is_signed, self._is_natural))
            if not signed and natural:
                predicate = _UNSIGNED.get(predicate, predicate)
            if signed or natural:
                left, right = (self._low(v, builder) for v in operands)
                built = builder.icmp(predicate, left, right)
        elif user.op == "trunc" and isinstance(user.type, IntType) and user.type.bits <= 32:
            low = self._twins[operands[0]]
            if user.type == I32:
                user.replace_all_uses(low)
                user.erase()
                return
            built = builder.cast("trunc", low, user.type)
        elif user.op in ("sitofp", "uitofp"):
            reading = "sitofp" if self._is_signed(operands[0]) else "uitofp"
            if reading == "uitofp" or user.op == "sitofp" or self._is_natural(operands[0]):
                built = builder.cast(reading, self._twins[operands[0]], user.type)
        if built is not None:
            built.loc = user.loc
            user.replace_all_uses(built)
            user.erase()

    def _extend(self, instruction: Instruction, narrow: set[Instruction]) -> None:
        """Give the users that need all 64 bits the extended twin."""
        twin = self._twins[instruction]
        assert instruction.block is not None
        builder = Builder.after_phis(instruction.block) if instruction.is_phi else Builder(before=instruction)
        natural = self._is_natural(instruction)
        flags = ("nneg",) if natural and self._is_signed(instruction) else ()
        wide = builder.cast("zext" if natural else "sext", twin, I64, flags)
        wide.loc = instruction.loc
        for user in list(instruction.instruction_users()):
            if user not in narrow:
                user.replace_operand(instruction, wide)

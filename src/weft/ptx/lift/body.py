"""A function while it is lifted: its registers, labels and variables, and how operands are read and written.

Each register is a stack slot, which is read and written in the type of each instruction; LLVM's ``sroa`` makes values
of them. A slot that is read before it is written holds anything, as in PTX.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from weft.diag.errors import PtxError, UnsupportedError
from weft.diag.source import SourceSpan
from weft.ir import (
    BasicBlock,
    Builder,
    ConstFloat,
    ConstInt,
    ConstSplat,
    Function,
    GlobalVariable,
    Module,
    Value,
)
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.types import I1, I64, FloatType, FunctionType, IntType, PointerType, Type, VectorType, int_type
from weft.ptx import syntax
from weft.ptx.lift.types import bits_of, ir_type, is_signed

PURE = ("nocallback", "nofree", "nosync", "nounwind", "speculatable", "willreturn", "memory(none)")
"""Attributes of LLVM's intrinsics that compute."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A register, or a scalar of ``.param`` memory, on the stack.

    Parameters
    ----------
    address
        Where it is.
    bits
        Its size; 1 for predicates.
    """

    address: Value
    bits: int


@dataclass(slots=True)
class Body:
    """A function while it is lifted.

    Parameters
    ----------
    text
        The PTX module, for positions.
    source
        The function in PTX.
    function
        The function that is built.
    builder
        Where it is built.
    registers
        By name, each on the stack.
    labels
        The blocks of labels.
    variables
        Addresses of variables and parameters as pointers: the function's own, and those of the module.
    element_bytes
        Of arrays, bytes of an element.
    functions
        The functions of the module by name, in PTX and in P-LLVM.
    numbered
        Whether warps may wait at a barrier while others go on.
    """

    text: syntax.Module
    source: syntax.Function
    function: Function
    builder: Builder
    registers: dict[str, Slot] = field(default_factory=dict)
    labels: dict[str, BasicBlock] = field(default_factory=dict)
    variables: dict[str, Value] = field(default_factory=dict)
    element_bytes: dict[str, int] = field(default_factory=dict)
    functions: dict[str, tuple[syntax.Function, Function]] = field(default_factory=dict)
    numbered: bool = False
    flushed: frozenset[str] = frozenset()
    """Registers that hold no subnormal number (`weft.ptx.lift.flushing`)."""
    known_floats: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The least and greatest of what registers hold, where that is known (`weft.ptx.lift.known_floats`)."""
    exponentials: dict[int, syntax.Register] = field(default_factory=dict)
    """Instructions whose product is an exponential, and of what (`weft.ptx.lift.written_exponentials`)."""
    is_mixed: bool = False
    """Whether some arithmetic flushes subnormal numbers and some does not (`weft.ptx.lift.flushing`)."""
    normal: set[Value] = field(default_factory=set)
    """What was read from them."""
    condition: Value | None = None
    """While an instruction is lifted that computes under a predicate: writes keep the old value where it is false."""

    @property
    def module(self) -> Module:
        """The module that is built."""
        return self.builder.module

    def shared(self) -> list[GlobalVariable]:
        """The shared variables of the module."""
        found = self.module.globals.values()
        return [g for g in found if isinstance(g.type, PointerType) and g.type.space == SHARED_SPACE]

    def span(self, item: syntax.Located) -> SourceSpan | None:
        """Where something stands in the PTX."""
        return self.text.span(item)

    def refuse(self, item: syntax.Instruction, why: str = "", hint: str | None = None) -> NoReturn:
        """Raise an error for an instruction that cannot be run.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            f"{item.name} {why or 'is read and printed, and cannot be run'}", self.span(item), hint
        )

    def slot(self, name: str, item: syntax.Located | None = None) -> Slot:
        """The register of a name."""
        found = self.registers.get(name)
        if found is None:
            span = self.span(item) if item is not None else None
            raise PtxError(f"{name} is not declared", span, "declare it with .reg")
        return found

    def read(self, operand: syntax.Operand, type: str) -> Value:
        """What an operand holds, as a value of a type of PTX."""
        wanted = ir_type(type)
        if isinstance(operand, syntax.Register):
            return self._read_register(operand, wanted, bits_of(type))
        if isinstance(operand, syntax.Integer):
            return self._constant(operand, wanted, bits_of(type))
        if isinstance(operand, syntax.Float):
            return self._constant(operand, wanted, bits_of(type))
        if isinstance(operand, syntax.Negated):
            value = self.read(operand.operand, type)
            return self.builder.binary("xor", value, ConstInt(I1, 1))
        if isinstance(operand, syntax.Vector):
            return self._packed(operand, wanted, bits_of(type))
        if isinstance(operand, syntax.SpecialRegister):
            from weft.ptx.lift.special_registers import read_special

            return self.resized(read_special(self, operand), wanted, signed=False)
        from weft.ptx.lift.variables import address_of

        return self.resized(address_of(self, operand), wanted, signed=False)

    def _read_register(self, operand: syntax.Register, wanted: Type, bits: int) -> Value:
        slot = self.slot(operand.name)
        if operand.component:
            offset = (
                "xyzw".find(operand.component)
                if operand.component in "xyzw"
                else "rgba".find(operand.component)
            )
            address = self.builder.gep(int_type(bits), slot.address, (ConstInt(I64, offset),))
            return self.builder.load(wanted, address)
        if slot.bits <= bits or slot.bits == 1:
            value = self.builder.load(wanted, slot.address)
            if operand.name in self.flushed and isinstance(wanted, FloatType) and wanted.kind == "float":
                self.normal.add(value)
            return value
        whole = self.builder.load(int_type(slot.bits), slot.address)
        return self.cast_bits(self.builder.cast("trunc", whole, int_type(bits)), wanted)

    def _constant(self, operand: syntax.Integer | syntax.Float, wanted: Type, bits: int) -> Value:
        if isinstance(wanted, FloatType):
            if isinstance(operand, syntax.Integer):
                return ConstFloat.of(wanted, float(operand.value))
            width = 32 if wanted.kind == "bfloat" else bits
            pattern = operand.bits(width)
            return ConstFloat(wanted, pattern >> 16 if wanted.kind == "bfloat" else pattern)
        number = ConstInt(int_type(bits), operand.bits(bits))
        return self.cast_bits(number, wanted) if isinstance(wanted, VectorType) else number

    def _packed(self, operand: syntax.Vector, wanted: Type, bits: int) -> Value:
        """One value of several registers, the first in the lowest bits."""
        each = bits // len(operand.elements)
        whole: Value = ConstInt(int_type(bits), 0)
        for k, element in enumerate(operand.elements):
            part: Value = self.builder.cast("zext", self.read(element, f"b{each}"), int_type(bits))
            if k:
                part = self.builder.binary("shl", part, ConstInt(int_type(bits), k * each))
            whole = self.builder.binary("or", whole, part) if k else part
        return self.cast_bits(whole, wanted)

    def write(self, operand: syntax.Operand, value: Value, type: str) -> None:
        """Put a value of a type of PTX into an operand; a wider register is extended by the type's sign."""
        if isinstance(operand, syntax.Sink):
            return
        if isinstance(operand, syntax.Vector):
            self._unpack(operand, value, bits_of(type))
            return
        assert isinstance(operand, syntax.Register), f"{operand} is written"
        slot = self.slot(operand.name)
        bits = bits_of(type)
        if slot.bits > bits:
            number = self.cast_bits(value, int_type(bits))
            op = "sext" if is_signed(type) else "zext"
            value = self.builder.cast(op, number, int_type(slot.bits))
        self.store(slot, value)

    def store(self, slot: Slot, value: Value) -> None:
        """Write a register, where the instruction's predicate holds."""
        if self.condition is not None:
            value = self.builder.select(self.condition, value, self.builder.load(value.type, slot.address))
        self.builder.store(value, slot.address)

    def _unpack(self, operand: syntax.Vector, value: Value, bits: int) -> None:
        each = bits // len(operand.elements)
        whole = self.cast_bits(value, int_type(bits))
        for k, element in enumerate(operand.elements):
            part = whole
            if k:
                part = self.builder.binary("lshr", part, ConstInt(int_type(bits), k * each))
            self.write(element, self.builder.cast("trunc", part, int_type(each)), f"b{each}")

    def cast_bits(self, value: Value, to: Type) -> Value:
        """The same bits as a value of another type of this size."""
        return value if value.type == to else self.builder.cast("bitcast", value, to)

    def resized(self, value: Value, to: Type, *, signed: bool) -> Value:
        """An integer in another width."""
        assert isinstance(value.type, IntType)
        if isinstance(to, IntType):
            have, want = value.type.bits, to.bits
            if have == want:
                return value
            op = "trunc" if have > want else "sext" if signed else "zext"
            return self.builder.cast(op, value, to)
        layout = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
        bits = layout[to.kind] if isinstance(to, FloatType) else 32
        return self.cast_bits(self.resized(value, int_type(bits), signed=signed), to)

    def ask(self, name: str, *args: Value) -> Value:
        """A call of one of weft's intrinsics."""
        return self.builder.call(declare(self.module, name), args)

    def compute(self, name: str, result: Type, *args: Value) -> Value:
        """A call of one of LLVM's intrinsics that compute."""
        function = self.module.declare(name, FunctionType(result, tuple(a.type for a in args)), PURE)
        return self.builder.call(function, args)

    def of(self, name: str, *args: Value) -> Value:
        """``name.TYPE`` of arguments of one type, which the result has, too."""
        return self.compute(f"{name}.{suffix(args[0].type)}", args[0].type, *args)

    def number(self, value: int, like: Value) -> Value:
        """An integer constant of the type of another value."""
        return constant(value, like.type)

    def block(self, name: str = "") -> BasicBlock:
        """A new block at the end."""
        return self.function.add_block(name)

    def under(self, condition: Value) -> BasicBlock:
        """Begin a block that runs where `condition` holds; return the one that both ways lead to, not begun."""
        inside, behind = self.block(), self.block()
        self.builder.cond_br(condition, inside, behind)
        self.builder.at_end(inside)
        return behind

    def go_on(self, block: BasicBlock) -> None:
        """End the current block with a jump to another one, and build there."""
        assert self.builder.block is not None
        if not self.builder.block.is_terminated:
            self.builder.br(block)
        self.builder.at_end(block)

    def guard(self, guard: syntax.Guard) -> Value:
        """Whether an instruction's predicate holds."""
        value: Value = self.builder.load(I1, self.slot(guard.register.name).address)
        return self.builder.binary("xor", value, ConstInt(I1, 1)) if guard.negated else value


def constant(value: int, type: Type) -> Value:
    """An integer constant, in each element of a vector."""
    if isinstance(type, VectorType):
        assert isinstance(type.element, IntType)
        return ConstSplat(type, ConstInt(type.element, value))
    assert isinstance(type, IntType)
    return ConstInt(type, value)


def suffix(type: Type) -> str:
    """How names of LLVM's intrinsics end for a type."""
    if isinstance(type, VectorType):
        return f"v{type.count}{suffix(type.element)}"
    if isinstance(type, FloatType):
        return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[type.kind]
    assert isinstance(type, IntType)
    return f"i{type.bits}"

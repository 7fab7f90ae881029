"""A builder that appends or inserts instructions at a point and types their results."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.block import BasicBlock
from weft.ir.constants import ConstFloat, ConstInt
from weft.ir.function import Function, Module
from weft.ir.instruction import Instruction
from weft.ir.metadata import DebugLoc
from weft.ir.result_types import cmpxchg_type, compare_type, gep_type, member_type
from weft.ir.types import (
    I32,
    I64,
    VOID,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    Type,
    VectorType,
    pointer,
)
from weft.ir.values import Value


def const_int(value: int, type: Type = I64) -> ConstInt:
    """An integer constant; `value` may be negative and wraps."""
    assert isinstance(type, IntType), f"{type} is no integer type"
    return ConstInt(type, value)


def const_float(value: float, type: Type) -> ConstFloat:
    """A float constant, `value` rounded to the type."""
    assert isinstance(type, FloatType), f"{type} is no float type"
    return ConstFloat.of(type, value)


class Builder:
    """Inserts at a point: the end of `block`, or before instruction `before`.

    `loc`, while set, is the source position of what is built; `total` marks what is built as total.
    """

    __slots__ = ("before", "block", "loc", "total")

    def __init__(self, block: BasicBlock | None = None, before: Instruction | None = None) -> None:
        self.block = block if block is not None or before is None else before.block
        self.before = before
        self.loc: DebugLoc | None = None
        self.total = False

    @classmethod
    def after_phis(cls, block: BasicBlock) -> Builder:
        index = block.first_insertion
        return cls(block, block.instructions[index] if index < len(block.instructions) else None)

    @property
    def module(self) -> Module:
        """The module that is built in."""
        function = self.block.function if self.block is not None else None
        assert function is not None and function.module is not None, "the builder is in no module"
        return function.module

    def at_end(self, block: BasicBlock) -> None:
        self.block, self.before = block, None

    def insert(self, instruction: Instruction) -> Instruction:
        assert self.block is not None, "the builder has no insertion point"
        if instruction.loc is None:
            instruction.loc = self.loc
        if self.before is None:
            return self.block.append(instruction)
        return self.block.insert_before(self.before, instruction)

    def build(self, op: str, type: Type, operands: Sequence[Value] = (), **parts: object) -> Instruction:
        """Insert any instruction; `parts` are keyword arguments of `Instruction`."""
        parts.setdefault("total", self.total)
        return self.insert(Instruction(op, type, operands, **parts))  # type: ignore[arg-type]

    def binary(self, op: str, a: Value, b: Value, flags: tuple[str, ...] = (), name: str = "") -> Instruction:
        return self.build(op, a.type, (a, b), flags=flags, name=name)

    def unary(self, op: str, a: Value, flags: tuple[str, ...] = (), name: str = "") -> Instruction:
        return self.build(op, a.type, (a,), flags=flags, name=name)

    def cast(self, op: str, a: Value, to: Type, flags: tuple[str, ...] = (), name: str = "") -> Instruction:
        return self.build(op, to, (a,), flags=flags, name=name)

    def compare(
        self, op: str, predicate: str, a: Value, b: Value, flags: tuple[str, ...] = (), name: str = ""
    ) -> Instruction:
        """``icmp`` or ``fcmp``; vector operands give a vector of i1."""
        return self.build(
            op, compare_type(a.type), (a, b), flags=flags, attrs={"predicate": predicate}, name=name
        )

    def icmp(self, predicate: str, a: Value, b: Value, name: str = "") -> Instruction:
        return self.compare("icmp", predicate, a, b, name=name)

    def fcmp(
        self, predicate: str, a: Value, b: Value, flags: tuple[str, ...] = (), name: str = ""
    ) -> Instruction:
        return self.compare("fcmp", predicate, a, b, flags, name)

    def select(self, condition: Value, then: Value, otherwise: Value, name: str = "") -> Instruction:
        return self.build("select", then.type, (condition, then, otherwise), name=name)

    def phi(self, type: Type, name: str = "", shadow: Value | None = None) -> Instruction:
        """An empty φ at the head of the current block."""
        assert self.block is not None
        phi = Instruction("phi", type, name=name, shadow=shadow, loc=self.loc)
        return self.block.insert(self.block.first_insertion, phi)

    def gep(
        self,
        source_type: Type,
        pointer: Value,
        indices: Sequence[Value],
        flags: tuple[str, ...] = (),
        name: str = "",
    ) -> Instruction:
        operands = (pointer, *indices)
        attrs = {"source_type": source_type}
        return self.build("getelementptr", gep_type(operands), operands, flags=flags, attrs=attrs, name=name)

    def load(
        self, type: Type, pointer: Value, align: int = 0, volatile: bool = False, name: str = ""
    ) -> Instruction:
        return self.build("load", type, (pointer,), attrs={"align": align, "volatile": volatile}, name=name)

    def store(self, value: Value, pointer: Value, align: int = 0, volatile: bool = False) -> Instruction:
        return self.build("store", VOID, (value, pointer), attrs={"align": align, "volatile": volatile})

    def alloca(self, type: Type, count: Value | None = None, align: int = 0, name: str = "") -> Instruction:
        attrs = {"allocated_type": type, "align": align, "space": 0}
        return self.build("alloca", pointer(), (count or ConstInt(I32, 1),), attrs=attrs, name=name)

    def call(
        self,
        callee: Value,
        args: Sequence[Value],
        fn_type: FunctionType | None = None,
        flags: tuple[str, ...] = (),
        name: str = "",
    ) -> Instruction:
        if fn_type is None:
            assert isinstance(callee, Function), "an indirect call needs its function type"
            fn_type = callee.fn_type
        attrs = {"fn_type": fn_type}
        return self.build("call", fn_type.result, (*args, callee), flags=flags, attrs=attrs, name=name)

    def br(self, target: BasicBlock) -> Instruction:
        return self.build("br", VOID, blocks=(target,))

    def cond_br(self, condition: Value, then: BasicBlock, otherwise: BasicBlock) -> Instruction:
        return self.build("br", VOID, (condition,), blocks=(then, otherwise))

    def switch(
        self, value: Value, default: BasicBlock, cases: Sequence[tuple[int, BasicBlock]]
    ) -> Instruction:
        assert isinstance(value.type, IntType)
        mask = (1 << value.type.bits) - 1
        attrs = {"cases": tuple(c & mask for c, _ in cases)}
        return self.build("switch", VOID, (value,), blocks=(default, *(b for _, b in cases)), attrs=attrs)

    def ret(self, value: Value | None = None) -> Instruction:
        return self.build("ret", VOID, () if value is None else (value,))

    def unreachable(self) -> Instruction:
        return self.build("unreachable", VOID)

    def extract_value(self, aggregate: Value, indices: Sequence[int], name: str = "") -> Instruction:
        type = member_type(aggregate.type, indices)
        assert type is not None, f"{aggregate.type} has no member {indices}"
        return self.build("extractvalue", type, (aggregate,), attrs={"indices": tuple(indices)}, name=name)

    def insert_value(
        self, aggregate: Value, value: Value, indices: Sequence[int], name: str = ""
    ) -> Instruction:
        attrs = {"indices": tuple(indices)}
        return self.build("insertvalue", aggregate.type, (aggregate, value), attrs=attrs, name=name)

    def extract_element(self, vector: Value, index: Value, name: str = "") -> Instruction:
        assert isinstance(vector.type, VectorType)
        return self.build("extractelement", vector.type.element, (vector, index), name=name)

    def insert_element(self, vector: Value, value: Value, index: Value, name: str = "") -> Instruction:
        return self.build("insertelement", vector.type, (vector, value, index), name=name)

    def shuffle(self, a: Value, b: Value, mask: Sequence[int], name: str = "") -> Instruction:
        assert isinstance(a.type, VectorType)
        type = VectorType(a.type.element, len(mask))
        return self.build("shufflevector", type, (a, b), attrs={"mask": tuple(mask)}, name=name)

    def atomic_rmw(
        self, rmw: str, pointer: Value, value: Value, ordering: str = "monotonic", name: str = ""
    ) -> Instruction:
        attrs = {"rmw": rmw, "ordering": ordering}
        return self.build("atomicrmw", value.type, (pointer, value), attrs=attrs, name=name)

    def cmpxchg(
        self,
        pointer: Value,
        expected: Value,
        new: Value,
        success: str = "monotonic",
        failure: str = "monotonic",
    ) -> Instruction:
        attrs = {"success": success, "failure": failure}
        return self.build("cmpxchg", cmpxchg_type(new.type), (pointer, expected, new), attrs=attrs)

    def fence(self, ordering: str) -> Instruction:
        return self.build("fence", VOID, attrs={"ordering": ordering})


def address_space(pointer: Value) -> int:
    """The address space that a pointer, or a vector of pointers, points into."""
    type = pointer.type.scalar
    assert isinstance(type, PointerType)
    return type.space

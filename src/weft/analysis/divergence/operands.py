"""What the transfer functions of the lattices need to know of an instruction, read off once."""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.addresses import decompose
from weft.analysis.shapes import Domain, Fact, Shape
from weft.analysis.shapes.lattice import weaken
from weft.ir import ConstExpr, ConstInt, ConstNull, GlobalVariable, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.opcodes import OPCODES
from weft.ir.types import IntType, PointerType, Type

ELEMENTWISE = "elementwise"
"""A name without a transfer function of its own: uniform where all operands are."""

_SCALAR_FORMS = {"binary", "unary", "cast", "compare", "select"}


class Plan(Struct, frozen=True):
    """An instruction as a lattice sees it.

    Parameters
    ----------
    op, flags, bits, predicate, scales, offset
        As `Domain.transfer` takes them.
    sources
        Each operand that counts: the value, its width, and its fact if it is a constant.
    """

    op: str
    flags: tuple[str, ...]
    bits: int
    sources: tuple[tuple[Value, int, Fact | None], ...]
    predicate: str | None = None
    scales: tuple[int, ...] = ()
    offset: int = 0


class Operands:
    """Widths, shapes of constants and plans, for one domain and data layout."""

    __slots__ = ("_facts", "domain", "layout")

    def __init__(self, domain: Domain, layout: DataLayout) -> None:
        self.domain = domain
        self.layout = layout
        # By identity: constants compare by structure, which costs more than what is saved. Each is kept alive.
        self._facts: dict[int, tuple[Value, Fact]] = {}

    def bits(self, type: Type) -> int:
        """The width of an integer or pointer; 0 for every other type."""
        if isinstance(type, IntType):
            return type.bits
        return self.layout.pointer_size(type.space) * 8 if isinstance(type, PointerType) else 0

    def constant(self, value: Value) -> Fact:
        """The fact of a constant operand."""
        found = self._facts.get(id(value))
        if found is None:
            found = self._facts[id(value)] = (value, self._constant(value))
        return found[1]

    def _constant(self, value: Value) -> Fact:
        bits = self.bits(value.type)
        if isinstance(value, ConstInt):
            return Fact(self.domain.constant(bits, value.value), bits, value.value)
        if isinstance(value, ConstNull):
            return Fact(self.domain.constant(bits, 0), bits, 0)
        if isinstance(value, GlobalVariable):
            if value.linkage.thread_local:
                return Fact(self.domain.varying(bits), bits)
            return Fact(self.domain.uniform(bits, value.linkage.align or 1), bits)
        if isinstance(value, ConstExpr):
            plan = self._expression(value)
            if plan is not None:
                facts = [self.constant(v) for v, _, _ in plan.sources]
                shape = self.domain.transfer(
                    plan.op, plan.flags, bits, facts, scales=plan.scales, offset=plan.offset
                )
                return Fact(shape, bits)
        return Fact(self.domain.uniform(bits), bits)

    def _expression(self, value: ConstExpr) -> Plan | None:
        bits = self.bits(value.type)
        if value.op == "getelementptr" and bits:
            address = decompose(value.operands, value.source_type, self.layout)
            sources = tuple((v, self.bits(v.type), None) for v in (value.operands[0], *address.indices))
            return Plan(value.op, value.flags, bits, sources, None, address.scales, address.offset)
        return None

    def plan(self, instruction: Instruction) -> Plan:
        """How the lattice is to see `instruction`, which has no effects and is no φ, load or call."""
        op, bits = instruction.op, self.bits(instruction.type)
        form = OPCODES[op].form
        if form == "gep" and bits:
            address = decompose(instruction.operands, instruction.source_type, self.layout)
            values = (instruction.operands[0], *address.indices)
            sources = tuple(self.source(v) for v in values)
            return Plan(op, instruction.flags, bits, sources, None, address.scales, address.offset)
        sources = tuple(self.source(v) for v in instruction.operands)
        # The first operand stands for all, but for the arms of a select, which have the result's type.
        if form not in _SCALAR_FORMS or instruction.operands[0].type.is_vector or instruction.type.is_vector:
            op = ELEMENTWISE
        return Plan(op, instruction.flags, bits, sources, instruction.attrs.get("predicate"))

    def source(self, value: Value) -> tuple[Value, int, Fact | None]:
        """An operand with its width, and its fact if it is a constant."""
        if value.tracks_users:
            return value, self.bits(value.type), None
        fact = self.constant(value)
        return value, fact.bits, fact

    def vary(self, shape: Shape, bits: int, dims: int) -> Shape:
        """What lanes see of a value of which each may have another instance, along the dimensions in `dims`.

        Of a constant all instances are the same, and so are the low bits that all have in common.
        """
        if not dims or shape.is_bottom or (bits and shape.constant(bits) is not None):
            return shape
        strides = tuple(
            stride if not dims >> dim & 1 and isinstance(stride, int) else None
            for dim, stride in enumerate(shape.strides)
        )
        # The join with itself projects the result into the domain.
        return self.domain.join(weaken(shape, strides), shape)


def varying_dims(shape: Shape) -> int:
    """The dimensions along which lanes differ, a bit for each."""
    dims = 0
    for dim, stride in enumerate(shape.strides):
        if stride != 0:
            dims |= 1 << dim
    return dims

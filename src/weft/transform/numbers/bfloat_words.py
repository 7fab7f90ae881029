"""bfloat16 as integers of 16 bits, and its arithmetic as that of floats.

x86 has no instructions for vectors of bfloat16 below AVX512-BF16, whose own flush subnormal numbers: LLVM takes
comparisons, choices and roundings apart, lane by lane, which takes long to compile and to run. A bfloat16 is the upper
half of a float: numbers are extended by a shift, and rounded by integer arithmetic. A float has more than twice the
digits, so that sums, products and quotients are rounded as if once; a double is made a float that is odd where digits
are lost.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: loads, stores, φs and choices of bfloat16
are of ``i16``; conversions, comparisons, signs and the four operations are none of bfloat16. What is left, as calls,
has ``bitcast`` around it. Preserves the program under FR; of a NaN the upper bits are kept, and it is quiet, as LLVM
has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.graph.cfg import reverse_postorder
from weft.ir import Builder, ConstFloat, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import Poison, Undef
from weft.ir.intrinsics import PURE
from weft.ir.types import F32, F64, I16, I32, FloatType, FunctionType, IntType, Type

_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv"))
_SIGN, _ABSOLUTE = 0x8000, 0x7FFF
_FABS = "llvm.fabs.bf16"
_OF_FLOATS = frozenset(
    f"llvm.{name}.bf16"
    for name in (
        "minnum",
        "maxnum",
        "minimum",
        "maximum",
        "copysign",
        "sqrt",
        "floor",
        "ceil",
        "trunc",
        "rint",
    )
)
"""Functions that give the same of floats, rounded."""
_EXACT_BITS = 16
"""Integers of so many bits are floats without loss."""


def use_words(function: Function) -> int:
    """Make integers of the bfloat16 of a function; return how many instructions that were."""
    view = cfg_of(function)
    blocks = [view.blocks[number] for number in reverse_postorder(view.cfg.succs)]
    found = [i for block in blocks for i in block.instructions if _is_bfloat(i.type) or _takes_any(i)]
    if not found:
        return 0
    words = _Words(function)
    for phi in [i for i in found if i.op == "phi" and _is_bfloat(i.type)]:
        words.begin(phi)
    dead = [i for i in found if words.replace(i)]
    words.finish()
    for instruction in reversed(dead):
        instruction.erase()
    return len(found)


def _is_bfloat(type: Type) -> bool:
    return isinstance(type, FloatType) and type.kind == "bfloat"


def _takes_any(i: Instruction) -> bool:
    return any(_is_bfloat(o.type) for o in i.operands)


@dataclass(slots=True)
class _Words:
    """The words of the bfloat16 of one function."""

    function: Function
    known: dict[Value, Value] = field(default_factory=dict)
    phis: list[tuple[Instruction, Instruction]] = field(default_factory=list)

    def begin(self, phi: Instruction) -> None:
        made = Instruction("phi", I16, name=phi.name, loc=phi.loc)
        assert phi.block is not None
        phi.block.insert(0, made)
        self.known[phi] = made
        self.phis.append((phi, made))

    def finish(self) -> None:
        """What comes to φs, when all of it is known."""
        for phi, made in self.phis:
            for value, block in phi.incoming():
                made.add_incoming(self.word(value), block)
        for phi, _ in self.phis:
            # What still uses it is erased next.
            phi.replace_all_uses(Poison(phi.type))
            phi.erase()

    def word(self, value: Value) -> Value:
        """The bits of a bfloat16."""
        known = self.known.get(value)
        if known is not None:
            return known
        if isinstance(value, ConstFloat):
            return ConstInt(I16, value.bits)
        if isinstance(value, (Undef, Poison)):
            return type(value)(I16)
        builder = Builder.after_phis(self.function.entry)
        if isinstance(value, Instruction):
            assert value.block is not None
            place = value.block.instructions.index(value) + 1
            builder = Builder(before=value.block.instructions[place])
        made = self.known[value] = builder.cast("bitcast", value, I16)
        return made

    def wide(self, b: Builder, value: Value) -> Value:
        """The float that a bfloat16 is."""
        if isinstance(value, ConstFloat):
            return ConstFloat(F32, value.bits << 16)
        bits = b.binary("shl", b.cast("zext", self.word(value), I32), ConstInt(I32, 16))
        return b.cast("bitcast", bits, F32)

    def replace(self, i: Instruction) -> bool:
        """Compute an instruction on words; return whether nothing uses it any more."""
        b = Builder(before=i)
        b.loc = i.loc
        if i.op == "phi" and i in self.known:
            return False
        if _is_bfloat(i.type):
            word = self._computed(b, i)
            if word is not None:
                self.known[i] = word
                return True
        elif (value := self._seen(b, i)) is not None:
            i.replace_all_uses(value)
            return True
        self._put_around(b, i)
        return False

    def _computed(self, b: Builder, i: Instruction) -> Value | None:
        """The word of what an instruction gives."""
        match i.op:
            case "load":
                return b.build("load", I16, i.operands, attrs=dict(i.attrs), name=i.name)
            case "select":
                condition, then, otherwise = i.operands
                return b.select(condition, self.word(then), self.word(otherwise))
            case "bitcast" if i.operands[0].type == I16:
                return i.operands[0]
            case "freeze":
                return b.build("freeze", I16, (self.word(i.operands[0]),))
            case "fneg":
                return b.binary("xor", self.word(i.operands[0]), ConstInt(I16, _SIGN))
            case "call" if i.callee_name == _FABS:
                return b.binary("and", self.word(i.args[0]), ConstInt(I16, _ABSOLUTE))
            case "call" if i.callee_name in _OF_FLOATS:
                return _rounded(b, self._called(b, i))
            case "fptrunc":
                return _rounded(b, _as_float(b, i.operands[0]))
            case "sitofp" | "uitofp" if (
                isinstance(t := i.operands[0].type, IntType) and t.bits <= _EXACT_BITS
            ):
                return _rounded(b, b.cast(i.op, i.operands[0], F32))
            case op if op in _ARITHMETIC:
                left, right = (self.wide(b, o) for o in i.operands)
                return _rounded(b, b.binary(op, left, right, i.flags))
            case _:
                return None

    def _called(self, b: Builder, i: Instruction) -> Value:
        module, name = self.function.module, i.callee_name
        assert module is not None and name is not None
        kind = FunctionType(F32, (F32,) * len(i.args))
        function = module.declare(name.removesuffix("bf16") + "f32", kind, PURE)
        return b.call(function, tuple(self.wide(b, a) for a in i.args))

    def _seen(self, b: Builder, i: Instruction) -> Value | None:
        """What an instruction makes of bfloat16, where that is something else."""
        match i.op:
            case "fpext":
                value = self.wide(b, i.operands[0])
                return value if i.type == F32 else b.cast("fpext", value, i.type)
            case "fcmp":
                return b.fcmp(i.predicate, *(self.wide(b, o) for o in i.operands), flags=i.flags)
            case "fptosi" | "fptoui":
                return b.cast(i.op, self.wide(b, i.operands[0]), i.type)
            case "bitcast" if i.type == I16:
                return self.word(i.operands[0])
            case _:
                return None

    def _put_around(self, b: Builder, i: Instruction) -> None:
        """Give an instruction that stays what it takes: a store the word, others a bfloat16 made of that."""
        for operand in dict.fromkeys(i.operands):
            if not _is_bfloat(operand.type) or operand not in self.known:
                continue
            word = self.word(operand)
            i.replace_operand(operand, word if i.op == "store" else b.cast("bitcast", word, operand.type))


def _as_float(b: Builder, value: Value) -> Value:
    """A number of any kind as a float, which is odd where digits are lost."""
    if value.type == F32:
        return value
    if value.type != F64:
        return b.cast("fpext", value, F32)
    near = b.cast("fptrunc", value, F32)
    back = b.cast("fpext", near, F64)
    positive = b.fcmp("ogt", value, ConstFloat.of(F64, 0.0))
    beyond = b.select(positive, b.fcmp("ogt", back, value), b.fcmp("olt", back, value))
    bits = b.binary("sub", b.cast("bitcast", near, I32), b.cast("zext", beyond, I32))
    lost = b.fcmp("one", back, value)
    return b.cast("bitcast", b.binary("or", bits, b.cast("zext", lost, I32)), F32)


def _rounded(b: Builder, value: Value) -> Value:
    """The word of a float, rounded to nearest, to even: a carry moves to the next exponent."""
    bits = b.cast("bitcast", value, I32)
    high = b.binary("lshr", bits, ConstInt(I32, 16))
    half = b.binary("add", b.binary("and", high, ConstInt(I32, 1)), ConstInt(I32, 0x7FFF))
    moved = b.binary("lshr", b.binary("add", bits, half), ConstInt(I32, 16))
    quiet = b.binary("or", high, ConstInt(I32, 0x40))
    return b.cast("trunc", b.select(b.fcmp("uno", value, value), quiet, moved), I16)

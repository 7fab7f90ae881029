"""Inverse roots of floats, under fastmath: the -0.5 of what refines their estimates is multiplied behind loops.

LLVM estimates inverse roots of floats to 11 or 14 bits and refines them once, for which it multiplies by -0.5. Where a
loop only adds up products with such roots, their sums are multiplied by it, behind the loop; and quotients by powers
of a root are products with its inverse::

    for j:                                           for j:
        root = sqrt y                                    e = estimate of 1 / sqrt y
        q    = x / root                     ==>          t = e (y e e - 3)
        sum += m q q q                                   sum += m x x x t t t
    use sum                                          use -0.125 sum

Of a loop of n-body these are 2 of 34 operations.

Precondition: plain LLVM IR. Postcondition: vectors of floats are divided by powers of a root, or multiplied by its
inverse, without -0.5 where fewer multiplications are left so (`weft.analysis.scaled_sums`), and all flags of fastmath
stand at the root, the quotients, and the sums and products behind. Preserves the program under FR and OBL, as exactly
as LLVM's inverse roots.
"""

from __future__ import annotations

from weft.analysis.inverse_roots import only_divides, root_below
from weft.analysis.scaled_sums import Change, scaled_sums
from weft.ir import Builder, ConstFloat, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.block import BasicBlock
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstZero
from weft.ir.intrinsics import PURE
from weft.ir.types import F32, I16, FunctionType, VectorType
from weft.machine.targets import Isa

FAST = ("fast",)

LEAST_LANES = 4
"""Floats of the shortest register."""

ESTIMATES = {4: "llvm.x86.sse.rsqrt.ps", 8: "llvm.x86.avx.rsqrt.ps.256", 16: "llvm.x86.avx512.rsqrt14.ps.512"}
"""What LLVM takes itself, by lanes."""


def scale_roots(function: Function, isa: Isa) -> int:
    """Leave -0.5 to sums; return of how many roots."""
    roots: dict[Instruction, dict[Instruction, int]] = {}
    if isa.arch == "x86_64":
        for quotient in function.instructions():
            if _lanes(quotient):
                found = root_below(quotient)
                if found is not None:
                    roots.setdefault(found[0], {})[quotient] = found[1]
    roots = {root: quotients for root, quotients in roots.items() if only_divides(root)}
    if not roots:
        return 0
    parts = scaled_sums(function, roots)
    for part in parts:
        _Multiplied().change(part.changes)
    for root in (root for part in parts for root in part.roots):
        _replace(root, roots[root], isa)
    if parts:
        remove_dead_instructions(function)
    return sum(len(part.roots) for part in parts)


def _lanes(value: Value) -> int:
    """How many floats a vector has, if registers of one size may hold them; 0 for other values."""
    type = value.type
    if not isinstance(type, VectorType) or type.element != F32:
        return 0
    return type.count if type.count >= LEAST_LANES and type.count & (type.count - 1) == 0 else 0


def _number(value: Value, number: float) -> Value:
    assert isinstance(value.type, VectorType)
    return ConstSplat(value.type, ConstFloat.of(F32, number))


class _Multiplied:
    """Values times powers of -0.5, each once in a block."""

    def __init__(self) -> None:
        self._known: dict[tuple[Value, BasicBlock, int], Value] = {}

    def change(self, changes: tuple[Change, ...]) -> None:
        for each in changes:
            key = each.value, each.block, each.power
            if key not in self._known:
                factor = _number(each.value, (-0.5) ** each.power)
                self._known[key] = self._builder(each).binary("fmul", each.value, factor, FAST)
            each.user.set_operand(each.index, self._known[key])

    def _builder(self, change: Change) -> Builder:
        value, block = change.value, change.block
        if isinstance(value, Instruction) and value.block is block and value.op != "phi":
            build = Builder(before=block.instructions[block.instructions.index(value) + 1])
        else:
            build = Builder.after_phis(block)
        build.loc = change.user.loc
        return build


def _replace(root: Instruction, quotients: dict[Instruction, int], isa: Isa) -> None:
    """Take quotients from -2 times the inverse root."""
    assert root.block is not None
    instructions = root.block.instructions
    build = Builder(before=instructions[instructions.index(root) + 1])
    build.loc = root.loc
    y = root.args[0]
    e = _estimate(build, y, min(isa.lanes(F32.bits), max(ESTIMATES)))
    # In this order: the square of an estimate may be subnormal.
    about_one = build.binary("fmul", build.binary("fmul", y, e), e, ("contract",))
    inverse = build.binary("fmul", e, build.binary("fadd", about_one, _number(y, -3), ("contract",)))
    for quotient, power in quotients.items():
        here = Builder(before=quotient)
        here.loc = quotient.loc
        product = quotient.operands[0]
        one = isinstance(product, ConstSplat) and product == _number(y, 1)
        for n in range(power):
            product = inverse if one and n == 0 else here.binary("fmul", product, inverse, FAST)
        quotient.replace_all_uses(product)


def _estimate(build: Builder, y: Value, most: int) -> Value:
    """The processor's estimate of inverse roots, register for register."""
    lanes = _lanes(y)
    if lanes > most:
        parts = [build.shuffle(y, y, range(at, at + lanes // 2)) for at in (0, lanes // 2)]
        low, high = (_estimate(build, part, most) for part in parts)
        return build.shuffle(low, high, range(lanes))
    types, others = (y.type,), ()
    if lanes == max(ESTIMATES):
        types, others = (y.type, y.type, I16), (ConstZero(y.type), ConstInt(I16, -1))
    function = build.module.declare(ESTIMATES[lanes], FunctionType(y.type, types), PURE)
    return build.call(function, (y, *others))

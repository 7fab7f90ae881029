"""Quotients by roots of doubles, under fastmath: products with the inverse root, without a division and a root.

A processor with AVX-512 estimates inverse roots of doubles to 14 bits; one step makes them exact but for the last bit.
That is some products and sums, of which there are two at a time, where a root and a quotient of eight doubles keep an
Intel server core busy for 24 and 16 cycles. LLVM does this for floats only. Without the estimate it is slower than the
root and the quotient (Barnes-Hut on AVX2: 10.0 ms, 13.8 with an estimate by integers)::

    root = sqrt y                          r = about y ** -0.5                      rsqrt14
    q    = x / (y * root)          ==>     e = 1 - y r r
                                           r = r * (1 + e / 2 + 3 e e / 8 + 5 e e e / 16)
                                           q = (x * r) * (r * r)

Quotients by zero are whatever they are: under fastmath nothing may be infinite.

Precondition: plain LLVM IR. Postcondition: if the processor has estimates, no vector of doubles is divided by a product
of a root and what it is the root of, where the root is used for nothing else and all flags of fastmath stand at the
root, the quotient and the product. Preserves the program under FR and OBL, but for a few units in the last place.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.fast_math import FLAGS
from weft.ir import Builder, ConstFloat, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstZero
from weft.ir.intrinsics import PURE
from weft.ir.types import F64, I8, FunctionType, VectorType
from weft.machine.targets import Isa

SERIES = (1 / 2, 3 / 8, 5 / 16)
"""Of ``(1 - e) ** -0.5`` behind 1: what follows is less than 2 ** -53 for an estimate of 14 bits."""

MOST_LANES = 8
"""Doubles of a register."""

MOST = 6
"""Roots in a product: a number counts for two."""

_NEEDED = frozenset({"avx512f", "avx512vl", "fma"})


def replace_inverse_roots(function: Function, isa: Isa) -> int:
    """Take quotients by roots without roots and quotients; return how many."""
    if not isa.features >= _NEEDED:
        return 0
    roots: dict[Instruction, dict[Instruction, int]] = {}
    for quotient in function.instructions():
        if quotient.op == "fdiv" and _lanes_of(quotient) and _is_fast(quotient):
            found = _root_below(quotient.operands[1])
            if found is not None:
                roots.setdefault(found[0], {})[quotient] = found[1]
    roots = {root: quotients for root, quotients in roots.items() if _only_divides(root, quotients)}
    for root, quotients in roots.items():
        inverse = _inverse_root(_behind(root), root.args[0])
        for quotient, power in quotients.items():
            here = Builder(before=quotient)
            here.loc = quotient.loc
            quotient.replace_all_uses(_product(here, quotient.operands[0], inverse, power, quotient.flags))
    if roots:
        remove_dead_instructions(function)
    return sum(map(len, roots.values()))


def _lanes_of(value: Value) -> int:
    """How many doubles a vector has, if registers of one size may hold them; 0 for other values."""
    type = value.type
    if not isinstance(type, VectorType) or type.element != F64:
        return 0
    return type.count if type.count > 1 and type.count & (type.count - 1) == 0 else 0


def _only_divides(root: Value, quotients: Collection[Instruction]) -> bool:
    """Whether a root is used for nothing but quotients, be it in products."""
    return all(
        user in quotients if user.op == "fdiv" else user.op == "fmul" and _only_divides(user, quotients)
        for user in root.instruction_users()
    )


def _is_fast(instruction: Instruction) -> bool:
    return "fast" in instruction.flags or set(FLAGS) <= set(instruction.flags)


def _is_root(value: Value) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op == "call"
        and (value.callee_name or "").startswith("llvm.sqrt.v")
        and _is_fast(value)
    )


def _root_below(denominator: Value) -> tuple[Instruction, int] | None:
    """The root in a product of powers of what it is taken of, and which power of the root the product is."""
    factors: list[Value] = []
    work = [denominator]
    while work and len(work) + len(factors) <= MOST:
        value = work.pop()
        if isinstance(value, Instruction) and value.op == "fmul" and _is_fast(value):
            work += value.operands
        else:
            factors.append(value)
    roots = {f for f in factors if _is_root(f)}
    if work or len(roots) != 1:
        return None
    (root,) = roots
    assert isinstance(root, Instruction)
    if not all(f is root or f is root.args[0] for f in factors):
        return None
    power = sum(1 if f is root else 2 for f in factors)
    return (root, power) if power <= MOST else None


def _behind(root: Instruction) -> Builder:
    assert root.block is not None
    instructions = root.block.instructions
    builder = Builder(before=instructions[instructions.index(root) + 1])
    builder.loc = root.loc
    return builder


def _inverse_root(build: Builder, y: Value) -> Value:
    type = y.type
    assert isinstance(type, VectorType)
    fma = build.module.declare(f"llvm.fma.v{type.count}f64", FunctionType(type, (type, type, type)), PURE)

    def number(value: float) -> Value:
        return ConstSplat(type, ConstFloat.of(F64, value))

    # Without flags, so that nothing is added up in another order.
    r = _estimate(build, y)
    e = build.call(fma, (build.unary("fneg", build.binary("fmul", y, r)), r, number(1)))
    factor = number(SERIES[-1])
    for coefficient in reversed(SERIES[:-1]):
        factor = build.call(fma, (factor, e, number(coefficient)))
    return build.call(fma, (build.binary("fmul", r, e), factor, r))


def _estimate(build: Builder, y: Value) -> Value:
    """The processor's estimate, register for register."""
    lanes = _lanes_of(y)
    if lanes > MOST_LANES:
        parts = [build.shuffle(y, y, range(at, at + lanes // 2)) for at in (0, lanes // 2)]
        low, high = (_estimate(build, part) for part in parts)
        return build.shuffle(low, high, range(lanes))
    type, name = y.type, f"llvm.x86.avx512.rsqrt14.pd.{64 * lanes}"
    rsqrt = build.module.declare(name, FunctionType(type, (type, type, I8)), PURE)
    return build.call(rsqrt, (y, ConstZero(type), ConstInt(I8, -1)))


def _product(build: Builder, x: Value, r: Value, power: int, flags: tuple[str, ...]) -> Value:
    """``x * r ** power``, in as few steps as there may be behind one another."""
    square = build.binary("fmul", r, r, flags) if power > 1 else r
    product = build.binary("fmul", x, r, flags) if power % 2 else x
    for _ in range(power // 2):
        product = build.binary("fmul", product, square, flags)
    return product

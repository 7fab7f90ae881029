"""Signs of products of floats that are added to another one with one rounding, where processors cannot do that.

`llvm.fma` of floats is a call for each lane on x86-64 before AVX2. Which sign it has, a sum in double tells as well:
the product of floats is exact there, and nothing underflows. What PTX rounds down is found by that
(`weft.ptx.lift.rounding`)::

    fcmp olt (llvm.fma a, b, c), 0        ==>        fcmp olt (a * b + c, in double), -2^-150

A float that is rounded once is 0 where the exact sum is no farther from 0 than half of the least float, 2^-150. Near
that number the sum in double is exact: of an addend that is not 0, and is a multiple of 2^-149, a product that leaves
so little has no bit below 2^-198. Farther away a rounded sum is on the same side of it as the exact one.

Precondition: plain LLVM IR or P-LLVM. Postcondition: where the processor has no such instruction, no `llvm.fma` of
floats, or vectors of floats, is used by comparisons with 0 alone. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Builder, ConstFloat, ConstSplat, Function, Instruction, Value
from weft.ir.constants import ConstZero
from weft.ir.types import F32, F64, Type, VectorType
from weft.machine.targets import Isa

_FUSED = "llvm.fma."

_ROUNDED_AWAY = 2.0**-150
"""Sums up to that from 0 are 0 as floats."""

_BOTH = {"eq": ("ge", "le", "and"), "ne": ("lt", "gt", "or")}


def has_no_fused_sums(isa: Isa) -> bool:
    """Whether a processor has no instruction for such sums."""
    return isa.arch == "x86_64" and "fma" not in isa.features


def replace_fused_signs(function: Function, isa: Isa) -> int:
    """Compare such sums in double; how many there were."""
    if not has_no_fused_sums(isa):
        return 0
    found = [i for i in function.instructions() if _is_compared(i)]
    for call in found:
        _compare_in_double(call)
    return len(found)


def _is_compared(i: Instruction) -> bool:
    if i.op != "call" or i.type.scalar != F32 or not (i.callee_name or "").startswith(_FUSED):
        return False
    users = list(i.instruction_users())
    return bool(users) and all(
        user.op == "fcmp" and user.operands[0] is i and _is_zero(user.operands[1]) for user in users
    )


def _is_zero(value: Value) -> bool:
    if isinstance(value, ConstSplat):
        value = value.element
    return isinstance(value, ConstZero) or (isinstance(value, ConstFloat) and value.value == 0)


def _compare_in_double(call: Instruction) -> None:
    build = Builder(before=call)
    build.loc = call.loc
    wide = VectorType(F64, call.type.count) if isinstance(call.type, VectorType) else F64
    a, b, c = (build.cast("fpext", value, wide) for value in call.args)
    total = build.binary("fadd", build.binary("fmul", a, b), c)
    for user in list(call.instruction_users()):
        there = Builder(before=user)
        there.loc = user.loc
        user.replace_all_uses(_compared(there, user.predicate, total))
        user.erase()
    call.erase()


def _compared(build: Builder, predicate: str, total: Value) -> Value:
    """How a sum that is rounded to a float compares with 0."""
    toward = {"lt": -1, "ge": -1, "gt": 1, "le": 1}.get(predicate[1:])
    if toward is not None:
        return build.fcmp(predicate, total, _number(toward * _ROUNDED_AWAY, total.type))
    if predicate[1:] not in _BOTH:
        return build.fcmp(predicate, total, _number(0.0, total.type))
    ordered, (first, second, joined) = predicate[0], _BOTH[predicate[1:]]
    below = build.fcmp(ordered + first, total, _number(-_ROUNDED_AWAY, total.type))
    above = build.fcmp(ordered + second, total, _number(_ROUNDED_AWAY, total.type))
    return build.binary(joined, below, above)


def _number(value: float, type: Type) -> Value:
    number = ConstFloat.of(F64, value)
    return ConstSplat(type, number) if isinstance(type, VectorType) else number

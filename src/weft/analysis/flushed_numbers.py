"""Whether a program computes as a processor does that takes subnormal numbers of single precision for zero.

PTX under ``.ftz`` flushes what it reads and what it computes, which `weft.ptx.lift` writes out::

    %s = fadd float %a, %b
    %r = select (|%s| < 2**-126), copysign(0, %s), %s

Processors can do this by themselves, in a mode that holds for all arithmetic of single and of double precision. A
program means the same in that mode as without it if

- no arithmetic reads a subnormal number: each operand is such a ``select``, a constant, an integer made a number, or
  comes of those by φs, selections, and what changes signs alone;
- what arithmetic makes is used by such a ``select`` alone, by itself or as one of what another ``select`` chooses from;
- there is no arithmetic of another precision, and no function of numbers but those of the processor and mathematics
  for which the same holds.

What only moves numbers, or compares their bits, is as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.ir import Function, Instruction, Value
from weft.ir.constants import ConstAggregate, ConstFloat, ConstSplat, ConstZero, Poison, Undef
from weft.ir.types import F32, FloatType, Type

LEAST_NORMAL = 2.0**-126
LEFT = '"weft.flushing"'
"""Attribute of functions whose numbers the processor flushes by itself."""
_LARGE, _LARGE_QUOTIENT = 2.0**-78, 2.0**-60
_ARITHMETIC = frozenset({"fadd", "fsub", "fmul", "fdiv"})
_ROUNDED = ("fma", "sqrt")
"""Functions that are instructions of processors. No root of a normal number is subnormal."""
_APPROXIMATED = ("exp2", "log2", "sin", "cos", "tanh")
_CHOOSING = ("minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "floor", "ceil", "trunc", "rint",
             "nearbyint", "roundeven")  # fmt: skip
"""They make no subnormal number of numbers that are none."""
_SIGNS = ("fabs", "copysign")
_MOVES = frozenset({"phi", "select", "extractelement", "insertelement", "shufflevector", "freeze"})
_INNOCENT = frozenset(
    {
        "load",
        "store",
        "bitcast",
        "ret",
        "alloca",
        "getelementptr",
        "br",
        "switch",
        "insertvalue",
        "extractvalue",
    }
)


class Flush(Struct, frozen=True):
    """A number that is flushed.

    Parameters
    ----------
    number
        What is flushed.
    is_whole
        Whether this is all that is done to it; else those less than 0 become 0 as well, as LLVM leaves it where it
        knows that there are none.
    """

    number: Value
    is_whole: bool


def flush_of(value: Value) -> Flush | None:
    """The flush that a value is made by; None for others."""
    if not isinstance(value, Instruction) or value.op != "select" or value.type.scalar != F32:
        return None
    small, zero, number = value.operands
    if not (isinstance(small, Instruction) and small.op == "fcmp" and small.predicate == "olt"):
        return None
    size, least = small.operands
    if _number(least) != LEAST_NORMAL:
        return None
    by_size = isinstance(size, Instruction) and _function(size) == "fabs" and size.args[0] is number
    if not by_size and size is not number:
        return None
    if isinstance(zero, Instruction) and _function(zero) == "copysign":
        signed = zero.args[1] is number and _is_zero(zero.args[0])
        return Flush(number, True) if signed and by_size else None
    return Flush(number, False) if _is_zero(zero) else None


def is_left_to_processor(instruction: Instruction) -> bool:
    """Whether an instruction is part of a flush that the processor does by itself, and that takes no time."""
    if instruction.op not in ("select", "fcmp", "call"):
        return False
    block = instruction.block
    if block is None or block.function is None or LEFT not in block.function.attributes:
        return False
    if instruction.op == "select":
        flush = flush_of(instruction)
        return flush is not None and flush.is_whole
    if instruction.op == "fcmp":
        return _is_of_flush(instruction)
    if _function(instruction) not in _SIGNS:
        return False
    users = list(instruction.instruction_users())
    return bool(users) and all(user.op in ("select", "fcmp") and is_left_to_processor(user) for user in users)


def is_rounded(value: Value) -> bool:
    """Whether a value of single precision is what one instruction of a processor computes, or such or 0."""
    work, seen = [value], set[Value]()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if not isinstance(value, Instruction) or value.type.scalar != F32:
            return False
        if value.op == "select":
            arms = [arm for arm in value.operands[1:] if not _is_zero(arm)]
            if not arms:
                return False
            work += arms
        elif value.op not in _ARITHMETIC and _function(value) not in _ROUNDED:
            return False
    return True


def flushes_all(functions: Iterable[Function]) -> bool:
    """Whether all functions of a program flush each number that they compute, and there is one."""
    found = False
    for function in functions:
        if not _flushes(function):
            return False
        found = found or any(flush_of(i) for i in function.instructions())
    return found


def _flushes(function: Function) -> bool:
    asked: list[Value] = []
    for i in function.instructions():
        needed = _needed(i)
        if needed is None:
            return False
        asked += needed
    return _are_flushed(asked)


def _needed(i: Instruction) -> list[Value] | None:
    """The operands of an instruction that may not be subnormal; None for those that may not be there."""
    numbers = [o for o in i.operands if isinstance(o.type.scalar, FloatType)]
    if i.op == "call":
        return _needed_by_call(i)
    if i.op in _MOVES or i.op in _INNOCENT or i.op == "fneg":
        return []
    if not numbers and not isinstance(i.type.scalar, FloatType):
        return []
    if i.op in ("sitofp", "uitofp"):
        return [] if i.type.scalar == F32 else None
    if any(o.type.scalar != F32 for o in numbers):
        return None
    if i.op in ("fptosi", "fptoui"):
        return numbers
    if i.op == "fcmp":
        return [] if _is_of_flush(i) else numbers
    if i.op in _ARITHMETIC:
        return _needed_by_arithmetic(i, numbers)
    return None


def _needed_by_arithmetic(i: Instruction, numbers: list[Value]) -> list[Value] | None:
    if not (_is_never_small(i) or _is_hidden(i)):
        return None
    return [number for number in numbers if not _is_guarded(i, number)]


def _needed_by_call(i: Instruction) -> list[Value] | None:
    types: list[Type] = [i.type, *(a.type for a in i.args)]
    if not any(isinstance(t.scalar, FloatType) for t in types):
        return []
    name = _function(i)
    if name is None and (i.callee_name or "").startswith("llvm.is.fpclass."):
        return []
    callee = i.callee
    if isinstance(callee, Function) and not callee.is_declaration:
        # What it is given and gives back are numbers like those in memory.
        return []
    if name in _SIGNS:
        return []
    if name is None or any(isinstance(t.scalar, FloatType) and t.scalar != F32 for t in types):
        return None
    if name in _CHOOSING:
        return list(i.args)
    if name == "sqrt":
        return [] if _is_guarded_root(i) else list(i.args)
    if name in ("fma", *_APPROXIMATED):
        return _needed_by_arithmetic(i, i.args)
    return None


def _function(value: Value) -> str | None:
    """``"fma"`` for a call of ``llvm.fma.f32``."""
    if not isinstance(value, Instruction) or value.op != "call":
        return None
    parts = (value.callee_name or "").split(".")
    return parts[1] if len(parts) == 3 and parts[0] == "llvm" and parts[2].endswith("f32") else None


def _is_hidden(value: Value) -> bool:
    """Whether it makes no difference to all users of a number if it is flushed."""
    work, seen = [value], set[Value]()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.instruction_users():
            hides = _hides(user, value)
            if hides is False:
                return False
            if hides is None:
                work.append(user)
    return True


def _hides(user: Instruction, value: Value) -> bool | None:
    """Whether a user hides it; None where it does if its own users do."""
    if user.op == "select":
        is_flushed = value not in user.operands[:2] and _guarded_by(user) is _without_sign(value)
        # Squares of flushed numbers are 0 where these are: LLVM asks behind the square.
        return True if is_flushed else None
    if user.op == "fcmp":
        return _is_of_flush(user)
    name = _function(user)
    if name == "copysign" and user.args[0] is not value:
        return True
    if _is_guarded(user, value) or _is_guarded_root(user):
        return True
    return None if name in _SIGNS else False


def _is_guarded(arithmetic: Instruction, operand: Value) -> bool:
    """Whether what is computed of a number is used only where that is not subnormal."""
    if arithmetic.op not in _ARITHMETIC and _function(arithmetic) not in ("fma", *_APPROXIMATED):
        return False
    number = _without_sign(operand)
    if isinstance(number, Instruction) and _function(number) == "sqrt":
        number = _without_sign(number.args[0])
    return all(
        user.op == "select" and arithmetic not in user.operands[:2] and _guarded_by(user) is number
        for user in arithmetic.instruction_users()
    )


def _is_guarded_root(root: Instruction) -> bool:
    return _function(root) == "sqrt" and all(_is_guarded(user, root) for user in root.instruction_users())


def _guarded_by(select: Instruction) -> Value | None:
    """What is not subnormal, but for its sign, where a selection takes its last operand."""
    test = select.operands[0]
    if isinstance(test, Instruction) and test.op == "fcmp" and _is_of_flush(test):
        return _without_sign(test.operands[0])
    return None


def _without_sign(value: Value) -> Value:
    while isinstance(value, Instruction) and (value.op == "fneg" or _function(value) in _SIGNS):
        value = value.operands[0] if value.op == "fneg" else value.args[0]
    return value


def _is_never_small(value: Value) -> bool:
    """Whether a term of a sum is so large that what is left of it has no place below the least normal number.

    Products of two numbers have 48 bits, so what comes next to a term of 2**-78 is 2**-126 from it, or more. Neither is
    such a number small if it is divided by a root, which is 2**64 at most.
    """
    if not isinstance(value, Instruction):
        return False
    if value.op == "fdiv" and _function(value.operands[1]) == "sqrt":
        return abs(_number(value.operands[0]) or 0.0) >= _LARGE_QUOTIENT
    terms = value.operands if value.op in ("fadd", "fsub") else ()
    if _function(value) == "fma":
        terms = value.args[2:]
    return any(abs(number) >= _LARGE for number in map(_number, terms) if number is not None)


def _is_of_flush(comparison: Instruction) -> bool:
    """Whether a comparison asks for what is less than all normal numbers, as 0 is as well."""
    return comparison.predicate == "olt" and _number(comparison.operands[1]) == LEAST_NORMAL


def _are_flushed(values: list[Value]) -> bool:
    """Whether none of these can be subnormal; those that go around loops are not if nothing makes them so."""
    seen: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if flush_of(value) is not None:
            continue
        sources = _sources(value)
        if sources is None:
            return False
        work += sources
    return True


def _sources(value: Value) -> list[Value] | None:
    """What a value is subnormal by, if it is; None where it may be so by itself."""
    if isinstance(value, ConstFloat):
        size = value.bits & 0x7FFFFFFF
        return [] if value.type == F32 and (size == 0 or size >= 0x00800000) else None
    if isinstance(value, ConstSplat):
        return [value.element]
    if isinstance(value, ConstAggregate):
        return list(value.elements)
    if isinstance(value, ConstZero | Poison | Undef):
        return []
    if not isinstance(value, Instruction):
        return None
    if value.op in ("sitofp", "uitofp") or _is_never_small(value):
        return []
    if value.op in _MOVES or value.op == "fneg":
        return [o for o in value.operands if isinstance(o.type.scalar, FloatType)]
    name = _function(value)
    if name in _CHOOSING or name in ("fabs", "sqrt"):
        return list(value.args)
    return [value.args[0]] if name == "copysign" else None


def _number(value: Value) -> float | None:
    if isinstance(value, ConstSplat):
        value = value.element
    return value.value if isinstance(value, ConstFloat) else None


def _is_zero(value: Value) -> bool:
    return isinstance(value, ConstZero) or _number(value) == 0.0

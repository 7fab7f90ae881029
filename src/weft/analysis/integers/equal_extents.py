"""Extents of arrays that matter if they are equal: ``if x < out.shape[1]: ... a[y, (x + 1) % a.shape[1]]``.

A remainder is a comparison and a subtraction where its divisor bounds what is divided, but for what is added to it.
Where the bound is the extent of one array and the divisor that of another one, or one of them a number that is given,
only a launch knows that they are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import Argument, ConstInt, Function, Instruction, Value
from weft.ir.slices import slice_of
from weft.ir.types import I64

_CASTS = ("sext", "zext", "trunc", "freeze")
_REMAINDERS, _QUOTIENTS = ("srem", "urem"), ("sdiv", "udiv")
_EXTREMA = ("llvm.umax.", "llvm.smax.")


def equal_extents(function: Function) -> list[tuple[int, int]]:
    """Pairs of parameters, the lower number first, of which it matters if they are equal.

    One of them at least is an extent. One bounds a number, the other one divides a sum that this number is part of, and
    bounds it nowhere. The function is in canonical form. Where quotients are taken, too, a number is parted in rows and
    columns, and goes beyond its divisor.
    """
    parted = {tuple(i.operands) for i in function.instructions() if i.op in _QUOTIENTS}
    divided: dict[Argument, set[Instruction]] = {}
    bounded: dict[Argument, set[Instruction]] = {}
    for i in function.instructions():
        if i.op in _REMAINDERS and tuple(i.operands) not in parted:
            divisor = _but_for_zero(i.operands[1])
            if isinstance(divisor, Argument) and divisor.type == I64:
                divided.setdefault(divisor, set()).update(_numbers(i.operands[0]))
    if not divided:
        return []
    for i in function.instructions():
        if i.op == "icmp":
            parts = [part for operand in i.operands for part in _parts(operand)]
            for part in parts:
                if isinstance(part, Argument) and part.type == I64:
                    bounded.setdefault(part, set()).update(p for p in parts if isinstance(p, Instruction))
    return sorted(
        {
            (min(one.index, other.index), max(one.index, other.index))
            for other, numbers in divided.items()
            for one, inside in bounded.items()
            if one is not other
            and (_is_extent(one) or _is_extent(other))
            and (numbers & inside) - bounded.get(other, set())
        }
    )


def _is_extent(number: Argument) -> bool:
    """Whether it is the extent of an array of Python, by the name that its parameter has."""
    return ".shape." in (number.name or "")


def _but_for_zero(divisor: Value) -> Value:
    """What is divided by where that is not 0: Python's operators choose another divisor there."""
    if isinstance(divisor, Instruction):
        if divisor.op == "select":
            chosen = divisor.operands[1:]
        elif (divisor.callee_name or "").startswith(_EXTREMA):
            chosen = divisor.operands[:2]
        else:
            return divisor
        others = [value for value in chosen if not isinstance(value, ConstInt)]
        if len(others) == 1:
            return others[0]
    return divisor


def _numbers(value: Value) -> Iterator[Instruction]:
    return (part for part in _parts(value) if isinstance(part, Instruction))


def _parts(value: Value) -> Iterator[Value]:
    """What is added up in a number, constants apart."""
    parts = slice_of(value, _is_gone_into)
    return (
        part
        for part in parts
        if not isinstance(part, ConstInt) and not (isinstance(part, Instruction) and _is_gone_into(part))
    )


def _is_gone_into(part: Instruction) -> bool:
    return part.op in ("add", "sub", *_CASTS)

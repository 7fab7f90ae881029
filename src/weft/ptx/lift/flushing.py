"""Registers that never hold a subnormal number: under ``.ftz`` they need not be flushed when they are read.

``fma.rn.ftz.f32`` flushes three operands and its result, but code that is compiled to flush has done so to what it
computes with. A register is of that kind if everything that the function writes to it is: results under ``.ftz``,
integers made floats, constants, and what other such registers hold. The order of instructions does not matter, so
numbers that go around loops are found as well. One that is read before it is written holds anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ptx import syntax
from weft.ptx.registers import writes

_FLUSHING = frozenset(
    {
        *("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "min", "max", "neg", "abs"),
        *("ex2", "lg2", "sin", "cos"),
    }
)
_ROUNDED = frozenset({"add", "sub", "mul", "fma", "mad", "div"})
_INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
_LEAST_NORMAL = 0x00800000


def flushed_registers(function: syntax.Function) -> frozenset[str]:
    """The registers of a function that hold no subnormal number of single precision."""
    found: set[str] = set()
    doubtful = {parameter.name for parameter in (*function.parameters, *function.returns)}
    copies: dict[str, list[str]] = {}
    for instruction in function.body or []:
        if not isinstance(instruction, syntax.Instruction):
            continue
        written = writes(instruction)
        found.update(written)
        if _is_flushed(instruction):
            continue
        sources = _copied(instruction)
        if sources is None:
            doubtful.update(written)
        else:
            for source in sources:
                copies.setdefault(source, []).extend(written)
    # What is copied from a register that is never written is anything.
    work = [*doubtful, *(name for name in copies if name not in found)]
    while work:
        for name in copies.get(work.pop(), ()):
            if name not in doubtful:
                doubtful.add(name)
                work.append(name)
    return frozenset(found - doubtful)


def computes_subnormals(function: syntax.Function) -> bool:
    """Whether some arithmetic in single precision flushes nothing, so that no processor's mode does all of it."""
    return any(
        isinstance(i, syntax.Instruction)
        and i.opcode in _ROUNDED
        and i.modifiers[-1:] == ("f32",)
        and "ftz" not in i.modifiers
        for i in function.body or []
    )


def _is_flushed(i: syntax.Instruction) -> bool:
    """Whether what the instruction writes is flushed, or is an integer."""
    if i.modifiers[-1:] == ("f32",) and "ftz" in i.modifiers and i.opcode in _FLUSHING:
        return True
    return i.opcode == "cvt" and i.modifiers[-2:-1] == ("f32",) and i.modifiers[-1] in _INTEGERS


def _copied(i: syntax.Instruction) -> list[str] | None:
    """The registers one of which the instruction copies, where it copies these or constants; None for all others."""
    if i.opcode not in ("mov", "selp") or i.modifiers not in (("f32",), ("b32",)):
        return None
    copied = i.operands[1:2] if i.opcode == "mov" else i.operands[1:3]
    return list(_sources(copied)) if all(map(_is_known, copied)) else None


def _is_known(operand: syntax.Operand) -> bool:
    if isinstance(operand, syntax.Float):
        size = operand.bits(32) & 0x7FFFFFFF
        return size == 0 or size >= _LEAST_NORMAL
    return isinstance(operand, syntax.Register) and not operand.component


def _sources(operands: tuple[syntax.Operand, ...]) -> Iterator[str]:
    return (operand.name for operand in operands if isinstance(operand, syntax.Register))

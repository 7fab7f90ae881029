"""What the body of an outlined loop computes again, instead of being given it: what divisors were made of.

The source language asks of ``i // w`` whether w is 0 or -1, and such questions stand before the loop, as they are
invariant. A body that is given their answers as numbers no longer sees that they are about the same w; computed in it
anew they are related (`weft.transform.numbers.aligned_versions`), and LLVM moves them out of the loop around again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from weft.ir import BasicBlock, Builder, Constant, Instruction, Value
from weft.ir.clone import ValueMap
from weft.ir.effects import is_speculatable
from weft.ir.types import IntType

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_CHEAP = ("icmp", "select", "add", "sub", "and", "or", "xor", "zext", "sext", "trunc")
_CLAMPS = ("llvm.smin.", "llvm.smax.")
_MOST = 12
"""How many instructions are computed again at most."""


def recomputed(blocks: Iterable[BasicBlock], captured: Sequence[Value]) -> list[Instruction]:
    """What is computed again of a loop's captured values, operands first; nothing unless it divides by one of them."""
    given = set(captured)
    asked = {v for b in blocks for i in b.instructions for v in _asked_about(i, given)}
    if not asked:
        return []
    found = _made_of(captured)
    if len(found) > _MOST:
        # Of many, those that are about nothing but what is divided and masked by.
        sources = _sources(asked)
        found = _made_of([v for v in captured if _sources((v,)) <= sources])
    return found if len(found) <= _MOST else []


def _asked_about(instruction: Instruction, given: Collection[Value]) -> Iterator[Value]:
    """The captured value that an operation divides by; of those that it masks by what has been computed."""
    if instruction.op == "and":
        yield from (
            v for v in instruction.operands if v in given and isinstance(v, Instruction) and _is_cheap(v)
        )
    elif instruction.op in _DIVISIONS and instruction.operands[1] in given:
        yield instruction.operands[1]


def _made_of(values: Iterable[Value]) -> list[Instruction]:
    """What is computed of values, these too, operands first."""
    found: list[Instruction] = []
    for value in values:
        _add(value, found)
    return found


def _sources(values: Iterable[Value]) -> set[Value]:
    """What values are made of in the end."""
    values = list(values)
    made = _made_of(values)
    return {v for v in (*values, *(v for i in made for v in i.operands)) if not isinstance(v, Constant)} - {
        *made
    }


def _add(value: Value, found: list[Instruction]) -> None:
    if not isinstance(value, Instruction) or value in found or not _is_cheap(value):
        return
    for operand in value.operands:
        _add(operand, found)
    found.append(value)


def _is_cheap(value: Instruction) -> bool:
    if not isinstance(value.type, IntType) or not is_speculatable(value):
        return False
    if value.op == "call":
        return (value.callee_name or "").startswith(_CLAMPS)
    return value.op in _CHEAP and all(isinstance(v.type, IntType) for v in value.operands)


def to_be_given(captured: Sequence[Value], again: Sequence[Instruction]) -> tuple[Value, ...]:
    """What the body has to be given for it: captured values that it does not compute, and what it does so from."""
    wanted = [*captured, *(v for i in again for v in i.operands if not isinstance(v, Constant))]
    return tuple(v for v in dict.fromkeys(wanted) if v not in again)


def compute_again(builder: Builder, again: Sequence[Instruction], values: ValueMap) -> None:
    """Build copies, of operands that `values` maps, and map to them."""
    for instruction in again:
        copy = instruction.clone()
        for k, operand in enumerate(copy.operands):
            copy.set_operand(k, values.get(operand, operand))
        copy.loc = None
        values[instruction] = builder.insert(copy)

"""Blends of values from both sides of a branch are nested, so that neither side's mask is needed.

Linearization blends what arrives at a join one edge after the other. Of the two sides of a branch on ``c`` in a block
with mask ``p``, it makes ``(p ∧ ¬c) ? a : (p ∧ c) ? b : z``, which is ``p ? (c ? b : a) : z``; where one side is
an edge, ``(p ∧ c) ? a : p ? b : z``, which is ``p ? (c ? a : b) : z``. From the innermost branch outwards, a chain of
``elif`` becomes a chain of selects by its conditions.

Precondition: control-uniform P-LLVM with masks as `linearize` builds them. Postcondition: no chain of two selects is
such a blend. Preserves the program under FR and OBL: where ``p`` holds, ``c`` has been computed. It is a part of
linearization (Moll, §8.4), which has a select for each edge.
"""

from __future__ import annotations

from weft.ir import FALSE, TRUE, Builder, Function, Instruction, Value


def nest_selects(function: Function) -> int:
    """Rewrite the selects of `function` that are such a blend; how many times."""
    count = 0
    for select in [i for i in function.instructions() if i.op == "select"]:
        while select.block is not None and _nest(select):
            count += 1
    return count


def _nest(outer: Instruction) -> bool:
    inner = outer.operands[2]
    if not isinstance(inner, Instruction) or inner.op != "select" or inner.users != {outer: 1}:
        return False
    ours, theirs = _conjunction(outer.operands[0]), _conjunction(inner.operands[0])
    if ours is None:
        return False
    mask, condition = ours
    builder = Builder(before=outer)
    builder.total, builder.loc = outer.total, outer.loc
    if inner.operands[0] is mask:
        nested = builder.select(condition, outer.operands[1], inner.operands[1])
    elif theirs is None or theirs[0] is not mask:
        return False
    elif _is_negation(theirs[1], condition):
        nested = builder.select(condition, outer.operands[1], inner.operands[1])
    elif _is_negation(condition, theirs[1]):
        nested = builder.select(theirs[1], inner.operands[1], outer.operands[1])
    else:
        return False
    for position, value in enumerate((mask, nested, inner.operands[2])):
        outer.set_operand(position, value)
    inner.erase()
    return True


def _conjunction(value: Value) -> tuple[Value, Value] | None:
    """``mask, condition`` of ``mask ∧ condition`` as `weft.transform.linearization.masks.both` builds it."""
    if not isinstance(value, Instruction) or value.op != "select" or value.operands[2] != FALSE:
        return None
    return value.operands[0], value.operands[1]


def _is_negation(value: Value, condition: Value) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op == "xor"
        and value.operands[0] is condition
        and value.operands[1] == TRUE
    )

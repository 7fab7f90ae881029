"""Boolean operations on masks, in a form that never lets poison through.

A mask is an i1 value, computed by total instructions, that is never poison. Conditions may be poison for threads
outside their block's mask, so masks combine by ``select m, c, false``, never by ``and``.
"""

from __future__ import annotations

from weft.ir import FALSE, TRUE, Builder, ConstInt, Instruction, Value


def both(builder: Builder, mask: Value, condition: Value, name: str = "") -> Value:
    """``mask ∧ condition``; where `mask` is false, `condition` does not matter."""
    if mask == TRUE or condition == FALSE:
        return condition
    if condition == TRUE or mask == FALSE or condition is mask:
        return mask
    return builder.select(mask, condition, FALSE, name=name)


def either(builder: Builder, a: Value, b: Value, name: str = "") -> Value:
    """``a ∨ b`` of two masks."""
    if a == FALSE or b == TRUE or a is b:
        return b
    if b == FALSE or a == TRUE:
        return a
    return builder.select(a, TRUE, b, name=name)


def negated(builder: Builder, condition: Value) -> Value:
    """``¬ condition``, poison where the condition is."""
    if isinstance(condition, ConstInt):
        return FALSE if condition.value else TRUE
    if isinstance(condition, Instruction) and condition.op == "xor" and condition.operands[1] == TRUE:
        return condition.operands[0]
    return builder.binary("xor", condition, TRUE)

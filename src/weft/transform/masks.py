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


def implies(a: Value, b: Value) -> bool:
    """Whether mask `a` is false in every thread where mask `b` is, by the shape of the expressions alone."""
    return _implies(a, b, set())


def _implies(a: Value, b: Value, assumed: set[Value]) -> bool:
    if a is b or b == TRUE or a == FALSE or a in assumed:
        return True
    if not isinstance(a, Instruction):
        return False
    if a.op == "select":
        condition, then, otherwise = a.operands
        if otherwise == FALSE:
            return _implies(condition, b, assumed) or _implies(then, b, assumed)
        if then == TRUE:
            return _implies(condition, b, assumed) and _implies(otherwise, b, assumed)
        return _implies(then, b, assumed) and _implies(otherwise, b, assumed)
    if a.op == "phi":
        # A φ around a loop implies b if it does so as long as it did before.
        assumed = assumed | {a}
        return all(_implies(v, b, assumed) for v in a.used_values())
    return False

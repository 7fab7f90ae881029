"""Indices that are computed from thread numbers, in few steps: those of lanes may turn out to be neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.ir import Instruction, Value

MAX_STEPS = 24
"""How many instructions an index may be computed by, from thread numbers."""

_CALCULATIONS = {
    *("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "sdiv", "udiv", "srem", "urem"),
    *("sext", "zext", "trunc", "icmp", "select", "freeze"),
}
_CLAMPS = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.", "llvm.abs.")


def is_computed(indices: Iterable[Value], is_strided: Callable[[Value], bool]) -> bool:
    """Whether some index is not strided, and all are computed from values that are and constants."""
    work = [index for index in indices if not is_strided(index)]
    if not work:
        return False
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value in seen or is_strided(value):
            continue
        seen.add(value)
        if len(seen) > MAX_STEPS or not isinstance(value, Instruction) or not _is_arithmetic(value):
            return False
        work += value.args if value.op == "call" else value.operands
    return True


def _is_arithmetic(value: Instruction) -> bool:
    if value.op == "call":
        return (value.callee_name or "").startswith(_CLAMPS)
    return value.op in _CALCULATIONS

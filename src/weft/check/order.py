"""Programs whose result depends on the order in which threads run, or on when they do."""

from __future__ import annotations

from weft.ir import Instruction, Module
from weft.ir.locations import span_of

_COMMUTE = frozenset({"add", "sub", "and", "or", "xor", "max", "min", "umax", "umin", "fmax", "fmin"})
"""Operations of ``atomicrmw`` after any sequence of which memory holds the same."""


def order_dependence(module: Module) -> str | None:
    """Why the result of a race-free program depends on the order of its threads, None when it does not."""
    for function in module.definitions():
        for instruction in function.instructions():
            if instruction.callee_name == "llvm.readcyclecounter":
                return "it reads the processor's clock"
            if _orders_threads(instruction):
                span = span_of(instruction)
                line = f" in line {span.line}" if span else ""
                return f"what the atomic operation{line} does depends on the order of threads"
    return None


def _orders_threads(instruction: Instruction) -> bool:
    if instruction.op == "cmpxchg":
        return True
    if instruction.op != "atomicrmw":
        return False
    return instruction.is_used or instruction.attrs["rmw"] not in _COMMUTE

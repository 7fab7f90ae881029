"""Volatile accesses to shared memory, which have a vector form.

Nobody but the threads of the work-group sees shared memory, and these run on one thread of the machine. So all that
``volatile`` asks for there is that each thread makes its accesses, in their order, which programs rely on whose warps
work together without barriers. An access of all lanes at once does that, if it is neither moved nor left out: fences
that only compilers see stand around it. Other volatile accesses may be seen from outside, and are made lane by lane.
"""

from __future__ import annotations

from weft.codegen.widen.context import Widening
from weft.codegen.widen.memory import widen_load, widen_store
from weft.ir import Instruction
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import VOID, PointerType

_FENCE = {"ordering": "seq_cst", "syncscope": "singlethread"}


def is_volatile_in_shared(instruction: Instruction) -> bool:
    """Whether it is a load or store of shared memory that is volatile, and not atomic."""
    if instruction.op not in ("load", "store") or instruction.attrs.get("ordering"):
        return False
    type = instruction.pointer.type
    is_shared = isinstance(type, PointerType) and type.space == SHARED_SPACE
    return is_shared and bool(instruction.attrs.get("volatile"))


def widen_volatile(w: Widening, access: Instruction) -> None:
    """Widen such an access."""
    _fence(w)
    (widen_load if access.op == "load" else widen_store)(w, access)
    _fence(w)


def _fence(w: Widening) -> None:
    w.builder.build("fence", VOID, attrs=dict(_FENCE))

"""Which operation lifts an instruction: by its opcode, and whether it computes with integers or numbers."""

from __future__ import annotations

from typing import Final

from weft.ptx import syntax
from weft.ptx.lift.atomics import ATOMICS
from weft.ptx.lift.bits import BITS
from weft.ptx.lift.body import Body
from weft.ptx.lift.comparisons import COMPARISONS
from weft.ptx.lift.control import CONTROL
from weft.ptx.lift.conversions import CONVERSIONS
from weft.ptx.lift.copies import COPIES
from weft.ptx.lift.floats import FLOAT
from weft.ptx.lift.integers import INTEGER, Operation
from weft.ptx.lift.memory import MEMORY
from weft.ptx.lift.types import Form, is_float
from weft.ptx.lift.warps import WARPS

_ANY: Final = {**BITS, **COMPARISONS, **CONVERSIONS, **MEMORY, **COPIES, **ATOMICS, **WARPS, **CONTROL}

_SELECTED = frozenset(
    (
        *(
            "mov",
            "selp",
            "setp",
            "set",
            "slct",
            "and",
            "or",
            "xor",
            "not",
            "cnot",
            "lop3",
            "shl",
            "shr",
            "shf",
        ),
        *("add", "sub", "mul", "mad", "fma", "min", "max", "abs", "neg", "cvt", "cvta", "bfe", "bfi", "prmt"),
        *("popc", "clz", "brev", "copysign", "sad", "mul24", "mad24"),
    )
)
"""What is computed on all threads, and kept where a predicate holds."""


def operation_of(body: Body, i: syntax.Instruction) -> Operation:
    """What lifts an instruction.

    Raises
    ------
    UnsupportedError
        Nothing does: what it does is a GPU's only.
    """
    if any("::" in m and m.split("::")[0] in ("cp", "bulk", "mbarrier") for m in i.modifiers):
        body.refuse(i)
    found = _ANY.get(i.opcode)
    if found is None:
        form = Form.of(i)
        if not form.types:
            body.refuse(i)
        found = (FLOAT if is_float(form.type) else INTEGER).get(i.opcode)
    if found is None:
        body.refuse(i)
    return found


def is_selected(i: syntax.Instruction) -> bool:
    """Whether an instruction under a predicate is computed on all threads: it is cheap, and touches no memory."""
    return i.opcode in _SELECTED

"""Values of loops, computed again elsewhere from other counters.

Precondition: what they are computed of is known there, and may be computed for other counters: it does not trap, and
what it loads is there. Postcondition: instructions are added, which have no effect. Preserves the program under FR and
OBL.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.ir import BasicBlock, Builder, Instruction, Value


def rebuilt(
    build: Builder,
    value: Value,
    known: dict[Value, Value],
    inside: Collection[BasicBlock],
    *,
    flags: bool = True,
) -> Value:
    """Compute a value of some blocks again; `known` has what stands for their φs, and gets what is built.

    Without `flags` it may wrap around, as where an iteration's address is computed that the loop may not have.
    """
    if value in known:
        return known[value]
    if not isinstance(value, Instruction) or value.block not in inside:
        return value
    assert not value.is_phi, "values depend on counters that are given"
    made = value.clone()
    made.debug_records = []
    if not flags:
        made.flags = ()
    for index, operand in enumerate(value.operands):
        made.set_operand(index, rebuilt(build, operand, known, inside, flags=flags))
    build.insert(made)
    known[value] = made
    return made

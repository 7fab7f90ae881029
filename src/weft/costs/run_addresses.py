"""Addresses that boxes of threads need once for each run of neighbours, not for each thread.

Of ``p[y*n + x]`` in a box of several rows, with `n` known at run time only, ``y*n`` is not strided over the box. But
each row is an access to neighbours, and all that is computed for its address, and for nothing else, is computed for the
row.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.divergence import Divergence
from weft.ir import Instruction, Value

_ARITHMETIC = frozenset(("add", "sub", "mul", "shl", "or", "and", "sext", "zext", "trunc", "getelementptr"))


def run_addresses(divergence: Divergence) -> dict[Instruction, int]:
    """For how many runs each instruction is computed that serves nothing but addresses of accesses in runs."""
    found: dict[Instruction, int] = {}
    work: list[Value] = []
    for access in divergence.function.instructions():
        runs = divergence.access_form(access).runs if access.is_plain_access else None
        if runs is not None:
            work.append(access.pointer)
    while work:
        value = work.pop()
        if not isinstance(value, Instruction) or value in found or value.op not in _ARITHMETIC:
            continue
        counts = [_served(user, value, divergence, found) for user in value.instruction_users()]
        if None in counts:
            continue
        found[value] = max(count for count in counts if count is not None)
        work += value.operands
    return found


def _served(
    user: Instruction, value: Instruction, divergence: Divergence, found: dict[Instruction, int]
) -> int | None:
    """For how many runs a user needs a value; None where it is for each thread."""
    if user.is_plain_access and user.pointer is value:
        runs = divergence.access_form(user).runs
        return None if runs is None else runs.count
    return found.get(user)


def with_addresses(loads: Iterable[Instruction]) -> set[Instruction]:
    """Loads, and what is computed for their addresses alone."""
    found = set(loads)
    work = list(found)
    while work:
        for value in work.pop().operands:
            if not isinstance(value, Instruction) or value.is_phi or value in found:
                continue
            if all(user in found for user in value.instruction_users()):
                found.add(value)
                work.append(value)
    return found

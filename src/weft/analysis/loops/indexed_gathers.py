"""Gathers that the numbers of iterations lead to, which may be rows where lanes run along another loop of a nest.

    b[i, j] = a[j, i]        lanes along i find rows of a, lanes along j gather
    c[j, i] = t[k]           k is loaded, or a loop has found it: a gather whatever lanes run along

A number leads to an address by arithmetic, and by values that ways through the program choose; what is loaded is not
followed. Facts are about the body of a nest in canonical form.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.ir import Instruction, Value

_COORDINATES = ("weft.lane.id", "weft.lane.coordinate")


def has_indexed_gathers(divergence: Divergence, numbers: Sequence[Value]) -> bool:
    """Whether some access of a body whose lanes find no row depends on `numbers`, or on the place of its lane."""
    known = frozenset(numbers)
    return any(
        divergence.access_form(i).form in (Form.GATHER, Form.STRIDED) and _leads_to(known, i.pointer)
        for i in divergence.function.instructions()
        if i.is_plain_access
    )


def _leads_to(numbers: frozenset[Value], address: Value) -> bool:
    seen: set[Value] = set()
    waiting = [address]
    while waiting:
        value = waiting.pop()
        if value in numbers:
            return True
        if value in seen or not isinstance(value, Instruction) or value.op == "load":
            continue
        if value.callee_name in _COORDINATES:
            return True
        seen.add(value)
        waiting += value.operands[1:] if value.op == "select" else value.operands
    return False

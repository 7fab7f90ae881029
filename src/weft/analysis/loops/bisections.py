"""Searches by halves: loops that go on in one of two parts of a range, by what they load between them.

    while high - low > 1:
        middle = (low + high) // 2
        if a[middle] > x: high = middle
        else: low = middle

A loop is one if its only exit compares two φs of its header, which become, by one and the same condition on what is
loaded at a place computed of both, what two choices say.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.along_rows import depends_on_data
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType


class Bisection(Struct, frozen=True):
    """A loop that goes on in one of two parts of a range, by what it loads between them.

    Parameters
    ----------
    loop
        It.
    bounds
        The φs that are the ends of the range.
    choices
        What they become.
    size
        Bytes of an element.
    """

    loop: Loop
    bounds: tuple[Instruction, Instruction]
    choices: tuple[Instruction, Instruction]
    size: int


def bisections(function: Function, view: CFGView) -> Iterator[Bisection]:
    """The loops that search by halves."""
    for loop in loop_forest(view.cfg).loops:
        if (search := bisection(loop, function, view)) is not None:
            yield search


def bisection(loop: Loop, function: Function, view: CFGView) -> Bisection | None:
    """A loop as such a search; None if it is none."""
    if loop.children or loop.is_irreducible or len(loop.latches) != 1 or len(loop.exit_edges) != 1:
        return None
    inside = {view.blocks[b] for b in loop.blocks}
    latch, header = view.blocks[loop.latches[0]], view.blocks[loop.header]
    condition = view.blocks[loop.exit_edges[0][0]].terminator.operands
    if not condition or depends_on_data(condition[0], inside):
        return None
    ends = _computing(condition[0], inside)
    chosen = {phi: phi.incoming_value(latch) for phi in header.phis() if isinstance(phi.type, IntType)}
    pairs = {
        phi: value
        for phi, value in chosen.items()
        if phi in ends and isinstance(value, Instruction) and value.op == "select" and value.block in inside
    }
    if len(pairs) != 2:
        return None
    (first, second), (one, other) = pairs, pairs.values()
    asked = one.operands[0]
    if one.operands[0] is not other.operands[0] or first.type != second.type:
        return None
    loads = [v for v in _computing(asked, inside) if isinstance(v, Instruction) and v.op == "load"]
    # What is searched for may be loaded there, too.
    loads = [v for v in loads if {first, second} <= _computing(v.pointer, inside)]
    if len(loads) != 1:
        return None
    return Bisection(loop, (first, second), (one, other), function.layout.size(loads[0].type))


def _computing(value: Value, inside: set[BasicBlock]) -> set[Value]:
    """What a value is computed of in one iteration, loads and φs with what they are."""
    found: set[Value] = set()
    work = [value]
    while work:
        v = work.pop()
        if v in found or not isinstance(v, Instruction) or v.block not in inside:
            continue
        found.add(v)
        if not v.is_phi:
            work += v.operands
    return found

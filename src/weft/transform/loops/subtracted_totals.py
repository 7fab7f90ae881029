"""What a loop takes off a number, iteration by iteration, is added to it with the other sign.

    for k: j = list[k]; s -= v[k] * x[j]         for k: j = list[k]; s += -(v[k] * x[j])

So a row of a triangular system is a sum like that of a product (`weft.transform.loops.folds`). LLVM writes it as a
difference again.

Precondition: any function. Postcondition: in innermost loops that look places up, no φ of the header is the φ less
something in the next iteration, of floats where they may be reassociated. Preserves the program under FR: a - b is
a + (-b) in floats, too.
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import looks_up
from weft.graph.loops import Loop, loop_forest
from weft.ir import Builder, Function, Instruction
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType

_FREE = {"fast", "reassoc"}


def add_what_is_subtracted(function: Function) -> int:
    """Rewrite such differences; how many."""
    view = cfg_of(function)
    made = 0
    for loop in loop_forest(view.cfg).loops:
        if loop.children or len(loop.latches) != 1 or not looks_up(loop, view):
            continue
        for less in _differences(loop, view):
            _add(less)
            made += 1
    return made


def _differences(loop: Loop, view: CFGView) -> list[Instruction]:
    """What φs of the header are in the next iteration, where that is the φ less something."""
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    found: list[Instruction] = []
    for phi in header.phis():
        less = phi.incoming_value(latch)
        if not isinstance(less, Instruction) or less.op not in ("sub", "fsub"):
            continue
        first, term = less.operands
        if first is phi and term is not phi and (less.op == "sub" or _FREE & set(less.flags)):
            found.append(less)
    return found


def _add(less: Instruction) -> None:
    total, term = less.operands
    builder = Builder(before=less)
    builder.loc = less.loc
    if isinstance(less.type, IntType):
        added = builder.binary("add", total, builder.binary("sub", const_int(0, less.type), term))
    else:
        added = builder.binary("fadd", total, builder.unary("fneg", term, less.flags), less.flags)
    replace_and_erase(less, added)

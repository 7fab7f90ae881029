"""Barriers that order nothing are removed.

A barrier keeps accesses to shared and global memory of one thread before it apart from those of other threads behind
it. Where no thread can have made an access since the barrier before (or the kernel's start), or can make one before
the next barrier (or the kernel's end), that one does the same, and the regions on both sides are one. Karrenberg and
Hack (§2.3) have a continuation for each barrier; each one less saves the values live across it.

Precondition: all threads of the work-group that have not returned reach each barrier together. Postcondition: for
each barrier there may be an access on some way from the barriers before it, and on some way to those behind it; those
with a result (votes) stay, and those of the grid, which order more than the barriers around them. Preserves the program
under FR and OBL.
"""

from __future__ import annotations

from weft.analysis.memory.stack_objects import StackObjects
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import GRID_BARRIER, IntrinsicKind, kind_of

_HARMLESS = ("llvm.lifetime.", "llvm.assume", "llvm.dbg.", "llvm.invariant.")


def remove_redundant_barriers(function: Function) -> list[Instruction]:
    """Erase the barriers without result that order nothing; returns them."""
    removed: list[Instruction] = []
    for backwards in (False, True):
        for barrier in _redundant(function, backwards):
            if barrier.type.is_void and barrier.callee_name != GRID_BARRIER:
                barrier.erase()
                removed.append(barrier)
    return removed


def _redundant(function: Function, backwards: bool) -> list[Instruction]:
    """Barriers with no access between them and all barriers before them, or behind them."""
    objects = StackObjects(function, cfg_of(function))
    steps = {b: _steps(b, objects, backwards) for b in function.blocks}
    quiet = dict.fromkeys(function.blocks, True)
    work = dict.fromkeys(function.blocks)
    while work:
        block = next(iter(work))
        del work[block]
        for following in block.predecessors if backwards else block.successors:
            if quiet[following] and not _passes(steps[block], quiet[block]):
                quiet[following] = False
                work[following] = None
    return [b for block in function.blocks for b in _reached_quietly(steps[block], quiet[block])]


def _steps(block: BasicBlock, objects: StackObjects, backwards: bool) -> list[tuple[Instruction, bool]]:
    """The barriers and accesses of a block in order, each with whether it is a barrier."""
    steps = [
        (i, is_barrier)
        for i in block.instructions
        if (is_barrier := _is_barrier(i)) or _is_access(i, objects)
    ]
    return steps[::-1] if backwards else steps


def _is_barrier(instruction: Instruction) -> bool:
    return kind_of(instruction.callee_name) is IntrinsicKind.BARRIER


def _is_access(instruction: Instruction, objects: StackObjects) -> bool:
    """Whether the instruction may access memory that other threads can see."""
    if not (may_read(instruction) or may_write(instruction)):
        return False
    if (instruction.callee_name or "").startswith(_HARMLESS):
        return False
    if instruction.op in ("load", "store"):
        sites = objects.of(instruction.pointer)
        return not sites or not sites.isdisjoint(objects.escaped)
    return not instruction.is_terminator


def _passes(steps: list[tuple[Instruction, bool]], quiet: bool) -> bool:
    """Whether there is no access since the last barrier at the end, if there is none at the start."""
    return steps[-1][1] if steps else quiet


def _reached_quietly(steps: list[tuple[Instruction, bool]], quiet: bool) -> list[Instruction]:
    found: list[Instruction] = []
    for instruction, is_barrier in steps:
        if is_barrier and quiet:
            found.append(instruction)
        quiet = is_barrier
    return found

"""Node splitting: a cycle that can be entered at several blocks becomes loops with one entry each.

Of the entries of an irreducible loop one is chosen as its header. What the other entries lead to without passing the
header is copied, edges from outside go to the copies, and the copies go on to the header (Hecht and Ullman; Aho et al.,
*Compilers*, on splitting). The loop keeps one entry; loops inside it, and inside the copies, are treated likewise.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no irreducible loop is left but those whose
copies would hold a convergent operation, which may not be in two places, or more than `MAX_COPIED` instructions.
Preserves FR.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_convergent
from weft.ir.types import TokenType
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses

MAX_COPIED = 2000
"""Instructions that are copied in one function at most: nests of such loops would grow exponentially."""


def make_reducible(function: Function) -> bool:
    """Split nodes until every loop that may be split has one entry; whether there were any."""
    left = MAX_COPIED
    changed = False
    while (split := _next_split(function, left)) is not None:
        left -= _size(split.copied)
        _copy(function, split)
        changed = True
    return changed


class _Split(Struct, frozen=True):
    """The blocks of a loop that are to be copied, and all of its blocks."""

    copied: list[BasicBlock]
    loop: set[BasicBlock]


def _next_split(function: Function, most: int) -> _Split | None:
    """What to copy next, with the header that asks for the least; None when nothing is left that may be split."""
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        if loop.is_irreducible:
            choices = [[view.blocks[b] for b in _beside(view, loop, header)] for header in loop.entries]
            choices = [blocks for blocks in choices if _may_be_copied(blocks)]
            copied = min(choices, key=_size, default=[])
            if copied and _size(copied) <= most:
                return _Split(copied, {view.blocks[b] for b in loop.blocks})
    return None


def _beside(view: CFGView, loop: Loop, header: int) -> list[int]:
    """What the other entries of a loop lead to inside it, without passing its header."""
    pending = [entry for entry in loop.entries if entry != header]
    found = set(pending)
    while pending:
        for target in view.cfg.succs[pending.pop()]:
            if target in loop and target != header and target not in found:
                found.add(target)
                pending.append(target)
    return sorted(found)


def _size(blocks: Iterable[BasicBlock]) -> int:
    return sum(len(block.instructions) for block in blocks)


def _may_be_copied(blocks: Iterable[BasicBlock]) -> bool:
    return not any(is_convergent(i) or isinstance(i.type, TokenType) for block in blocks for i in block)


def _copy(function: Function, split: _Split) -> None:
    """Let what comes from outside of the loop go through copies of some of its blocks."""
    values: ValueMap = {}
    copies = clone_blocks(split.copied, function, values)
    originals = set(split.copied)
    for block, made in zip(split.copied, copies, strict=True):
        for source in block.predecessors:
            if source not in split.loop:
                source.replace_successor(block, made)
                block.remove_phi_source(source)
            elif source not in originals:
                made.remove_phi_source(source)
    for block in split.copied:
        for target in block.successors:
            if target not in originals:
                _arrive_twice(target, block, values)
    for block in split.copied:
        for value in list(block.instructions):
            _meet(value, values)


def _arrive_twice(target: BasicBlock, source: BasicBlock, values: ValueMap) -> None:
    """Let a block that is not copied take from a copy what it takes from the block."""
    made = values[source]
    assert isinstance(made, BasicBlock)
    for phi in target.phis():
        for value, block in list(phi.incoming()):
            if block is source:
                phi.add_incoming(values.get(value, value), made)


def _meet(value: Instruction, values: ValueMap) -> None:
    """Let uses behind a value and its copy read the one that arrives."""
    duplicate = values[value]
    assert isinstance(duplicate, Instruction) and value.block is not None and duplicate.block is not None
    strays = [(v, _used_elsewhere(v)) for v in (value, duplicate)]
    if not any(users for _, users in strays):
        return
    definitions: dict[BasicBlock, Value] = {value.block: value, duplicate.block: duplicate}
    reaching = ReachingDefinition(value.type, definitions, value.name)
    for variable, users in strays:
        rewrite_uses(variable, users, reaching)


def _used_elsewhere(value: Instruction) -> list[Instruction]:
    return [user for user in value.instruction_users() if user.is_phi or user.block is not value.block]

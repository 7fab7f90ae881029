"""A load behind ways that meet, of an address that each of them has chosen: a load of each way.

``if d == 0: a = m[y, x - 1]`` and ``else: a = m[y - 1, x]`` load neighbours, along `x`, whichever way is taken. LLVM
moves such loads behind the ways, to an address that is a φ. Lanes that have taken different ways would gather there,
and nothing is known of a loop with such an address. On its way each load is one of neighbours again.

That is so for addresses that are sums of ids, counters and parameters. What is looked up is gathered in any case, once
behind the ways rather than on each.

Ways out of a loop are none of these: what leaves it goes through φs of the block that its exits lead to, which have to
stay there.

Precondition: P-LLVM in LCSSA form without predicates, shadows and guards. Postcondition: no load is of a φ of such
addresses in its own block, unless something is written between them, or it is behind a loop; the form is as before.
Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_edit import arriving, remove_dead_instructions, replace_and_erase, split_edge
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import may_write

_STEPS = ("add", "sub", "mul", "shl", "sext", "zext", "trunc")
"""What addresses of neighbours are computed by."""

_DEEPEST = 8
"""Instructions on the way from an address to a counter that are looked at."""


def part_loads(function: Function) -> int:
    """Load on each way what a load behind them takes from an address of theirs; return how many loads were parted."""
    parted = 0
    while (load := _find(function)) is not None:
        _part(load)
        parted += 1
    if parted:
        remove_dead_instructions(function)
    return parted


def _find(function: Function) -> Instruction | None:
    view = cfg_of(function)
    loops: LoopForest | None = None
    headers: set[BasicBlock] = set()
    for block in view.blocks:
        phis = [phi for phi in block.phis() if phi.type.is_pointer]
        if not phis:
            continue
        if loops is None:
            loops = loop_forest(view.cfg)
            headers = {view.blocks[loop.header] for loop in loops.loops}
        if block in headers or _is_behind_loop(block, view, loops):
            continue
        for instruction in block.instructions:
            if may_write(instruction):
                break
            if instruction.op != "load" or not instruction.is_plain_access:
                continue
            phi = next((phi for phi in phis if phi is instruction.pointer), None)
            if phi and all(_is_of_neighbours(place, headers, function) for place in phi.operands):
                return instruction
    return None


def _is_behind_loop(block: BasicBlock, view: CFGView, loops: LoopForest) -> bool:
    """Whether an edge out of a loop leads to a block."""
    around = loops.innermost[view.index[block]]
    before = (loops.innermost[n] for n in view.cfg.preds[view.index[block]])
    return any(loops.common(loop, around) is not loop for loop in before)


def _is_of_neighbours(place: Value, headers: set[BasicBlock], function: Function) -> bool:
    """Whether an address is a sum of what steps from lane to lane, or is the same in all."""
    at = linear_location(place, function.layout)
    return all(_steps(v, headers, _DEEPEST) for v in (at.base, *at.terms))


def _steps(value: Value, headers: set[BasicBlock], left: int) -> bool:
    if not isinstance(value, Instruction):
        return True
    if value.is_phi:
        return value.block in headers
    return left > 0 and value.op in _STEPS and all(_steps(v, headers, left - 1) for v in value.operands)


def _part(load: Instruction) -> None:
    phi, block = load.pointer, load.block
    assert isinstance(phi, Instruction) and block is not None
    for source in dict.fromkeys(phi.blocks):
        if len(source.terminator.successors) != 1:
            split_edge(source, block)

    def on_its_way(place: Value, source: BasicBlock) -> Value:
        copy = Instruction(
            "load", load.type, [place], flags=load.flags, attrs=load.attrs, name=load.name, loc=load.loc
        )
        copy.metadata = load.metadata
        source.insert(len(source.instructions) - 1, copy)
        return copy

    met = Instruction("phi", load.type, name=load.name, loc=load.loc)
    for value, source in arriving(phi, on_its_way):
        met.add_incoming(value, source)
    block.insert(0, met)
    replace_and_erase(load, met)

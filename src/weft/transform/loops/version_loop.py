"""Two versions of a loop: one that is to be transformed, and the loop as it was, for when a test fails.

    before:  br loop                     before:  br test, chosen, other
    loop:    ...; br exit                chosen:  br loop       other:  br loop'
    exit:    φ ...                       loop:    ...           loop':  ...
                                         left:    φ ...; br exit   left':  φ ...; br exit
                                         exit:    φ ...

Precondition: a loop-closed function; the loop has a preheader, and exits that only it branches to. Postcondition: the
loop's blocks are those of the version that runs where the test holds, so what was found of them stays true; each
version has a preheader and exits of its own, and stack objects of its own for those whose life begins in an iteration,
and is loop-closed. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks


def version_loop(
    function: Function,
    view: CFGView,
    loop: Loop,
    build_test: Callable[[Builder], Value],
    *,
    seldom: bool = False,
) -> dict[BasicBlock, BasicBlock]:
    """Run `loop` where a test holds that is built before it, and a copy of it elsewhere; the copy of each block.

    It may be told that the copy `seldom` runs.
    """
    header = view.blocks[loop.header]
    (before,) = (view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks)
    blocks = [view.blocks[b] for b in sorted(loop.blocks)]
    exits = [view.blocks[b] for b in loop.exits]
    test = build_test(Builder(before=before.terminator))
    copies: ValueMap = {}
    for kept in _objects_of_iterations(blocks):
        copies[kept] = Builder(before=kept).insert(kept.clone())
    clone_blocks(blocks, function, copies)
    other_header = copies[header]
    assert isinstance(other_header, BasicBlock)
    for each in _nest(loop):
        # Loops are told apart by these.
        copies[view.blocks[each.header]].name += ".kept"
    chosen = function.add_block(f"{header.name}.chosen", before)
    other = function.add_block(f"{header.name}.other", chosen)
    location = before.terminator.loc
    before.terminator.erase()
    ends = ((before, None), (chosen, header), (other, other_header))
    for block, target in ends:
        builder = Builder(block)
        builder.loc = location
        if target is None:
            branch = builder.cond_br(test, chosen, other)
            if seldom:
                weigh(branch, OFTEN, 1)
        else:
            builder.br(target)
    header.replace_phi_source(before, chosen)
    other_header.replace_phi_source(before, other)
    for exit in exits:
        _share(function, exit, blocks, copies)
    return {b: c for b, c in copies.items() if isinstance(b, BasicBlock) and isinstance(c, BasicBlock)}


def _nest(loop: Loop) -> list[Loop]:
    found = [loop]
    for each in found:
        found += each.children
    return found


def _objects_of_iterations(blocks: list[BasicBlock]) -> list[Instruction]:
    """Stack objects from outside of a loop whose life begins in it, and that nothing else uses."""
    inside = set(blocks)
    begun = {
        i.args[-1]
        for block in blocks
        for i in block.instructions
        if i.op == "call" and (i.callee_name or "").startswith("llvm.lifetime.start")
    }
    return [
        value
        for value in begun
        if isinstance(value, Instruction)
        and value.op == "alloca"
        and value.block not in inside
        and all(user.block in inside for user in value.instruction_users())
    ]


def _share(function: Function, exit: BasicBlock, blocks: list[BasicBlock], copies: ValueMap) -> None:
    """Give both versions a block of their own on the way to an exit."""
    phis = [(phi, list(phi.incoming())) for phi in exit.phis()]
    for phi, incoming in phis:
        for index in reversed(range(len(incoming))):
            phi.remove_incoming(index)
    for number, values in enumerate(({}, copies)):
        name = f"{exit.name}.{'left' if number == 0 else 'left.other'}"
        left = function.add_block(name, None)
        for phi, incoming in phis:
            made = left.append(Instruction("phi", phi.type, name=phi.name, loc=phi.loc))
            for value, source in incoming:
                leaving = values.get(source, source)
                assert isinstance(leaving, BasicBlock)
                made.add_incoming(values.get(value, value), leaving)
            phi.add_incoming(made, left)
        for block in blocks:
            leaving = values.get(block, block)
            assert isinstance(leaving, BasicBlock)
            leaving.replace_successor(exit, left)
        builder = Builder(left)
        builder.loc = exit.instructions[exit.first_insertion].loc
        builder.br(exit)

r"""The BOSCC gadget and the all-true twin: uniform branches at the entrance of a guarded region (Moll, §9.2).

A region is what its entrance B dominates; B is entered by one edge, from A. The gadget for all-false masks, with
the twin for all-true ones::

      A?              A?
     / \             / \
    B   C           G   C        G   any(mask) ? T : S      (total, of the mask of G)
    |   |           |\   \       T   all(mask) ? B' : B     (only with a twin; else G goes to B)
    ... |    ==>    T S   |      S   goes on to X
     \ /           /| |   |      B'  copy of the region that all lanes of the group run
      X           B'B |   |      X   the first block behind B that the region does not dominate
                   \ \|  /
                      X

Before linearization S is never reached, and B' only by all lanes. Linearization keeps both branches, since G
dominates them (Theorem 5): it skips B, and all that B dominates, where the mask is empty. Moll tests in A and lets
the branch lead to C; with the test behind A both sides of a branch can be guarded, and any target of a switch.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import TRUE, BasicBlock, Builder, Function, Instruction, Module, Poison, Value
from weft.ir.cfg_edit import split_edge
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.intrinsics import declare


def skip_where_empty(
    module: Module, source: BasicBlock, entrance: BasicBlock, behind: BasicBlock
) -> tuple[BasicBlock, BasicBlock]:
    """Put G and S before `entrance`, which is entered from `source`; S goes on to `behind`. Returns G and S."""
    test = _before(source, entrance, "any")
    function = _function_of(entrance)
    skip = function.add_block(f"{entrance.name}.skip", after=test)
    skip.set_predicate(source.predicate)
    _branch_on_vote(module, "weft.any", test, entrance, skip)
    Builder(skip).br(behind)
    for phi in behind.phis():
        phi.add_incoming(Poison(phi.type), skip)
    return test, skip


def copy_where_full(
    module: Module, source: BasicBlock, entrance: BasicBlock, region: Sequence[BasicBlock]
) -> tuple[BasicBlock, list[BasicBlock]]:
    """Put T before `entrance` and add a copy of `region`, which `entrance` begins, for full masks.

    Returns T and the copies.
    """
    test = _before(source, entrance, "all")
    function = _function_of(entrance)
    values: ValueMap = {}
    copies = clone_blocks(region, function, values)
    inside = set(region)
    for block, copy in zip(region, copies, strict=True):
        copy.name = f"{block.name}.full"
        predicate = block.predicate
        # All lanes are here: a mask from outside holds for each of them.
        if predicate is not None and predicate != TRUE and _is_outside(predicate, inside):
            copy.set_predicate(None)
        for target in block.successors:
            if target not in inside:
                for phi in target.phis():
                    for value, origin in list(phi.incoming()):
                        if origin is block:
                            phi.add_incoming(values.get(value, value), copy)
    copies[0].set_predicate(TRUE)
    copies[0].replace_phi_source(entrance, test)
    _branch_on_vote(module, "weft.all", test, copies[0], entrance)
    _place_before(function, copies, entrance)
    return test, copies


def _is_outside(value: Value, blocks: set[BasicBlock]) -> bool:
    return not isinstance(value, Instruction) or value.block not in blocks


def _before(source: BasicBlock, entrance: BasicBlock, name: str) -> BasicBlock:
    block = split_edge(source, entrance, f"{entrance.name}.{name}")
    block.set_predicate(source.predicate)
    block.terminator.erase()
    return block


def _branch_on_vote(
    module: Module, vote: str, block: BasicBlock, then: BasicBlock, otherwise: BasicBlock
) -> None:
    builder = Builder(block)
    mask: Value = builder.call(declare(module, "weft.mask"), ())
    builder.total = True
    result = builder.call(declare(module, vote), (mask,))
    builder.total = False
    builder.cond_br(result, then, otherwise)


def _function_of(block: BasicBlock) -> Function:
    assert block.function is not None
    return block.function


def _place_before(function: Function, moved: Sequence[BasicBlock], block: BasicBlock) -> None:
    rest = [b for b in function.blocks if b not in set(moved)]
    at = rest.index(block)
    function.blocks = [*rest[:at], *moved, *rest[at:]]

"""Conditions that show that they are uniform.

Precondition: control-uniform P-LLVM, that is all threads that run a block leave it together, and conditions are
not poison. Postcondition: also an analysis of values alone sees it. That one may know less than the one before
linearization did, for instance where a range followed from a branch that is gone. A condition that it finds varying
becomes ``any`` of itself, a switch on such a value a chain of branches. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Module
from weft.ir.intrinsics import declare
from weft.ir.types import IntType
from weft.transform.loops.divergent_loops import BranchDivergence


def unify_conditions(module: Module, function: Function, divergence: BranchDivergence) -> int:
    """Rewrite the branches that `divergence` takes for divergent; how many there were."""
    doubtful = [b for b in function.blocks if divergence.is_divergent_branch(b)]
    for block in doubtful:
        branch = block.terminator
        if branch.op == "switch":
            _lower(module, function, block, branch)
        else:
            builder = Builder(before=branch)
            branch.set_operand(0, builder.call(declare(module, "weft.any"), (branch.operands[0],)))
    return len(doubtful)


def _lower(module: Module, function: Function, block: BasicBlock, switch: Instruction) -> None:
    """Test one case after the other, each with a branch on ``any``."""
    value, loc, type = switch.operands[0], switch.loc, switch.operands[0].type
    assert isinstance(type, IntType)
    default, *targets = switch.blocks
    cases = list(zip(switch.attrs["cases"], targets, strict=True))
    switch.erase()
    edges: list[tuple[BasicBlock, BasicBlock]] = []
    current = block
    for i, (case, target) in enumerate(cases):
        builder = Builder(current)
        equal = builder.icmp("eq", value, ConstInt(type, case))
        some = builder.call(declare(module, "weft.any"), (equal,))
        otherwise = default
        if i + 1 < len(cases):
            otherwise = function.add_block(f"{block.name}.case", after=current)
            otherwise.set_predicate(block.predicate)
        builder.cond_br(some, target, otherwise).loc = loc
        edges.append((current, target))
        if otherwise is default:
            edges.append((current, default))
        current = otherwise
    for target in dict.fromkeys((default, *targets)):
        for phi in target.phis():
            taken = next(v for v, source in phi.incoming() if source is block)
            for i in reversed([i for i, source in enumerate(phi.blocks) if source is block]):
                phi.remove_incoming(i)
            for source, reached in edges:
                if reached is target:
                    phi.add_incoming(taken, source)

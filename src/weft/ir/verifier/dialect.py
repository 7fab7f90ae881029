"""The rules that P-LLVM adds (Moll §4.10, definition 11): predicates, ``total``, shadows, guards."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.block import BasicBlock
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.types import I1
from weft.ir.verifier.problem import Problem


def check_dialect(function: Function) -> Iterator[Problem]:
    """That each predicate is above its block is checked with dominance; predicated def-before-use is dynamic."""
    for block in function.blocks:
        yield from _check_predicate(function, block)
        for instruction in block.instructions:
            for message in _instruction_problems(instruction):
                yield Problem(message, function.name, instruction)


def _check_predicate(function: Function, block: BasicBlock) -> Iterator[Problem]:
    predicate = block.predicate
    if predicate is None:
        return
    if predicate.type != I1:
        yield Problem(f"the predicate has type {predicate.type}, not i1", function.name, block=block)
    if not isinstance(predicate, Instruction) or predicate.block is not block or predicate.is_phi:
        return
    # φs read the control mask, which does not depend on the predicate, so they need not be total.
    for instruction in block.non_phis():
        if not instruction.total:
            message = f"everything up to the definition of the predicate %{predicate.name} has to be total"
            yield Problem(message, function.name, instruction)
        if instruction is predicate:
            return


def _instruction_problems(i: Instruction) -> Iterator[str]:
    if i.total:
        if i.is_phi or i.is_terminator:
            yield f"a {'φ' if i.is_phi else 'terminator'} cannot be total"
        elif kind_of(i.callee_name) is IntrinsicKind.MASK:
            yield "weft.mask() cannot be total: it returns the activation"
    if i.shadow is not None:
        if not i.is_phi:
            yield "only a φ has a shadow"
        elif i.shadow.type != i.type:
            yield f"the shadow has type {i.shadow.type}, not {i.type}"
    if i.guard is not None:
        if i.is_phi or i.is_terminator:
            yield f"a {'φ' if i.is_phi else 'terminator'} cannot have a guard"
        if i.guard.type != I1:
            yield f"the guard has type {i.guard.type}, not i1"

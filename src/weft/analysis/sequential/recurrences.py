"""φs as expressions: those of a loop's header that grow by the same amount in every iteration (Juravle, §8.4).

Such a φ is ``start + step·iteration``, if it does not wrap around: as its flags or the test of the loop say, or, in
64 bits, as is assumed. Another φ has an expression if all that it may be is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.loops.counted_loops import CountedLoop, counted_exit
from weft.analysis.memory.addresses import decompose
from weft.analysis.sequential.assumptions import Obligation
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.scope import LoopContext, Scope, line_of
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.analysis.symbolic.numeric_bounds import numeric_bound
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import IntType

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction

_MAX_STEPS = 60
"""Longer chains of additions are no recurrence."""


def phi_expression(made: Reconstruction, scope: Scope, phi: Instruction, signed: bool) -> Expression | None:
    """The expression of a φ; None where it is a symbol."""
    assert phi.block is not None
    loop = _headed(made, scope, phi.block)
    if loop is not None:
        return _recurrence(made, scope, phi, loop, signed)
    found: Expression | None = None
    for value in phi.operands:
        one = made.at(scope, value, phi.block, signed)
        if found is not None and one != found:
            return None
        found = one
    return found


def _headed(made: Reconstruction, scope: Scope, block: BasicBlock) -> LoopContext | None:
    loop = scope.forest.headed_by[scope.view.index[block]]
    return None if loop is None else scope.loops[loop]


def counts(made: Reconstruction, loop: LoopContext, phi: Instruction) -> bool:
    """Whether a φ of the loop's header grows by the same amount in every iteration, exactly in some reading."""
    return any(_recurrence(made, loop.scope, phi, loop, signed) is not None for signed in (True, False))


def _recurrence(
    made: Reconstruction, scope: Scope, phi: Instruction, loop: LoopContext, signed: bool
) -> Expression | None:
    """``start + step·iteration``, where that is exact in the reading that is asked for."""
    updates = {v for v, b in phi.incoming() if scope.view.index[b] in loop.loop.blocks}
    starts = {v for v, b in phi.incoming() if scope.view.index[b] not in loop.loop.blocks}
    if len(updates) != 1 or len(starts) != 1 or loop.loop.is_irreducible:
        return None
    (update,), (start,) = updates, starts
    steps = _steps(made, scope, update, phi, loop)
    if steps is None:
        return None
    step, flags = steps
    first = made.operand(scope, phi, start, signed)
    if isinstance(phi.type, IntType) and not _counts_exactly(
        made, scope, phi, loop, step, flags, signed, first
    ):
        return None
    return first + step * as_expression(loop.iteration)


def _counts_exactly(
    made: Reconstruction,
    scope: Scope,
    phi: Instruction,
    loop: LoopContext,
    step: Expression,
    flags: frozenset[str],
    signed: bool,
    first: Expression,
) -> bool:
    if ("nsw" if signed else "nuw") in flags:
        return True
    counted = _tested_at_top(loop)
    tested = counted.predicate[0] if counted is not None and counted.counter.phi is phi else ""
    if tested == ("s" if signed else "u"):
        return True
    assert isinstance(phi.type, IntType)
    other = _nonwrapping_other(made, phi, loop, flags, signed)
    interval = scope.ranges.of(phi)
    if other and interval is not None and interval[0] >= 0:
        return True
    if not signed and other and step.constant is not None and step.offset >= 0:
        low = numeric_bound(first, upper=False)
        if low is not None and low >= 0:
            return True
    if phi.type.bits == 64:
        made.program.assume(
            phi,
            "wrap",
            f"{value_name(phi)} does not count beyond 63 bits",
            line_of(phi) or line_of(loop.header.terminator),
            Obligation(first + step * as_expression(loop.iteration), loop.header),
        )
        return True
    return False


def _tested_at_top(loop: LoopContext) -> CountedLoop | None:
    """How the loop counts, if it does; it may be left early, too, where its header tests the counter."""
    counted = loop.counted
    if isinstance(counted, str):
        counted = counted_exit(loop.scope.view, loop.loop)
    return None if isinstance(counted, str) else counted


def _nonwrapping_other(
    made: Reconstruction, phi: Instruction, loop: LoopContext, flags: frozenset[str], signed: bool
) -> bool:
    """Whether the other reading counts without wrapping around."""
    if ("nuw" if signed else "nsw") in flags:
        return True
    counted = _tested_at_top(loop)
    return (
        counted is not None
        and counted.counter.phi is phi
        and counted.predicate.startswith("u" if signed else "s")
    )


def _steps(
    made: Reconstruction, scope: Scope, value: Value, phi: Instruction, loop: LoopContext
) -> tuple[Expression, frozenset[str]] | None:
    """What is added to a φ in an iteration, and the flags that all additions have."""
    total = as_expression(0)
    flags = frozenset(("nsw", "nuw"))
    for _ in range(_MAX_STEPS):
        if value is phi:
            return total, flags
        if not isinstance(value, Instruction):
            return None
        op, operands = value.op, value.operands
        if op in ("add", "sub"):
            a, b = operands
            own = frozenset(value.flags)
            if op == "sub" or (isinstance(b, ConstInt) and b.signed < 0):
                # An unsigned number that falls does so by wrapping around, whatever the flag says.
                own -= {"nuw"}
            flags &= own
            if op == "add" and not _varies(made, b, scope, loop):
                value, added, sign = a, b, 1
            elif op == "add" and not _varies(made, a, scope, loop):
                value, added, sign = b, a, 1
            elif op == "sub" and not _varies(made, b, scope, loop):
                value, added, sign = a, b, -1
            else:
                return None
            total = total + made.at(scope, added, loop.header) * sign
            continue
        if op == "getelementptr" and not value.type.is_vector:
            address = decompose(operands, value.source_type, made.program.module.layout)
            if any(_varies(made, i, scope, loop) for i in address.indices):
                return None
            total = total + address.offset
            for index, scale in zip(address.indices, address.scales, strict=True):
                total = total + made.at(scope, index, loop.header) * scale
            value = address.base
            continue
        if op == "phi" and len(set(operands)) == 1:
            value = operands[0]
            continue
        return None
    return None


def _varies(made: Reconstruction, value: Value, scope: Scope, loop: LoopContext) -> bool:
    return (
        isinstance(value, Instruction)
        and value.block is not None
        and loop.contains(scope.loop_of(value.block))
    )

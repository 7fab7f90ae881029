"""What comparisons on the way to a block say, as expressions that are 0 or greater (Juravle, §8.3, Fig. 8.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weft.analysis.sequential.assumptions import Assumption, Obligation
from weft.analysis.sequential.pointers import base_of
from weft.analysis.sequential.scope import Guard, LoopContext, Scope, holding_predicate, line_of
from weft.analysis.symbolic.expression import Expression
from weft.analysis.symbolic.facts import Facts
from weft.analysis.symbolic.numeric_bounds import numeric_bound
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.types import IntType, PointerType

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction

_LEAST = -(1 << 63)


def inequalities_of(made: Reconstruction, scope: Scope, guard: Guard) -> list[Expression]:
    """What a comparison says that held, or did not."""
    compare = guard.value
    assert isinstance(compare, Instruction)
    predicate = holding_predicate(guard)
    if not isinstance(compare.operands[0].type, IntType | PointerType):
        return []
    if (between := _between(made, scope, guard, compare, predicate)) is not None:
        return between
    is_pointer = isinstance(compare.operands[0].type, PointerType)
    signed = predicate[0] != "u" or is_pointer
    a, b = (made.at(scope, v, guard.block, signed) for v in compare.operands)
    if may_tell_overflow(made, compare):
        return []
    if is_pointer and (base_of(a) is None or base_of(a) is not base_of(b)):
        return []
    kind = predicate[1:] if predicate[0] in "su" else predicate
    match kind:
        case "lt":
            return [b - a - 1]
        case "le":
            return [b - a]
        case "gt":
            return [a - b - 1]
        case "ge":
            return [a - b]
        case "eq":
            return [a - b, b - a]
        case _:
            return _different(made, scope, guard, compare, a, b)


def _between(
    made: Reconstruction, scope: Scope, guard: Guard, compare: Instruction, predicate: str
) -> list[Expression] | None:
    """What ``0 <= a < n`` says, which LLVM asks as ``a <u n`` where n is not negative; None for other comparisons.

    Where it does not hold, a may be less or more. Read as unsigned it would be assumed not to be less.
    """
    a, n = compare.operands
    if predicate in ("ugt", "ule"):
        a, n = n, a
    if predicate not in ("ult", "ugt", "uge", "ule") or not isinstance(a, Instruction):
        return None
    loop = scope.loop_of(guard.block)
    if loop is not None and loop.scope is scope and scope.view.index[guard.block] in loop.loop.exiting:
        return None
    (low, _), (least, _) = (made.range_of(scope, v, True) for v in (a, n))
    if low is None or low >= 0 or least is None or least < 0:
        return None
    if may_tell_overflow(made, compare):
        return []
    number, limit = (made.at(scope, v, guard.block) for v in (a, n))
    return [number, limit - number - 1] if predicate in ("ult", "ugt") else []


def _bottom(loop: LoopContext) -> BasicBlock | None:
    """The block that a loop is repeated from, where there is one."""
    return loop.scope.view.blocks[loop.loop.latches[0]] if len(loop.loop.latches) == 1 else None


def _different(
    made: Reconstruction, scope: Scope, guard: Guard, compare: Instruction, a: Expression, b: Expression
) -> list[Expression]:
    """What ``a != b`` says: at the end of a range, or as the test of a loop that counts up or down to it."""
    loop = scope.loop_of(guard.block)
    # The test that the loop is left by, not another one in the same block.
    is_exit = loop is not None and scope.view.index[guard.block] in loop.loop.exiting
    if loop is not None and loop.scope is scope and is_exit and guard.block in (loop.header, _bottom(loop)):
        for x, y in ((a, b), (b, a)):
            steps = x.coefficients(loop.iteration)
            if len(steps) != 2 or any(loop.contains(s.loop) for s in y.symbols()):
                continue
            step = steps[1].constant
            room = y - steps[0]
            if step and not any(c % step for c in room.terms.values()):
                # It is reached from one side only; else the counter would wrap around on its way.
                room, left = (room, y - x) if step > 0 else (-room, x - y)
                known = Facts(facts_on_the_way(made, scope, loop.header))
                if not known.is_nonnegative(room):
                    _assume_order(made, compare, Obligation(room, loop.header, True))
                return [left - abs(step)]
    for x, y in ((a, b), (b, a)):
        low = numeric_bound(x - y, upper=False)
        if low is not None and low >= 0:
            return [x - y - 1]
    return []


def _assume_order(made: Reconstruction, value: Instruction, obligation: Obligation) -> None:
    text = "the loop begins before the end that it is tested for"
    made.program.assume(value, "wrap", text, line_of(value), obligation)


def may_tell_overflow(made: Reconstruction, compare: Instruction) -> bool:
    """Whether sums of data are compared, of which no test before a loop can say that they do not wrap around.

    What such a comparison says of numbers that do not wrap is nothing to rest on: it may look for those that do.
    """
    program = made.program
    known = program.overflow_tests.get(compare)
    if known is None or known[0] != program.assumptions:
        known = program.assumptions, _rests_on_data(program.assumed, compare)
        program.overflow_tests[compare] = known
    return known[1]


def _rests_on_data(assumed: Mapping[Value, Sequence[Assumption]], compare: Instruction) -> bool:
    seen, work = set[Value](), [*compare.operands]
    while assumed and work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if any(a.obligation is not None and _is_of_data(a.obligation) for a in assumed.get(value, ())):
            return True
        if isinstance(value, Instruction):
            work += value.operands
    return False


def _is_of_data(obligation: Obligation) -> bool:
    """Whether a number of 64 bits is asked for, and data that loops read decide."""
    if obligation.is_nonnegative:
        return False
    low, high = (numeric_bound(obligation.value, upper=upper) for upper in (False, True))
    if low is not None and low >= _LEAST and high is not None and high <= -_LEAST - 1:
        return False
    symbols = obligation.value.symbols()
    counts = any(isinstance(s.origin, LoopContext) for s in symbols)
    return not counts and any(s.loop is not None for s in symbols)


def facts_on_the_way(made: Reconstruction, scope: Scope, block: BasicBlock) -> list[Expression]:
    """What the conditions on the way to a block say."""
    found: list[Expression] = []
    for guard in scope.guards(block):
        found += inequalities_of(made, scope, guard)
    return found

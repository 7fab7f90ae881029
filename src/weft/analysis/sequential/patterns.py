"""Values and elements that a loop hands from iteration to iteration in a way that has a parallel form.

* *Reduction*: a value that is only combined with others, by an associative operation
  (`weft.analysis.loops.reductions`); a minimum or maximum with the place where it is (argmin, argmax); an element
  of memory that every iteration adds to.
* *Scan*: a combination whose values along the way are used too, in a φ or as ``a[i] = a[i - 1] + x``.
* *Histogram*: ``h[f(i)] += x``.
* *Compaction*: ``out[k++] = x`` under a condition: no two iterations write the same element.
* *Last value*: a value that is set in each iteration and read only behind the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from weft.analysis.loops.reductions import is_rounded, reduction_of
from weft.analysis.sequential.combinations import narrow_reduction, scanned_by, steps_from, updates_element
from weft.analysis.sequential.dependences import Dependence
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.replacements import (
    Shape,
    compared,
    depends_on,
    is_same,
    merges_of,
    replacement_of,
    users_of,
)
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.types import IntType, PointerType


class Pattern(Enum):
    """How a value is handed on."""

    COUNTER = "counter"
    LAST_VALUE = "last value"
    REDUCTION = "reduction"
    SCAN = "scan"
    HISTOGRAM = "histogram"
    COMPACTION = "compaction"


class Carried(Struct, frozen=True):
    """A φ of a loop's header.

    Parameters
    ----------
    phi
        The φ.
    pattern
        What it is, None if it has no parallel form.
    reason
        Why not, to follow its name.
    rounds
        Whether the parallel form takes float sums or products in another order.
    """

    phi: Instruction
    pattern: Pattern | None
    reason: str = ""
    rounds: bool = False


def carried_values(made: Reconstruction, loop: LoopContext, shape: Shape) -> list[Carried]:
    """What each φ of the loop's header is."""
    phis = list(loop.header.phis())
    found = {phi: _carried(made, loop, shape, phi) for phi in phis}
    for phi in _extremum_places(made, loop, shape, phis):
        found[phi] = Carried(phi, Pattern.REDUCTION)
    return list(found.values())


def _carried(made: Reconstruction, loop: LoopContext, shape: Shape, phi: Instruction) -> Carried:
    if isinstance(phi.type, IntType | PointerType) and made.counts(loop, phi):
        return Carried(phi, Pattern.COUNTER)
    inside = set(shape.blocks)
    reduction = reduction_of(shape, phi)
    if not isinstance(reduction, str):
        rounds = any(is_rounded(i) for i in reduction.operations)
        return Carried(phi, Pattern.REDUCTION, rounds=rounds)
    if narrow_reduction(phi, shape) is not None:
        return Carried(phi, Pattern.REDUCTION)
    update = phi.incoming_value(shape.latch)
    users = [u for u in phi.instruction_users() if u.block in inside]
    if not users and not depends_on(update, phi, shape):
        return Carried(phi, Pattern.LAST_VALUE)
    scan = scanned_by(made, loop, phi, shape)
    if scan is not None:
        return Carried(phi, Pattern.SCAN, rounds=is_rounded(scan))
    if _counts_up_at_times(made, loop, phi, shape):
        return Carried(phi, Pattern.COMPACTION)
    return Carried(phi, None, reduction)


def _counts_up_at_times(made: Reconstruction, loop: LoopContext, phi: Instruction, shape: Shape) -> bool:
    """Whether an integer stays as it is or grows by one number, and only addresses of stores are computed from it."""
    if not isinstance(phi.type, IntType | PointerType):
        return False
    steps = _steps_of(made, loop, phi, shape)
    return steps is not None and len(steps - {0}) == 1 and min(steps) >= 0


def _steps_of(made: Reconstruction, loop: LoopContext, phi: Instruction, shape: Shape) -> set[int] | None:
    symbol = as_expression(made.symbol(loop.scope, phi, True))
    found: set[int] = set()
    for expression in made.possible(loop.scope, phi.incoming_value(shape.latch), whole=phi):
        step = (expression - symbol).constant
        if step is None:
            return None
        found.add(step)
    return found


def compacted(
    made: Reconstruction, loop: LoopContext, shape: Shape, phis: Sequence[Instruction]
) -> dict[Symbol, tuple[int, frozenset[BasicBlock]]]:
    """The counters of compactions: by how much each grows, and the blocks that run only if it does."""
    found: dict[Symbol, tuple[int, frozenset[BasicBlock]]] = {}
    for phi in phis:
        steps = _steps_of(made, loop, phi, shape)
        if steps is None:
            continue
        symbol = made.symbol(loop.scope, phi, True)
        found[symbol] = (max(steps), frozenset(_growing_blocks(made, loop, phi, shape)))
    return found


def is_compacted(
    dependence: Dependence, kept: Mapping[Symbol, tuple[int, frozenset[BasicBlock]]], loop: LoopContext
) -> bool:
    """Whether two stores are to elements that a counter gives, which has grown in between."""
    if not (dependence.source.is_write and dependence.sink.is_write):
        return False
    for symbol, (step, blocks) in kept.items():
        ends: list[tuple[int, Expression, int]] = []
        for access in (dependence.source, dependence.sink):
            coefficients = access.offset.coefficients(symbol)
            scale = coefficients[1].constant if len(coefficients) == 2 else None
            rest, size = coefficients[0], access.size.constant
            if scale is None or size is None or access.block not in blocks:
                break
            if any(loop.contains(s.loop) for s in rest.symbols()):
                break
            ends.append((scale, rest, size))
        if len(ends) == 2 and ends[0][0] == ends[1][0]:
            distance = (ends[1][1] - ends[0][1]).constant
            scale = ends[0][0] * step
            if distance is not None and scale - abs(distance) >= max(ends[0][2], ends[1][2]):
                return True
    return False


def _growing_blocks(
    made: Reconstruction, loop: LoopContext, phi: Instruction, shape: Shape
) -> Iterator[BasicBlock]:
    """The blocks behind or before which the value surely is increased in the same iteration."""
    update = phi.incoming_value(shape.latch)
    if not isinstance(update, Instruction):
        return
    if not update.is_phi:
        return
    symbol = as_expression(made.symbol(loop.scope, phi, True))
    for value, source in update.incoming():
        step = (made.at(loop.scope, value, source) - symbol).constant
        if step is not None and step > 0:
            block: BasicBlock | None = source
            # Back to the branch that decides.
            while block is not None and block in shape.blocks:
                yield block
                preds = loop.scope.view.cfg.preds[loop.scope.view.index[block]]
                before = loop.scope.view.blocks[preds[0]] if len(preds) == 1 else None
                block = before if before is not None and len(before.terminator.successors) == 1 else None


def _extremum_places(
    made: Reconstruction, loop: LoopContext, shape: Shape, phis: Sequence[Instruction]
) -> list[Instruction]:
    """The φs of minima and maxima that go with the place where they are: all replaced under the same comparison."""
    inside = set(shape.blocks)
    by_condition: dict[Value, list[tuple[Instruction, Value]]] = {}
    for phi in phis:
        chosen = replacement_of(phi, shape)
        if chosen is not None:
            by_condition.setdefault(chosen.condition, []).append((phi, chosen.value))
    found: list[Instruction] = []
    for condition, members in by_condition.items():
        if not isinstance(condition, Instruction) or condition.op not in ("icmp", "fcmp"):
            continue
        if condition.predicate in ("eq", "ne", "oeq", "one", "une", "ueq", "ord", "uno"):
            continue
        extrema = [
            phi
            for phi, value in members
            if phi in compared(condition)
            and any(v is not phi and is_same(made, loop, v, value) for v in compared(condition))
        ]
        group = {phi for phi, _ in members}
        merges = {m for phi in group for m in merges_of(phi, shape)}
        # A φ may be extended to be compared, and to be chosen.
        extended = [u for phi in group for u in users_of(phi) if u.op in ("sext", "zext")]
        wide = [v for v in extended if set(users_of(v)) <= {condition, *merges}]
        allowed = {condition, *merges, *wide}
        private = all(
            u in allowed or u.block not in inside for phi in group for u in phi.instruction_users()
        ) and all(u in merges or u.is_terminator for u in condition.instruction_users())
        unmixed = all(
            u.block not in inside or u in group or u in merges
            for m in merges
            if isinstance(m, Instruction)
            for u in m.instruction_users()
        )
        values = [v for _, v in members]
        if (
            len(extrema) == 1
            and private
            and unmixed
            and not any(depends_on(v, p, shape) for v in values for p in group)
        ):
            found += list(group)
    return found


def element_pattern(dependence: Dependence, loop: LoopContext) -> tuple[Pattern, bool] | None:
    """What a dependence is whose accesses are ``x op= value`` of one element; whether it rounds."""
    for load, store in ((dependence.sink, dependence.source), (dependence.source, dependence.sink)):
        if dependence.distance == 1 and dependence.source is store:
            step = steps_from(load, store)
            if step is not None and load.offset != store.offset:
                return Pattern.SCAN, is_rounded(step)
        operation = updates_element(load, store)
        if operation is None or load.offset != store.offset:
            continue
        # Loops inside give every iteration the same elements.
        varies = any(
            loop.contains(s.loop) and (s is loop.iteration or s is not getattr(s.loop, "iteration", None))
            for s in load.offset.symbols()
        )
        if load.instruction.block in set(loop.blocks):
            return (Pattern.HISTOGRAM if varies else Pattern.REDUCTION), is_rounded(operation)
    return None

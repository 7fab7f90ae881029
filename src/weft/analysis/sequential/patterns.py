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

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from weft.analysis.loops.reductions import is_rounded, reduction_of
from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.dependences import Dependence
from weft.analysis.sequential.reconstruction import Reconstruction
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


class Shape(Struct, frozen=True):
    """A loop with one latch and one block before it, for `reduction_of`."""

    blocks: Sequence[BasicBlock]
    preheader: BasicBlock
    latch: BasicBlock
    top_tested: bool


_ASSOCIATIVE = {"add", "mul", "and", "or", "xor", "fadd", "fmul"}
_KEEPS_LOW_BITS = {"add", "sub", "mul", "and", "or", "xor"}
_ASSOCIATIVE_CALLS = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.", "llvm.minnum.", "llvm.maxnum.")


def shape_of(made: Reconstruction, loop: LoopContext) -> Shape | None:
    """The loop's shape; None if it is entered or repeated in several ways."""
    view, graph = loop.scope.view, loop.loop
    outside = [p for p in view.cfg.preds[graph.header] if p not in graph.blocks]
    if graph.is_irreducible or len(graph.latches) != 1 or len(outside) != 1 or not graph.exit_edges:
        return None
    return Shape(
        loop.blocks, view.blocks[outside[0]], view.blocks[graph.latches[0]], made.is_tested_first(loop)
    )


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
    if not users and not _depends_on(update, phi, inside):
        return Carried(phi, Pattern.LAST_VALUE)
    scan = scanned_by(phi, shape)
    if scan is not None:
        return Carried(phi, Pattern.SCAN, rounds=is_rounded(scan))
    if _counts_up_at_times(made, loop, phi, shape):
        return Carried(phi, Pattern.COMPACTION)
    return Carried(phi, None, reduction)


def narrow_reduction(phi: Instruction, shape: Shape) -> Instruction | None:
    """What combines a value in a wider type that is cut off again, as C does with ``unsigned char s; s += a[i]``.

    What is cut off of a sum or a product depends on nothing that was cut off before.
    """
    update, inside = phi.incoming_value(shape.latch), set(shape.blocks)
    if not isinstance(update, Instruction) or update.op != "trunc" or update.block not in inside:
        return None
    (wide,) = update.operands
    if not isinstance(wide, Instruction) or wide.op not in _KEEPS_LOW_BITS or wide.block not in inside:
        return None
    operands = list(wide.operands)
    mine = [v for v in operands if _narrow(v) is phi and v is not phi]
    if len(mine) != 1 or (wide.op == "sub" and operands[0] is not mine[0]):
        return None
    (other,) = (v for v in operands if v is not mine[0])
    chain = ((phi, mine[0]), (mine[0], wide), (wide, update), (update, phi))
    used = all(
        u is only or (value is update and u.block not in inside) or (value is phi and u.block not in inside)
        for value, only in chain
        for u in _users(value)
    )
    return wide if used and not _depends_on(other, phi, inside) else None


def _users(value: Value) -> list[Instruction]:
    return list(value.instruction_users()) if isinstance(value, Instruction) else []


def _narrow(value: Value) -> Value:
    """The value that an extension extends."""
    if isinstance(value, Instruction) and value.op in ("sext", "zext"):
        return value.operands[0]
    return value


def _compared(condition: Instruction) -> tuple[Value, ...]:
    """What a comparison compares: of two values that are extended in one way, these."""
    a, b = condition.operands
    ends = _narrow(a), _narrow(b)
    extended = isinstance(a, Instruction) and isinstance(b, Instruction) and a.op == b.op
    if extended and a is not ends[0] and b is not ends[1] and ends[0].type == ends[1].type:
        return ends
    return a, b


def _depends_on(value: Value, source: Value, inside: Collection[BasicBlock]) -> bool:
    """Whether a value of an iteration is computed from another one of it."""
    seen: set[Value] = set()
    work = [value]
    while work:
        found = work.pop()
        if found is source:
            return True
        if isinstance(found, Instruction) and found.block in inside and found not in seen:
            seen.add(found)
            work += found.operands
            if found.is_phi:
                # Which value a φ takes is decided by branches.
                work += [v for b in found.blocks if b in inside for v in b.terminator.operands]
    return False


def scanned_by(phi: Instruction, shape: Shape) -> Instruction | None:
    """The operation by which the next value is this one combined with what does not depend on it."""
    update, inside = phi.incoming_value(shape.latch), set(shape.blocks)
    if not isinstance(update, Instruction) or update.block not in inside:
        return None
    operands = list(update.args) if update.op == "call" else list(update.operands)
    if update.op == "call":
        name = update.callee_name or ""
        if name.startswith(("llvm.fmuladd.", "llvm.fma.")):
            return (
                update
                if operands[2] is phi and not any(_depends_on(v, phi, inside) for v in operands[:2])
                else None
            )
        if not name.startswith(_ASSOCIATIVE_CALLS):
            return None
    elif update.op not in _ASSOCIATIVE and not (update.op in ("sub", "fsub") and operands[0] is phi):
        return None
    others = [v for v in operands if v is not phi]
    if len(others) != 1 or _depends_on(others[0], phi, inside):
        return None
    return update


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
            if phi in _compared(condition)
            and any(v is not phi and _is_same(made, loop, v, value) for v in _compared(condition))
        ]
        group = {phi for phi, _ in members}
        merges = {phi.incoming_value(shape.latch) for phi in group}
        # A φ may be extended to be compared.
        wide = [v for v in condition.operands if _narrow(v) in group and _users(v) == [condition]]
        allowed = {condition, *merges, *wide}
        private = all(
            u in allowed or u.block not in inside for phi in group for u in phi.instruction_users()
        ) and all(u in merges or u.is_terminator for u in condition.instruction_users())
        unmixed = all(
            u.block not in inside or u in group
            for m in merges
            if isinstance(m, Instruction)
            for u in m.instruction_users()
        )
        values = [v for _, v in members]
        if (
            len(extrema) == 1
            and private
            and unmixed
            and not any(_depends_on(v, p, inside) for v in values for p in group)
        ):
            found += list(group)
    return found


def _is_same(made: Reconstruction, loop: LoopContext, a: Value, b: Value) -> bool:
    """Whether two values of an iteration are the same: one value, or loaded twice from what the loop does not write."""
    if a is b:
        return True
    if not isinstance(a, Instruction) or not isinstance(b, Instruction) or a.op != b.op or a.type != b.type:
        return False
    if a.op in ("sext", "zext"):
        return _is_same(made, loop, a.operands[0], b.operands[0])
    if a.op != "load":
        return False
    if a.type != b.type or not a.is_plain_access or not b.is_plain_access:
        return False
    assert a.block is not None and b.block is not None
    places = made.at(loop.scope, a.pointer, a.block), made.at(loop.scope, b.pointer, b.block)
    return places[0] == places[1] and made.invariants.is_unwritten(a, loop.scope, loop)


class Replacement(Struct, frozen=True):
    """That an iteration replaces a value that is handed on if a condition holds, or if it does not.

    Parameters
    ----------
    condition
        The condition.
    value
        What comes in its place.
    if_true
        Whether it does so if the condition holds.
    """

    condition: Value
    value: Value
    if_true: bool


def replacement_of(phi: Instruction, shape: Shape) -> Replacement | None:
    """The condition under which an iteration replaces a value, and by what; None if it does otherwise."""
    update = phi.incoming_value(shape.latch)
    if not isinstance(update, Instruction) or update.block not in shape.blocks:
        return None
    if update.op == "select":
        condition, a, b = update.operands
        if (a is phi) != (b is phi):
            return Replacement(condition, b if a is phi else a, b is phi)
    if update.is_phi and len(update.operands) == 2 and phi in update.operands:
        for value, source in update.incoming():
            if value is phi:
                continue
            preds = {p for p in shape.blocks if source in p.terminator.successors}
            other = next(b for v, b in update.incoming() if v is phi)
            if len(preds) == 1:
                branch = preds.pop()
                if branch is other and branch.terminator.op == "br" and branch.terminator.operands:
                    if_true = branch.terminator.blocks[0] is source
                    return Replacement(branch.terminator.operands[0], value, if_true)
    return None


def takes_nan(phi: Instruction, shape: Shape) -> bool:
    """Whether a minimum or maximum of floats is replaced by a NaN, and a NaN by whatever comes next.

    ``best < x ? best : x`` is; then it depends on the order in which elements are looked at. ``x < best ? x : best``
    leaves NaNs out, wherever they stand.
    """
    chosen = replacement_of(phi, shape)
    if chosen is None:
        return False
    condition = chosen.condition
    if not isinstance(condition, Instruction) or condition.op != "fcmp" or phi not in condition.operands:
        return False
    if "nnan" in condition.flags:
        return False
    # A comparison with a NaN holds if it is unordered.
    return (condition.predicate[0] == "u") == chosen.if_true


def element_pattern(dependence: Dependence, loop: LoopContext) -> tuple[Pattern, bool] | None:
    """What a dependence is whose accesses are ``x op= value`` of one element; whether it rounds."""
    for load, store in ((dependence.sink, dependence.source), (dependence.source, dependence.sink)):
        operation = updates_element(load, store)
        if operation is None:
            continue
        inside = set(loop.blocks)
        rounds = is_rounded(operation)
        if load.offset == store.offset:
            # Loops inside give every iteration the same elements.
            varies = any(
                loop.contains(s.loop) and (s is loop.iteration or s is not getattr(s.loop, "iteration", None))
                for s in load.offset.symbols()
            )
            if load.instruction.block in inside:
                return (Pattern.HISTOGRAM if varies else Pattern.REDUCTION), rounds
        elif dependence.distance == 1 and dependence.source is store:
            return Pattern.SCAN, rounds
    return None


def updates_element(load: Access, store: Access) -> Instruction | None:
    """The associative operation by which a store combines what a load read with what does not depend on it."""
    if (
        load.is_write
        or not store.is_write
        or store.instruction.op != "store"
        or load.instruction.op != "load"
    ):
        return None
    if load.scope is not store.scope:
        return None
    value, read = store.instruction.stored_value, load.instruction
    users = list(read.instruction_users())
    if not isinstance(value, Instruction) or value.op in ("load", "phi") or users != [value]:
        return None
    operands = list(value.args) if value.op == "call" else list(value.operands)
    if value.op == "call":
        name = value.callee_name or ""
        if name.startswith(("llvm.fmuladd.", "llvm.fma.")):
            if operands[2] is not read:
                return None
        elif not name.startswith(_ASSOCIATIVE_CALLS):
            return None
    elif value.op not in _ASSOCIATIVE and not (value.op in ("sub", "fsub") and operands[0] is read):
        return None
    if operands.count(read) != 1 or any(u is not store.instruction for u in value.instruction_users()):
        return None
    return value

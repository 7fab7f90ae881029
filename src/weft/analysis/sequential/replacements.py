"""The shape of loops that hand values on, and how an iteration replaces or combines one of these."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.deciding import Deciders
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext
from weft.ir import BasicBlock, ConstFloat, ConstInt, Instruction, Value
from weft.ir.effects import is_speculatable, may_write


class Shape(Struct, frozen=True):
    """A loop with one latch and one block before it, for `reduction_of`; and what decides the φs in it."""

    blocks: Sequence[BasicBlock]
    preheader: BasicBlock
    latch: BasicBlock
    top_tested: bool
    deciders: Deciders


def shape_of(made: Reconstruction, loop: LoopContext) -> Shape | None:
    """The loop's shape; None if it is entered or repeated in several ways."""
    view, graph = loop.scope.view, loop.loop
    outside = [p for p in view.cfg.preds[graph.header] if p not in graph.blocks]
    if graph.is_irreducible or len(graph.latches) != 1 or len(outside) != 1 or not graph.exit_edges:
        return None
    blocks = loop.blocks
    return Shape(
        blocks,
        view.blocks[outside[0]],
        view.blocks[graph.latches[0]],
        made.is_tested_first(loop),
        Deciders(blocks, loop.header),
    )


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
    """The condition under which an iteration replaces a value, and by what; None if it does otherwise.

    C chooses among narrow numbers that are extended, and cuts the choice off.
    """
    merges = merges_of(phi, shape)
    if not merges:
        return None
    found = _chosen(merges[-1], phi, shape, len(merges) > 1)
    if found is None or len(merges) == 1:
        return found
    value = narrowed(found.value)
    return None if value.type != phi.type else Replacement(found.condition, value, found.if_true)


def merges_of(phi: Instruction, shape: Shape) -> list[Instruction]:
    """What an iteration hands on; and of what is cut off, the wide number behind it."""
    update = phi.incoming_value(shape.latch)
    if not isinstance(update, Instruction) or update.block not in shape.blocks:
        return []
    wide = update.operands[0] if update.op == "trunc" else None
    if isinstance(wide, Instruction) and (wide.is_phi or wide.op == "select") and wide.block in shape.blocks:
        return [update, wide]
    return [update]


def _chosen(merge: Instruction, phi: Instruction, shape: Shape, is_wide: bool) -> Replacement | None:
    """The same of a choice between the value, which is extended if it is wide, and something else."""

    def is_own(value: Value) -> bool:
        return narrowed(value) is phi if is_wide else value is phi

    if merge.op == "select":
        condition, a, b = merge.operands
        if is_own(a) != is_own(b):
            return Replacement(condition, b if is_own(a) else a, is_own(b))
    if not merge.is_phi or len(merge.operands) != 2 or sum(map(is_own, merge.operands)) != 1:
        return None
    (_, kept), (value, taken) = sorted(merge.incoming(), key=lambda m: not is_own(m[0]))
    for branch in shape.blocks:
        if branch.terminator.op != "br" or not branch.terminator.operands:
            continue
        # Each way is the edge to where they meet, or one block.
        ways = [branch if b is merge.block else b for b in branch.terminator.blocks]
        alone = all(w is branch or w.predecessors == [branch] for w in ways)
        if alone and ways in ([kept, taken], [taken, kept]):
            return Replacement(branch.terminator.operands[0], value, ways[0] is taken)
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
    return is_true_for_nan(condition) == chosen.if_true


def is_true_for_nan(comparison: Instruction) -> bool | None:
    """Whether a comparison of floats holds where one is a NaN; None if there is none."""
    return None if "nnan" in comparison.flags else comparison.predicate[0] == "u"


def users_of(value: Value) -> list[Instruction]:
    """What uses a value."""
    return list(value.instruction_users()) if isinstance(value, Instruction) else []


def narrowed(value: Value) -> Value:
    """The value that an extension extends."""
    if isinstance(value, Instruction) and value.op in ("sext", "zext"):
        return value.operands[0]
    return value


def compared(condition: Instruction) -> tuple[Value, ...]:
    """What a comparison compares: of two values that are extended in one way, these."""
    a, b = condition.operands
    ends = narrowed(a), narrowed(b)
    extended = isinstance(a, Instruction) and isinstance(b, Instruction) and a.op == b.op
    if extended and a is not ends[0] and b is not ends[1] and ends[0].type == ends[1].type:
        return ends
    return a, b


def depends_on(value: Value, source: Value, shape: Shape) -> bool:
    """Whether a value is computed from, or chosen by, another one of the loop, of this or of an earlier iteration."""
    return source in sources_of(value, shape)


def sources_of(value: Value, shape: Shape) -> set[Value]:
    """What of the loop a value is computed from or chosen by, itself and what iterations hand on included."""
    inside = set(shape.blocks)
    seen: set[Value] = set()
    work = [value]
    while work:
        found = work.pop()
        if not isinstance(found, Instruction) or found.block not in inside or found in seen:
            continue
        seen.add(found)
        work += found.operands
        if found.is_phi:
            work += [v for t in shape.deciders.of(found) for v in t.operands]
    return seen


def is_same(made: Reconstruction, loop: LoopContext, a: Value, b: Value) -> bool:
    """Whether two values of an iteration are the same: one value, or loaded twice without a write between."""
    return _is_same(made, loop, a, b, {})


def _is_same(
    made: Reconstruction, loop: LoopContext, a: Value, b: Value, known: dict[tuple[Value, Value], bool]
) -> bool:
    if (a, b) not in known:
        # Values that come around to themselves are taken for different ones.
        known[a, b] = False
        known[a, b] = _compared(made, loop, a, b, known)
    return known[a, b]


def _compared(
    made: Reconstruction, loop: LoopContext, a: Value, b: Value, known: dict[tuple[Value, Value], bool]
) -> bool:
    if a is b or (isinstance(a, ConstInt | ConstFloat) and a == b):
        return True
    if not isinstance(a, Instruction) or not isinstance(b, Instruction) or a.op != b.op or a.type != b.type:
        return False
    if a.op in ("sext", "zext", "fpext"):
        return _is_same(made, loop, a.operands[0], b.operands[0], known)
    if a.op != "load":
        pairs = zip(a.used_values(), b.used_values(), strict=False)
        return _is_alike(a, b) and all(_is_same(made, loop, x, y, known) for x, y in pairs)
    if a.type != b.type or not a.is_plain_access or not b.is_plain_access:
        return False
    assert a.block is not None and b.block is not None
    places = made.at(loop.scope, a.pointer, a.block), made.at(loop.scope, b.pointer, b.block)
    if places[0] != places[1]:
        return False
    return made.invariants.is_unwritten(a, loop.scope, loop) or _follows(a, b) or _follows(b, a)


def _is_alike(a: Instruction, b: Instruction) -> bool:
    """Whether two instructions compute the same of the same, as ``fabs(x)`` that is written twice."""
    if not is_speculatable(a) or len(list(a.used_values())) != len(list(b.used_values())):
        return False
    if a.op == "call":
        return a.callee_name is not None and a.callee_name == b.callee_name
    if a.op in ("icmp", "fcmp"):
        return a.predicate == b.predicate
    return a.op in ("fneg", "fadd", "fsub", "fmul", "fdiv", "add", "sub", "mul", "and", "or", "xor", "shl", "select",
                    "trunc", "fptrunc", "sitofp", "uitofp", "fptosi", "fptoui")  # fmt: skip


def _follows(first: Instruction, second: Instruction) -> bool:
    """Whether one way alone leads from an instruction to another one, and nothing is written on it."""
    block, behind = second.block, second
    while block is not None:
        own = block.instructions
        end = own.index(behind) if behind is not None else len(own)
        begin = own.index(first) + 1 if first.block is block else 0
        if any(may_write(i) for i in own[begin:end]):
            return False
        if first.block is block:
            return begin <= end
        block, behind = block.predecessors[0] if len(block.predecessors) == 1 else None, None
    return False

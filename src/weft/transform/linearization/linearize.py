"""Partial control-flow linearization of P-LLVM (Moll, ch. 8) with its masks.

Precondition: reducible control flow, loops in simplified form, every loop uniform (`divergent_loops`), a single
return; `divergence` holds for the function. Postcondition: control-uniform P-LLVM. Divergent branches are gone,
uniform ones are kept as Theorems 4 and 5 promise and have frozen conditions; each block carries the mask of the
threads that execute it as block predicate (`block_masks`), none where that is all of them; φs of blocks whose
predecessors changed are selects, shadows are resolved; ``weft.mask()`` is replaced by the mask itself.

From here on all threads follow one path: FR before, the same under OBL and FR after.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeGuard

from weft.analysis.masks import implies
from weft.diag.source import SourceSpan
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Function, Instruction, Poison, Value
from weft.ir.cfg_edit import arriving
from weft.ir.locations import span_of
from weft.transform.linearization.arrivals import collect_arrivals
from weft.transform.linearization.block_masks import BlockMasks
from weft.transform.linearization.redrawn_graph import RedrawnGraph, redraw
from weft.transform.loops.divergent_loops import BranchDivergence
from weft.transform.ssa_repair import repair_dominance

_WHOLE_MASK_CALLS = ("weft.any", "weft.all")


@dataclass(frozen=True, slots=True)
class LinearizationSummary:
    """Counts for remarks.

    Parameters
    ----------
    folded
        Divergent branches that are gone.
    kept, lost
        Uniform branches that stayed, and that did not.
    places
        Where the folded ones are in the source, as far as that is known.
    """

    folded: int
    kept: int
    lost: int
    places: tuple[SourceSpan | None, ...] = field(default=(), compare=False)


def linearize(
    function: Function, divergence: BranchDivergence, known_uniform: Collection[BasicBlock] = ()
) -> LinearizationSummary:
    """Make `function` control-uniform; see the module for the contract.

    Branches of the blocks in `known_uniform` are uniform even where `divergence` cannot tell.
    """
    graph = redraw(function, divergence, known_uniform)
    masks = BlockMasks(graph)
    for i in graph.index.order:
        block, mask = graph.blocks[i], masks.place(i)
        for call in [c for c in block.instructions if c.callee_name == "weft.mask"]:
            masks.replace(call, mask)
        block.set_predicate(None if mask == TRUE else mask)
    for i in graph.index.order:
        _resolve_phis(graph, masks, i)
    for i in graph.index.order:
        _freeze_condition(graph.blocks[i], masks.of(i))
    repair_dominance(function)
    places = tuple(_place(graph, i) for i in graph.index.order if i in graph.divergent)
    return LinearizationSummary(len(graph.divergent), graph.kept, len(graph.uniform) - graph.kept, places)


def _place(graph: RedrawnGraph, i: int) -> SourceSpan | None:
    """Where the branch at the end of block `i` is in the source."""
    condition = graph.branches[i].condition
    found = span_of(graph.blocks[i].terminator)
    return found or (span_of(condition) if isinstance(condition, Instruction) else None)


def _resolve_phis(graph: RedrawnGraph, masks: BlockMasks, i: int) -> None:
    block = graph.blocks[i]
    intact = graph.is_intact(i)
    for phi in list(block.phis()):
        if phi.name.endswith(".mask") and phi is masks.of(i):
            continue
        if all(source in graph.number for source in phi.blocks) and intact:
            _resolve_shadow(graph, masks, phi, i)
        elif set(phi.blocks) == {graph.blocks[p] for p in graph.old_preds[i]}:
            _select(graph, masks, phi, i)


def _resolve_shadow(graph: RedrawnGraph, masks: BlockMasks, phi: Instruction, i: int) -> None:
    """A φ that stays: on edges that not all threads take, the others see the shadow."""
    shadow = phi.shadow
    if shadow is None:
        return

    def seen(value: Value, source: BasicBlock) -> Value:
        edge = _through(graph, masks, graph.number[source], i)
        if edge == TRUE or (shadow == FALSE and implies(value, edge)):
            return value
        builder = Builder(before=source.terminator)
        builder.total = True
        return builder.select(edge, value, shadow)

    for k, (value, _) in enumerate(arriving(phi, seen)):
        phi.set_operand(k, value)
    phi.set_shadow(None)


def _through(graph: RedrawnGraph, masks: BlockMasks, source: int, target: int) -> Value:
    """The threads that pass an edge into an intact block; for a back edge, those of the loop."""
    if graph.loops.is_back_edge(source, target):
        return masks.of(target)
    return masks.arriving(source, target)


def _select(graph: RedrawnGraph, masks: BlockMasks, phi: Instruction, i: int) -> None:
    """A φ whose block lost predecessors: at the end of each old one choose by its mask.

    Threads there that do not take the edge from there either come later, over another edge whose source sets what they
    bring, or not at all. Only where the φ says what those see who do not come, masks of edges count.
    """
    brought = {graph.number[source]: value for value, source in phi.incoming()}
    nothing = phi.shadow
    if nothing is None:
        # With a mask, which is false along some edge, what counts is the edges along which it may be true.
        nothing = FALSE if FALSE in brought.values() else Poison(phi.type)
    is_exact = not isinstance(nothing, Poison)

    def chosen(source: int, prior: Value) -> Value:
        value = brought[source]
        if value in (nothing, prior) or isinstance(value, Poison):
            return prior
        if isinstance(prior, Poison):
            return value
        mask = masks.of_edge(source, i) if is_exact else masks.of(source)
        if mask != TRUE and _keeps(graph, value, prior, mask):
            return value
        return _choose(masks.at_end(source), mask, value, prior, phi.name)

    result = collect_arrivals(graph, i, phi.type, phi.name, nothing, chosen)
    phi.set_shadow(None)
    masks.replace(phi, result)


def _choose(builder: Builder, mask: Value, value: Value, otherwise: Value, name: str) -> Value:
    if mask == TRUE:
        return value
    if mask == FALSE:
        return otherwise
    if value == TRUE and otherwise == FALSE:
        return mask
    if _is_choice(otherwise) and otherwise.operands[1] is value and implies(mask, otherwise.operands[0]):
        return otherwise
    while _is_choice(otherwise) and implies(otherwise.operands[0], mask):
        otherwise = otherwise.operands[2]
    return value if value is otherwise else builder.select(mask, value, otherwise, name=name)


def _keeps(graph: RedrawnGraph, value: Value, prior: Value, mask: Value) -> bool:
    """Whether a value is `prior` for all threads but those of a mask."""
    seen: set[Value] = set()
    work = [value]
    while work:
        value = work.pop()
        if value is prior or value in seen:
            continue
        seen.add(value)
        if _is_choice(value) and implies(value.operands[0], mask):
            work.append(value.operands[2])
        elif isinstance(value, Instruction) and value.is_phi and not _is_header(graph, value.block):
            work += value.operands
        else:
            return False
    return True


def _is_header(graph: RedrawnGraph, block: BasicBlock | None) -> bool:
    """Whether a φ there may have what another value was an iteration ago."""
    return block is None or graph.loops.headed_by[graph.number[block]] is not None


def _is_choice(value: Value) -> TypeGuard[Instruction]:
    return isinstance(value, Instruction) and value.op == "select"


def _freeze_condition(block: BasicBlock, mask: Value) -> None:
    """A branch that stays may run without live threads: its condition must not be poison."""
    terminator = block.terminator
    if not terminator.operands or terminator.op == "ret" or mask == TRUE:
        return
    condition = terminator.operands[0]
    if isinstance(condition, Instruction) and condition.callee_name in _WHOLE_MASK_CALLS:
        return
    builder = Builder(before=terminator)
    builder.total = True
    terminator.set_operand(0, builder.unary("freeze", condition))

"""Partial control-flow linearization of P-LLVM (Moll, ch. 8) with its masks.

Precondition: reducible control flow, loops in simplified form, every loop uniform (`divergent_loops`), a single
return; `divergence` holds for the function. Postcondition: control-uniform P-LLVM. Divergent branches are gone,
uniform ones are kept as Theorems 4 and 5 promise and have frozen conditions; each block carries the mask of the
threads that execute it as block predicate, none where that is all of them; φs of blocks whose predecessors
changed are selects, shadows are resolved; ``weft.mask()`` is replaced by the mask itself.

Masks are total instructions. A block that runs exactly when its immediate dominator runs gets that one's mask,
and so does a block behind a loop; the mask of any other block is the disjunction of its edges' masks, each built
where it is first needed.

From here on all threads follow one path: FR before, the same under OBL and FR after.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from weft.graph.block_index import BlockIndex, block_index
from weft.graph.dominators import DominatorTree, dominator_tree, post_dominator_tree
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Function, Instruction, Poison, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I1
from weft.transform.divergent_loops import BranchDivergence
from weft.transform.masks import both, either, implies, negated
from weft.transform.partial_linearization import partially_linearize
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses

_WHOLE_MASK_CALLS = ("weft.any", "weft.all")


@dataclass(frozen=True, slots=True)
class LinearizationSummary:
    """Counts for remarks: divergent branches folded, uniform branches kept, uniform branches lost."""

    folded: int
    kept: int
    lost: int


@dataclass(slots=True)
class _Branch:
    """A block's terminator as it was: its condition (or switch value) and its targets in order."""

    targets: list[BasicBlock]
    condition: Value | None = None
    cases: tuple[int, ...] | None = None


@dataclass(slots=True)
class _Linearizer:
    function: Function
    blocks: Sequence[BasicBlock]
    number: dict[BasicBlock, int]
    index: BlockIndex
    loops: LoopForest
    dominators: DominatorTree
    post_dominators: DominatorTree
    branches: list[_Branch]
    old_preds: list[tuple[int, ...]]
    new_preds: list[tuple[int, ...]]
    new_dominators: DominatorTree
    masks: dict[int, Value] = field(default_factory=dict)
    edge_masks: dict[tuple[int, int], Value] = field(default_factory=dict)
    late_edge_masks: dict[tuple[int, int], Value] = field(default_factory=dict)
    replaced: dict[Value, Value] = field(default_factory=dict)

    def run(self) -> None:
        for i in self.index.order:
            block = self.blocks[i]
            mask = self._block_mask(i)
            own = block.predicate
            if own is not None and not implies(mask, own):
                mask = own if implies(own, mask) else both(self._top(block), own, mask)
            self.masks[i] = mask
            self._resolve_mask_calls(block, mask)
            block.set_predicate(None if mask == TRUE else mask)
        for i in self.index.order:
            self._resolve_phis(i)
        for i in self.index.order:
            self._freeze_condition(i)
        _repair_dominance(self.function)

    def _replace(self, old: Instruction, new: Value) -> None:
        """Put `new` in the place of `old`, which masks and conditions noted here may still name."""
        old.replace_all_uses(new)
        self.replaced[old] = new
        old.erase()

    def _current(self, value: Value) -> Value:
        while (new := self.replaced.get(value)) is not None:
            value = new
        return value

    def _mask_of(self, i: int) -> Value:
        """The mask of block `i`, once it is known."""
        return self._current(self.masks[i])

    def _top(self, block: BasicBlock) -> Builder:
        """A builder of total instructions right behind the φs and what else was put there."""
        builder = Builder.after_phis(block)
        builder.total = True
        return builder

    def _block_mask(self, i: int) -> Value:
        if i == 0:
            return TRUE
        loop = self.loops.headed_by[i]
        if loop is not None:
            (outside,) = (p for p in dict.fromkeys(self.old_preds[i]) if p not in loop.blocks)
            return self._edge_mask(outside, i)
        above = self._equivalent_above(i)
        if above is not None:
            return self._mask_of(above)
        return self._disjunction(i)

    def _equivalent_above(self, i: int) -> int | None:
        """A block that runs for the same threads as block `i` and comes before it."""
        above = self.dominators.idom[i]
        inner = self.loops.innermost[above]
        while inner is not None and i not in inner.blocks:
            # A loop that was entered is left by the threads that entered: look at it from outside.
            above = inner.header
            inner = inner.parent
        same_level = inner is self.loops.innermost[i]
        return above if same_level and self.post_dominators.dominates(i, above) else None

    def _disjunction(self, i: int) -> Value:
        """The mask of block `i` from those of its edges."""
        block = self.blocks[i]
        sources = list(dict.fromkeys(self.old_preds[i]))
        if self._is_intact(i):
            masks = [self._arriving_mask(p, i) for p in sources]
            if all(m is masks[0] or m == masks[0] for m in masks):
                return masks[0]
            phi = Builder(block).phi(I1, f"{block.name}.mask")
            for source, mask in zip(sources, masks, strict=True):
                # A switch may have several edges to the block, and a φ has one entry for each.
                for _ in range(self.blocks[source].terminator.successors.count(block)):
                    phi.add_incoming(mask, self.blocks[source])
            return phi
        mask: Value = FALSE
        for source in sources:
            reaching = self._edge_mask_at(source, i)
            mask = either(self._top_after(block, mask, reaching), mask, reaching, f"{block.name}.mask")
        return mask

    def _top_after(self, block: BasicBlock, *values: Value) -> Builder:
        """A builder of total instructions at the top of `block`, below those of `values` defined there."""
        at = block.first_insertion
        for value in values:
            if isinstance(value, Instruction) and value.block is block and not value.is_phi:
                at = max(at, block.instructions.index(value) + 1)
        builder = Builder(block, block.instructions[at])
        builder.total = True
        return builder

    def _is_intact(self, i: int) -> bool:
        """Whether block `i` has the predecessors it had."""
        return self.old_preds[i] == self.new_preds[i]

    def _arriving_mask(self, source: int, i: int) -> Value:
        """The mask on an edge that is still taken as before: by all threads of a uniform branch."""
        return self._mask_of(source) if not self._is_divergent(source) else self._edge_mask(source, i)

    def _is_divergent(self, i: int) -> bool:
        old = self.branches[i].targets
        return len(set(old)) > 1 and len(self.blocks[i].terminator.blocks) == 1

    def _edge_mask(self, source: int, target: int) -> Value:
        """The mask of the threads that go from `source` to `target`, valid at the end of `source`."""
        known = self.edge_masks.get((source, target))
        if known is not None:
            return self._current(known)
        branch = self.branches[source]
        mask = self._mask_of(source)
        if len(set(branch.targets)) > 1:
            assert branch.condition is not None
            builder = Builder(before=self.blocks[source].terminator)
            builder.total = True
            condition = _condition_for(builder, branch, self._current(branch.condition), self.blocks[target])
            mask = both(builder, mask, condition)
        self.edge_masks[source, target] = mask
        return mask

    def _edge_mask_at(self, source: int, target: int) -> Value:
        """The mask of an edge as seen at the start of its old target: false where the source did not run."""
        mask = self._edge_mask(source, target)
        if mask == FALSE or self.new_dominators.dominates(source, target):
            return mask
        known = self.late_edge_masks.get((source, target))
        if known is not None:
            return self._current(known)
        reaching = ReachingDefinition(I1, {self.blocks[source]: mask}, "edge", FALSE)
        loop = self.loops.innermost[source]
        while loop is not None and target not in loop.blocks:
            loop = loop.parent
        if loop is not None:
            # What an earlier iteration decided must not be seen in this one.
            reaching.at_start[self.blocks[loop.header]] = FALSE
        value = reaching.start_of(self.blocks[target])
        if isinstance(value, Instruction) and value in reaching.new_phis:
            reaching.simplify()
            value = reaching.start_of(self.blocks[target])
        self.late_edge_masks[source, target] = value
        return value

    def _resolve_mask_calls(self, block: BasicBlock, mask: Value) -> None:
        for call in [c for c in block.instructions if c.callee_name == "weft.mask"]:
            self._replace(call, mask)

    def _resolve_phis(self, i: int) -> None:
        block = self.blocks[i]
        intact = self._is_intact(i)
        for phi in list(block.phis()):
            if phi.name.endswith(".mask") and phi is self._mask_of(i):
                continue
            if all(source in self.number for source in phi.blocks) and intact:
                self._resolve_shadow(phi, i)
            elif set(phi.blocks) == {self.blocks[p] for p in self.old_preds[i]}:
                self._select(phi, i)

    def _resolve_shadow(self, phi: Instruction, i: int) -> None:
        """A φ that stays: on edges that not all threads take, the others see the shadow."""
        shadow = phi.shadow
        if shadow is None:
            return
        for k, (value, source) in enumerate(list(phi.incoming())):
            edge = self._through(self.number[source], i)
            if edge == TRUE or (shadow == FALSE and implies(value, edge)):
                continue
            builder = Builder(before=source.terminator)
            builder.total = True
            phi.set_operand(k, builder.select(edge, value, shadow))
        phi.set_shadow(None)

    def _through(self, source: int, target: int) -> Value:
        """The threads that pass an edge into an intact block; for a back edge, those of the loop."""
        if self.loops.is_back_edge(source, target):
            return self._mask_of(target)
        return self._arriving_mask(source, target)

    def _select(self, phi: Instruction, i: int) -> None:
        """A φ whose block lost predecessors: choose by the masks of the old edges."""
        block = phi.block
        assert block is not None
        choices: dict[Value, list[Value]] = {}
        for value, source in phi.incoming():
            if not isinstance(value, Poison):
                choices.setdefault(value, []).append(self._edge_mask_at(self.number[source], i))
        shadow = phi.shadow
        values = list(choices)
        result: Value = shadow if shadow is not None else (values[-1] if values else Poison(phi.type))
        chosen = values if shadow is not None else values[:-1]
        masks_here = [m for v in chosen for m in choices[v]]
        builder = self._top_after(block, self._mask_of(i), *masks_here)
        for value in chosen:
            mask: Value = FALSE
            for edge in choices[value]:
                mask = either(builder, mask, edge)
            builder.total = shadow is not None
            result = _choose(builder, mask, value, result, phi.name)
            builder.total = True
        phi.set_shadow(None)
        self._replace(phi, result)

    def _freeze_condition(self, i: int) -> None:
        """A branch that stays may run without live threads: its condition must not be poison."""
        terminator = self.blocks[i].terminator
        if not terminator.operands or terminator.op == "ret" or self._mask_of(i) == TRUE:
            return
        condition = terminator.operands[0]
        if isinstance(condition, Instruction) and condition.callee_name in _WHOLE_MASK_CALLS:
            return
        builder = Builder(before=terminator)
        builder.total = True
        terminator.set_operand(0, builder.unary("freeze", condition))


def _choose(builder: Builder, mask: Value, value: Value, otherwise: Value, name: str) -> Value:
    if mask == TRUE:
        return value
    if mask == FALSE:
        return otherwise
    if value == TRUE and otherwise == FALSE:
        return mask
    return builder.select(mask, value, otherwise, name=name)


def _condition_for(builder: Builder, branch: _Branch, tested: Value, target: BasicBlock) -> Value:
    """The condition under which `branch`, on the value `tested`, goes to `target`."""
    if branch.cases is None:
        return tested if target is branch.targets[0] else negated(builder, tested)
    type = tested.type
    condition: Value = FALSE
    others: Value = TRUE
    for case, destination in zip(branch.cases, branch.targets[1:], strict=True):
        if target is not branch.targets[0] and destination is not target:
            continue
        equal = builder.icmp("eq", tested, ConstInt(type, case))  # type: ignore[arg-type]
        if destination is target:
            condition = equal if condition == FALSE else builder.binary("or", condition, equal)
        else:
            others = both(builder, others, negated(builder, equal))
    if target is not branch.targets[0]:
        return condition
    return others if condition == FALSE else builder.binary("or", condition, others)


def linearize(
    function: Function, divergence: BranchDivergence, known_uniform: Collection[BasicBlock] = ()
) -> LinearizationSummary:
    """Make `function` control-uniform; see the module for the contract.

    Branches of the blocks in `known_uniform` are uniform even where `divergence` cannot tell.
    """
    view = cfg_of(function)
    cfg, blocks = view.cfg, view.blocks
    number = {b: i for i, b in enumerate(blocks)}
    dominators, loops = dominator_tree(cfg), loop_forest(cfg)
    index = block_index(cfg, dominators, loops)
    divergent = {
        i
        for i in index.order
        if len(set(cfg.succs[i])) > 1
        and blocks[i] not in known_uniform
        and divergence.is_divergent_branch(blocks[i])
    }
    back_edges = {(latch, loop.header) for loop in loops.loops for latch in loop.latches}
    redrawn = partially_linearize(cfg.succs, index.order, divergent, back_edges)
    branches = [_take_branch(b) for b in blocks]
    for i in index.order:
        _redirect(blocks[i], [blocks[t] for t in redrawn[i]])
    new_cfg = cfg_of(function).cfg
    linearizer = _Linearizer(
        function, blocks, number, index, loops, dominators, post_dominator_tree(cfg), branches,
        [tuple(sorted(set(p))) for p in cfg.preds], [tuple(sorted(set(p))) for p in new_cfg.preds],
        dominator_tree(new_cfg),
    )  # fmt: skip
    linearizer.run()
    uniform = [i for i in index.order if len(set(cfg.succs[i])) > 1 and i not in divergent]
    kept = sum(len(set(redrawn[i])) > 1 for i in uniform)
    return LinearizationSummary(len(divergent), kept, len(uniform) - kept)


def _take_branch(block: BasicBlock) -> _Branch:
    terminator = block.terminator
    condition = terminator.operands[0] if terminator.op in ("br", "switch") and terminator.operands else None
    return _Branch(list(terminator.blocks), condition, terminator.attrs.get("cases"))


def _redirect(block: BasicBlock, targets: list[BasicBlock]) -> None:
    """Give the block's branch its new targets; φs are left alone."""
    terminator = block.terminator
    if not targets or targets == terminator.blocks:
        return
    if len(set(targets)) == 1:
        loc = terminator.loc
        terminator.erase()
        Builder(block).br(targets[0]).loc = loc
        return
    for k, target in enumerate(targets):
        terminator.set_block(k, target)


def _repair_dominance(function: Function) -> None:
    """Where a definition no longer dominates a use, the value is poison on the paths around it."""
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    number = {b: i for i, b in enumerate(view.blocks)}
    for block in list(function.blocks):
        for value in list(block.instructions):
            stray = [u for u in value.instruction_users() if _uses_undominated(value, u, dominators, number)]
            if stray:
                reaching = ReachingDefinition(value.type, {block: value}, value.name)
                rewrite_uses(value, stray, reaching)


def _uses_undominated(
    value: Instruction, user: Instruction, dominators: DominatorTree, number: dict[BasicBlock, int]
) -> bool:
    assert value.block is not None and user.block is not None
    here = number[value.block]
    if not user.is_phi:
        return not dominators.dominates(here, number[user.block])
    return any(v is value and not dominators.dominates(here, number[source]) for v, source in user.incoming())

"""Loops along rows whose lengths data say choose what they add, and do not branch: so they run in lanes under masks.

    for j in range(start[c], start[c + 1]):            for j in range(start[c], start[c + 1]):
        if j != i and |a[j] - a[i]| < r: n += 1            n += j != i and |a[j] - a[i]| < r ? 1 : 0

Whether a neighbour is near enough nobody foresees, nor how many there are in a cell: both are lost branches of each few
elements. `weft.transform.loops.rows_under_masks` takes loops of one block. What is loaded where the iteration is not
one, as here that of the element itself, is loaded before the loop in any case, at the same place, and nothing is freed.

Precondition: a loop-closed function of one thread, without predicates, shadows and guards. Postcondition: the same;
innermost loops of one block behind their test where before conditions led, one behind the other, to sums alone, and
what stood behind them may be computed in all iterations. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.loops.along_rows import looks_up
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.questions.presence import may_free
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstFloat, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable, may_write
from weft.ir.loop_metadata import is_scalar
from weft.ir.types import FloatType, IntType
from weft.machine.targets import Isa
from weft.transform.loops.masked_sums import is_in_lanes
from weft.transform.loops.rows_under_masks import is_told_by_data
from weft.transform.loops.runs import is_consecutive
from weft.transform.loops.sums_in_fours import LARGEST

_ADDED = frozenset(("add", "or", "xor"))


class _Total(Struct, frozen=True):
    """A φ of the header to which an operation adds a term where conditions hold: each with what it has to be."""

    phi: Instruction
    operation: Instruction
    conditions: tuple[tuple[Value, bool], ...]


class _Chain(Struct, frozen=True):
    """The blocks behind the test of a loop, each of which leads to the next one, or to the latch, which is the last.

    With each but the last is the condition under which the next one follows, and what it has to be; None in any case.
    """

    loop: CountedLoop
    blocks: tuple[BasicBlock, ...]
    conditions: tuple[tuple[Value, bool] | None, ...]
    totals: tuple[_Total, ...]


def choose_terms(function: Function, isa: Isa, spared: Callable[[Loop, CFGView], bool]) -> int:
    """Choose what such loops add, but for those that are `spared`; how many they are."""
    view = cfg_of(function)
    above = dominator_tree(view.cfg)
    found: list[_Chain] = []
    for loop in loop_forest(view.cfg).loops:
        if loop.children or len(loop.latches) != 1 or spared(loop, view) or looks_up(loop, view):
            continue
        if is_scalar(view.blocks[loop.latches[0]].terminator):
            continue
        counted = counted_loop(view, loop)
        if isinstance(counted, str) or not counted.top_tested or not is_told_by_data(counted):
            continue
        chain = _chain(counted)
        if chain is not None and _may_run_always(chain, function, isa, view, above):
            found.append(chain)
    for chain in found:
        _choose(chain)
    return len(found)


def _chain(loop: CountedLoop) -> _Chain | None:
    """The blocks of a loop, if they are such ones, and it only adds up."""
    first = [b for b in loop.header.successors if b is not loop.exit]
    if len(first) != 1:
        return None
    blocks, conditions = [first[0]], []
    while (block := blocks[-1]) is not loop.latch:
        branch = block.terminator
        following = [b for b in branch.blocks if b is not loop.latch]
        if branch.op != "br" or len(following) > 1 or list(block.phis()) or len(blocks) > len(loop.blocks):
            return None
        if len(branch.blocks) == 1:
            conditions.append(None)
        else:
            conditions.append((branch.operands[0], branch.blocks[0] is not loop.latch))
            if not following:
                return None
        following = following or [loop.latch]
        if following[0] is not loop.latch and list(following[0].predecessors) != [block]:
            return None
        blocks.append(following[0])
    if len(blocks) != len(loop.blocks) - 1:
        return None
    asked = tuple(c for c in conditions if c is not None)
    totals: list[_Total] = []
    for phi in loop.header.phis():
        if phi is loop.counter.phi:
            continue
        total = _total(phi, loop, blocks, asked)
        if total is None:
            return None
        totals.append(total)
    joined = {t.phi.incoming_value(loop.latch) for t in totals}
    if not any(t.conditions for t in totals) or any(p not in joined for p in loop.latch.phis()):
        return None
    return _Chain(loop, tuple(blocks), tuple(conditions), tuple(totals))


def _total(
    phi: Instruction, loop: CountedLoop, blocks: list[BasicBlock], asked: tuple[tuple[Value, bool], ...]
) -> _Total | None:
    """What is added to a φ, and when; None if something else is done with it."""
    value = phi.incoming_value(loop.latch)
    conditions: list[tuple[Value, bool]] = []
    seen: set[Value] = {phi}
    if isinstance(value, Instruction) and value.is_phi and value.block is loop.latch:
        ends = dict(zip(value.blocks, value.operands, strict=True))
        last = ends.pop(blocks[-2])
        if any(v is not phi for v in ends.values()):
            return None
        seen.add(value)
        conditions += asked
        value = last
    if isinstance(value, Instruction) and value.op == "select" and phi in value.operands[1:]:
        condition, then, other = value.operands
        seen.add(value)
        conditions.append((condition, other is phi))
        value = then if other is phi else other
    if not isinstance(value, Instruction) or value.block not in loop.blocks or not _adds(value, phi):
        return None
    seen.add(value)
    users = {u for v in seen if isinstance(v, Instruction) for u in v.instruction_users()}
    if {u for u in users if u.block in loop.blocks} - seen:
        return None
    return _Total(phi, value, tuple(conditions))


def _adds(operation: Instruction, phi: Instruction) -> bool:
    """Whether an operation adds something to a φ, in any order."""
    if list(operation.operands).count(phi) != 1:
        return False
    if operation.op == "fadd":
        return bool({"fast", "reassoc"} & set(operation.flags))
    return operation.op in _ADDED and isinstance(operation.type, IntType)


def _may_run_always(chain: _Chain, function: Function, isa: Isa, view: CFGView, above: DominatorTree) -> bool:
    """Whether all that stands in the blocks may be computed in each iteration, and goes along rows."""
    loop, layout = chain.loop, function.layout
    instructions = [i for block in chain.blocks for i in block.instructions]
    if len(instructions) > LARGEST:
        return False
    for i in instructions:
        if i.is_terminator or i.is_phi:
            continue
        if i.op != "load":
            if not (is_in_lanes(i) and is_speculatable(i)) or may_write(i):
                return False
            continue
        size = layout.store_size(i.accessed_type)
        if not i.is_plain_access or not isa.masks_memory(8 * size) or not is_consecutive(i, loop, size):
            return False
        assert i.block is not None
        ahead = [c for c in chain.conditions[: chain.blocks.index(i.block)] if c is not None]
        if not all(_is_of_another(c, i, loop, view, above) for c in ahead):
            return False
        if ahead and any(may_free(other) for other in function.instructions()):
            return False
    return True


def _is_of_another(
    asked: tuple[Value, bool], load: Instruction, loop: CountedLoop, view: CFGView, above: DominatorTree
) -> bool:
    """Whether it is asked if the counter is not a number at which the same is loaded before the loop in any case."""
    condition, holds = asked
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return False
    if condition.predicate != ("ne" if holds else "eq") or loop.counter.phi not in condition.operands:
        return False
    own = next(v for v in condition.operands if v is not loop.counter.phi)
    place = _element(load.pointer)
    if place is None or place.operands[1] is not loop.counter.phi:
        return False
    base, preheader = place.operands[0], view.index[loop.preheader]
    for other in own.instruction_users() if isinstance(own, Instruction) else own.users:
        if not isinstance(other, Instruction) or other.op != "getelementptr" or len(other.operands) != 2:
            continue
        if other.operands[0] is not base or other.operands[1] is not own:
            continue
        if other.source_type != place.source_type:
            continue
        same = (u for u in other.instruction_users() if u.op == "load" and u.is_plain_access)
        if any(
            u.accessed_type == load.accessed_type and above.dominates(view.index[u.block], preheader)
            for u in same
            if u.block is not None
        ):
            return True
    return False


def _element(pointer: Value) -> Instruction | None:
    """The address of an element, but for what adds nothing to it."""
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr" and len(pointer.operands) == 2:
        index = pointer.operands[1]
        if not (isinstance(index, ConstInt) and index.value == 0):
            return pointer
        pointer = pointer.operands[0]
    return None


def _choose(chain: _Chain) -> None:
    """Make one block of them."""
    loop, body = chain.loop, chain.blocks[0]
    end, function = loop.latch.terminator, body.function
    assert function is not None
    for block in chain.blocks[:-1]:
        block.terminator.erase()
    for block in chain.blocks[1:]:
        for i in [i for i in block.instructions if not i.is_phi]:
            block.instructions.remove(i)
            body.insert(len(body.instructions), i)
    builder = Builder(before=end)
    for total in chain.totals:
        if total.conditions:
            _add_chosen(builder, total, total.phi.incoming_value(loop.latch))
    if body is not loop.latch:
        loop.header.replace_phi_source(loop.latch, body)
        for phi in list(loop.latch.phis()):
            phi.erase()
        function.remove_blocks(set(chain.blocks[1:]))
    for total in chain.totals:
        # What is left of the ways is a choice between what was added and the total.
        for i in [i for i in body.instructions if i is total.operation or total.operation in i.operands]:
            if i is not total.operation and not i.is_used:
                i.erase()
        if not total.operation.is_used:
            total.operation.erase()


def _add_chosen(builder: Builder, total: _Total, arrives: Value) -> None:
    """Add what is chosen, instead of choosing whether something is added."""
    operation, phi = total.operation, total.phi
    builder.loc = operation.loc
    wanted: Value = TRUE
    for condition, holds in total.conditions:
        asked = condition if holds else builder.binary("xor", condition, TRUE)
        # What is asked behind a condition that does not hold may be poison.
        wanted = asked if wanted is TRUE else builder.select(wanted, asked, FALSE)
    term = operation.operands[1 if operation.operands[0] is phi else 0]
    type = operation.type
    nothing: Value = ConstFloat.of(type, -0.0) if isinstance(type, FloatType) else const_int(0, type)
    chosen = builder.select(wanted, term, nothing)
    added = builder.binary(operation.op, phi, chosen, operation.flags)
    phi.set_operand(phi.operands.index(arrives), added)

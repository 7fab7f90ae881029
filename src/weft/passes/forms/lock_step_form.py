"""Scans, compactions and histograms, rewritten so that lanes can run them group after group, in lock step.

What iterations hand on in φs is computed by all lanes of a group together (`weft.transform.loops.carry_in_lanes`);
elements of memory that iterations combine with something are updated by one lane after the other, in the order of
iterations (`weft.ir.lane_updates`), so sums of floats round as in the loop. Everything else runs in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.loops.carried_forms import Compaction, HandedOn, Scan, compaction_of, handed_on, scan_of
from weft.analysis.loops.carried_places import in_order
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, counters_of
from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop
from weft.analysis.loops.quiet_iterations import computed_from
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.combinations import updates_element
from weft.analysis.sequential.dependences import Dependence
from weft.analysis.sequential.lock_step import LEAST_LANES, lanes_in_step
from weft.analysis.sequential.patterns import compacted, is_compacted
from weft.analysis.sequential.replacements import shape_of
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable
from weft.ir.lane_updates import RMW_OF
from weft.ir.layout import DataLayout
from weft.ir.loop_metadata import mark_in_step
from weft.ir.types import FloatType, IntType
from weft.machine.targets import Isa
from weft.transform.loops.carry_in_lanes import carry_in_lanes
from weft.transform.loops.private_updates import Update, operation_name

Plan = Callable[[LoopContext, Collection[Instruction]], ParallelLoop | Obstacle]

_ORDER = "a float sum or product would be formed in another order: allow it with fastmath"
LITTLE_WORK = "lanes would update its elements one by one, and there is little else to do"
_LEAST_WORK = 4
"""So many operations beside its updates make a histogram worth its lanes: these run one by one anyway."""
_LEAST_WORK_OF_FEW_LANES = 24
_WIDE = 512
_MOVES_TOGETHER = 256
"""Registers of so many bits can be permuted by numbers known at run time."""
_WORK = frozenset(
    (
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "fcmp",
        "fptosi",
        "fptoui",
        "sitofp",
        "uitofp",
        "call",
        "mul",
        "udiv",
        "sdiv",
    )
)


class LockStep(Struct, frozen=True):
    """A loop that lanes can run in lock step when it is rewritten.

    Parameters
    ----------
    lanes
        How many.
    tests, assumptions
        What is to be tested before it, and the same in words.
    carried, compactions, updates
        What it hands on, each scan and value behind those that it needs; of each compaction the stores that stand side
        by side.
    in_grains
        Whether iterations meet nowhere else.
    """

    lanes: int
    tests: RunTimeTests
    assumptions: tuple[Assumption, ...]
    carried: tuple[Scan | HandedOn, ...]
    compactions: Mapping[Compaction, tuple[Instruction, ...]] = field(default_factory=dict)
    updates: tuple[Update, ...] = ()
    in_grains: bool = False

    def rewrite(self, function: Function, header: BasicBlock) -> str:
        """Rewrite the loop, and mark it; what remarks say of it."""
        view = cfg_of(function)
        loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
        counted = counted_loop(view, loop)
        assert isinstance(counted, CountedLoop), counted
        module = function.module
        assert module is not None
        carry_in_lanes(module, counted, self.carried, self.compactions)
        for update in self.updates:
            update.in_one()
        (latch,) = (b for b in header.predecessors if b is not counted.preheader)
        mark_in_step(latch.terminator, self.lanes, in_grains=self.in_grains)
        kinds = {type(form) for form in self.carried}
        parts = ["it computes running sums, or their like, in lanes"] if Scan in kinds else []
        if self.compactions:
            together = all(self.compactions.values())
            parts.append(
                "what it keeps is moved together in lanes and stored side by side"
                if together
                else "lanes count together what it keeps"
            )
        if HandedOn in kinds:
            parts.append("each lane has what the one before it hands on")
        if self.updates:
            parts.append("lanes update elements that may be the same one after the other")
        return f"iterations of this loop run in lock step: {', and '.join(parts)}"


def lock_step_form(
    accesses: Accesses,
    loop: LoopContext,
    verdict: LoopVerdict,
    plan: Plan,
    isa: Isa | None,
    *,
    reassociate: bool,
) -> LockStep | str | None:
    """How lanes can run a loop in lock step; why they cannot; None for a loop that hands on nothing of the kind.

    Without an `isa` it is as many lanes as may be.
    """
    counted = loop.counted
    if isinstance(counted, str) or verdict.dependences is None:
        return None
    view = loop.scope.view
    dominators = dominator_tree(view.cfg)
    bases = {a.instruction: a.base for a in accesses.of(loop) if isinstance(a, Access)}

    def apart(a: Instruction, b: Instruction) -> bool:
        # What are different objects is tested.
        return bases.get(a) is not None and bases.get(b) is not None and bases[a] is not bases[b]

    scans: list[Scan] = []
    compactions: dict[Compaction, tuple[Instruction, ...]] = {}
    handed: list[HandedOn] = []
    for phi in counted.header.phis():
        if isinstance(plan(loop, [p for p in counted.header.phis() if p is not phi]), ParallelLoop):
            # A counter or a reduction.
            continue
        scan = scan_of(view, dominators, counted, phi)
        compaction = compaction_of(view, dominators, counted, phi)
        if scan is not None:
            scans.append(scan)
        elif compaction is not None:
            compactions[compaction] = tuple(_side_by_side(accesses, loop, counted, compaction))
        elif (plain := handed_on(view, dominators, counted, phi)) is not None:
            handed.append(plain)
    made, shape = accesses.reconstruction, shape_of(accesses.reconstruction, loop)
    kept = {} if shape is None else compacted(made, loop, shape, [c.phi for c in compactions])
    elements, found = _elements(verdict.dependences.found, loop, dominators)
    for load, store in elements:
        scan = scan_of(view, dominators, counted, load, store)
        if scan is None:
            return None
        scans.append(scan)
    updates, rest = updates_of(found, loop, accesses.reconstruction.program.module.layout)
    if not (scans or compactions or handed or updates):
        return None
    carried = in_order(view, dominators, counted, (*scans, *handed), apart)
    if carried is None and elements:
        return None
    if any(scan.is_rounded for scan in scans) and not reassociate:
        return _ORDER
    obstacle = plan(loop, [form.phi for form in (*(carried or ()), *compactions) if form.phi.is_phi])
    if isinstance(obstacle, Obstacle):
        return obstacle.message
    if carried is None:
        return None
    if not (scans or compactions or handed or is_worth_lanes(counted, isa, updates)):
        return LITTLE_WORK
    rest = [d for d in rest if not is_compacted(d, kept, loop)]
    lanes = lanes_in_step(loop, replace(verdict.dependences, found=tuple(rest)))
    if not lanes:
        return None
    if isa is not None and compactions and isa.vector_bits < _MOVES_TOGETHER:
        return f"{isa.name} has no instruction that moves together what is kept"
    if isa is not None:
        lanes = min(lanes, _best_lanes(isa, carried, compactions, bool(updates)))
    assumptions = tuple(a for a in verdict.assumptions if a.kind != "reassociation")
    tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, verdict.private))
    if isinstance(tests, str):
        return tests
    if elements and not test_that_body_runs(tests, accesses, loop, loop):
        return None
    in_grains = not (rest or updates or handed)
    return LockStep(lanes, tests, assumptions, carried, compactions, tuple(updates), in_grains)


def _best_lanes(
    isa: Isa,
    scans: Iterable[Scan | HandedOn],
    compactions: Mapping[Compaction, tuple[Instruction, ...]],
    updates: bool,
) -> int:
    """Lanes of a register of what is kept, or of addresses; twice as many of running sums."""
    kept = [s.accessed_type for stores in compactions.values() for s in stores]
    best = min((isa.lanes(type.bits) for type in kept if isinstance(type, IntType | FloatType)), default=64)
    summed = [scan.phi.type for scan in scans]
    best = min(best, *(2 * isa.lanes(t.bits) for t in summed if isinstance(t, IntType | FloatType)), 64)
    if updates:
        best = min(best, isa.lanes(64))
    return max(best, LEAST_LANES)


def _side_by_side(
    accesses: Accesses, loop: LoopContext, counted: CountedLoop, compaction: Compaction
) -> Iterable[Instruction]:
    """The stores that a compaction's counter gives the elements of, if it gives nothing else, and they touch."""
    symbol = accesses.reconstruction.symbol(loop.scope, compaction.phi, True)
    source = next(s for v, s in compaction.merge.incoming() if v is compaction.growth)
    inside = set(counted.blocks)
    stores: dict[Instruction, None] = {}
    work = [compaction.phi]
    while work:
        for user in work.pop().instruction_users():
            if user.block not in inside or user in (compaction.merge, compaction.growth, compaction.phi):
                continue
            if (
                user.op == "store"
                and user.stored_value not in (compaction.phi, *work)
                and user.is_plain_access
            ):
                stores[user] = None
            elif user.op in ("getelementptr", "sext", "zext", "add", "sub", "mul", "shl"):
                work.append(user)
            else:
                return ()
    if any(u is not compaction.merge for u in compaction.growth.instruction_users() if u.block in inside):
        return ()
    for store in stores:
        mine = [a for a in accesses.of(loop) if isinstance(a, Access) and a.instruction is store]
        if len(mine) != 1 or not _is_next_to_it(mine[0], symbol, compaction.step, loop):
            return ()
        if not _comes_to(store.block, source, counted) or store.accessed_type.is_pointer:
            return ()
        if not _is_known_where_all_meet(store.pointer, compaction.phi, inside):
            return ()
    return stores


def _is_next_to_it(access: Access, symbol: Symbol, step: int, loop: LoopContext) -> bool:
    """Whether the element of the next iteration that counts begins where this one's ends."""
    coefficients = access.offset.coefficients(symbol)
    if len(coefficients) != 2 or coefficients[1].constant is None or access.size.constant is None:
        return False
    if any(loop.contains(s.loop) for s in coefficients[0].symbols()):
        return False
    return coefficients[1].constant * step == access.size.constant


def _comes_to(block: BasicBlock | None, source: BasicBlock, counted: CountedLoop) -> bool:
    """Whether a block always comes to where all iterations meet."""
    while block is not None and block is not source:
        following = block.successors
        block = following[0] if len(following) == 1 and following[0] in counted.blocks else None
    return block is source


def _is_known_where_all_meet(pointer: object, phi: Instruction, inside: Collection[BasicBlock]) -> bool:
    """Whether an address is computed from the counter and what the loop does not compute."""
    if not isinstance(pointer, Instruction) or pointer.block not in inside or pointer is phi:
        return True
    if pointer.op not in ("getelementptr", "sext", "zext", "add", "sub", "mul", "shl"):
        return False
    return all(_is_known_where_all_meet(v, phi, inside) for v in pointer.operands)


def _elements(
    found: Iterable[Dependence], loop: LoopContext, dominators: DominatorTree
) -> tuple[list[tuple[Instruction, Instruction]], list[Dependence]]:
    """Loads of what a store of the iteration before has stored, each in every iteration; and the other dependences."""
    view, counted = loop.scope.view, loop.counted
    assert isinstance(counted, CountedLoop)
    groups: dict[Symbol | None, list[Dependence]] = {}
    for dependence in found:
        groups.setdefault(dependence.source.base, []).append(dependence)
    counters = {c.phi for c in counters_of(counted.header, counted.preheader, counted.latch)}
    inside = set(counted.blocks)
    elements: list[tuple[Instruction, Instruction]] = []
    rest: list[Dependence] = []
    for base, group in groups.items():
        one = group[0]
        store, load = one.source.instruction, one.sink.instruction
        pair = (store, load)
        if (
            len(group) == 1
            and base is not None
            and (store.op, load.op) == ("store", "load")
            and one.distance == 1
            and one.source.offset - one.sink.offset == _step(one, loop)
            and all(a.scope is loop.scope and a.loop is loop and a.is_certain for a in (one.source, one.sink))
            and all(i.is_plain_access and i.accessed_type == load.type for i in pair)
            and all(i.block is not None and _is_always_done(i.block, counted, view, dominators) for i in pair)
            and all(
                v in counters or is_speculatable(v) for v in computed_from(load.pointer, counters, inside)
            )
        ):
            elements.append((load, store))
        else:
            rest += group
    return elements, rest


def _step(dependence: Dependence, loop: LoopContext) -> Expression | None:
    """By how much both addresses move from one iteration to the next; None where that is not one number of bytes."""
    steps: set[Expression] = set()
    for access in (dependence.source, dependence.sink):
        parts = access.offset.coefficients(loop.iteration)
        if len(parts) != 2 or any(loop.contains(s.loop) for part in parts for s in part.symbols()):
            return None
        steps.add(parts[1])
    return steps.pop() if len(steps) == 1 else None


def _is_always_done(
    block: BasicBlock, counted: CountedLoop, view: CFGView, dominators: DominatorTree
) -> bool:
    return dominators.dominates(view.index[block], view.index[counted.latch]) and block is not counted.header


def updates_of(
    found: Iterable[Dependence], loop: LoopContext, layout: DataLayout
) -> tuple[list[Update], list[Dependence]]:
    """The updates of elements that nothing else in the loop meets, and the dependences that are none of theirs."""
    groups: dict[Symbol | None, list[Dependence]] = {}
    for dependence in found:
        groups.setdefault(dependence.source.base, []).append(dependence)
    updates: list[Update] = []
    rest: list[Dependence] = []
    for base, group in groups.items():
        ends = {id(e): e for d in group for e in (d.source, d.sink)}
        update = None if base is None else _update_of(list(ends.values()), loop, layout)
        if update is None:
            rest += group
        else:
            updates.append(update)
    return updates, rest


def _update_of(ends: list[Access], loop: LoopContext, layout: DataLayout) -> Update | None:
    loads = [a for a in ends if not a.is_write]
    stores = [a for a in ends if a.is_write]
    if len(loads) != 1 or len(stores) != 1:
        return None
    (read,), (written,) = loads, stores
    operation = updates_element(read, written)
    load, store = read.instruction, written.instruction
    if operation is None or load.pointer is not store.pointer or load.block is not store.block:
        return None
    if (
        operation_name(operation) not in RMW_OF
        or read.scope is not loop.scope
        or not loop.contains(read.loop)
    ):
        return None
    if min(load.alignment, store.alignment) < layout.store_size(load.type):
        return None
    body = load.block.instructions if load.block is not None else []
    between = body[body.index(load) + 1 : body.index(store)]
    if any(i.op == "store" or (i.op == "call" and i is not operation) for i in between):
        return None
    return Update(load, operation, store)


def is_worth_lanes(loop: CountedLoop, isa: Isa | None, updates: Iterable[Update] = ()) -> bool:
    """Whether there is enough beside the updates of a loop that gains by lanes: operations, and branches."""
    least = _LEAST_WORK if isa is None or isa.vector_bits >= _WIDE else _LEAST_WORK_OF_FEW_LANES
    own = {update.operation for update in updates}
    work = sum(i.op in _WORK and i not in own for block in loop.blocks for i in block.instructions)
    branches = sum(len(block.successors) > 1 for block in loop.blocks if block is not loop.exiting)
    return work + branches >= least

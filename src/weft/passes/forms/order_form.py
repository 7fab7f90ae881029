"""Loops that lanes can run in lock step once loads stand before stores (reordering of statements).

A dependence of a later store on an earlier load is kept in lock step if the load stands first in the body
(`weft.analysis.sequential.lock_step`). In ``a[i] = f(i); b[i] = g(a[i]); a[i] = b[i] + a[i + 1]`` it does not, but it
may be moved up: it meets none of the stores before it in the same iteration.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import Dependence, Dependences
from weft.analysis.sequential.lock_step import keeps_in_step, lanes_in_step, pairs_of_one_iteration
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_speculatable
from weft.ir.loop_metadata import mark_in_step


class OrderForm(Struct, frozen=True):
    """A loop of which loads are to be moved up.

    Parameters
    ----------
    moved
        The loads, and the store that each is to stand before.
    lanes
        How many iterations may run in lock step then.
    tests, assumptions
        What is to be tested before the loop, and the same in words.
    """

    moved: tuple[tuple[Instruction, Instruction], ...]
    lanes: int
    tests: RunTimeTests
    assumptions: tuple[Assumption, ...]

    def rewrite(self, function: Function, header: BasicBlock) -> str:
        """Move the loads, and mark the loop; what remarks say of it."""
        for load, store in self.moved:
            for instruction in _moving(load, store) or ():
                block = instruction.block
                assert block is not None
                instruction.detach()
                block.insert_before(store, instruction)
        view = cfg_of(function)
        loop = loop_forest(view.cfg).headed_by[view.index[header]]
        assert loop is not None
        mark_in_step(view.blocks[loop.latches[0]].terminator, self.lanes)
        return f"{self.lanes} iterations of this loop may run at a time, in lock step, as loads stand before stores now"


def order_form(accesses: Accesses, loop: LoopContext, verdict: LoopVerdict) -> OrderForm | None:
    """Which loads of a loop to move up so that lanes can run it in lock step; None where that does not help."""
    dependences = verdict.dependences
    if dependences is None or not dependences.is_complete or dependences.opaque:
        return None
    turned = [d for d in dependences.found if not keeps_in_step(d, loop)]
    meeting = set(pairs_of_one_iteration(a for a in accesses.of(loop) if isinstance(a, Access)))
    moved: dict[Instruction, Instruction] = {}
    for dependence in turned:
        load, store = dependence.source.instruction, dependence.sink.instruction
        if not _may_move(dependence, loop, meeting):
            return None
        assert load.block is not None
        body = load.block.instructions
        known = moved.get(load, store)
        moved[load] = store if body.index(store) < body.index(known) else known
    if not moved or not _stay_in_order(moved, dependences):
        return None
    kept = Dependences(
        tuple(d for d in dependences.found if d not in turned), dependences.opaque, dependences.assumptions
    )
    lanes = lanes_in_step(loop, kept)
    if not lanes:
        return None
    parameters = parameters_of(accesses, loop, verdict.private)
    tests = run_time_tests(accesses, loop, verdict.assumptions, parameters)
    if isinstance(tests, str):
        return None
    # Those of one block from the first on: each stays behind what it is computed from.
    ordered = sorted(moved.items(), key=lambda each: _place(each[0]))
    return OrderForm(tuple(ordered), lanes, tests, verdict.assumptions)


def _place(instruction: Instruction) -> int:
    assert instruction.block is not None
    return instruction.block.instructions.index(instruction)


def _may_move(
    dependence: Dependence, loop: LoopContext, meeting: Collection[tuple[Instruction, Instruction]]
) -> bool:
    """Whether the load of a dependence may stand before its store, which stands before it in the same block."""
    load, store = dependence.source.instruction, dependence.sink.instruction
    if (load.op, store.op) != ("load", "store") or load.block is not store.block:
        return False
    if dependence.source.base is None or dependence.source.base is not dependence.sink.base:
        return False
    if dependence.source.loop is not loop or dependence.source.scope is not loop.scope:
        return False
    return _moving(load, store) is not None and not any(
        (i, load) in meeting for i in _between(store, load) if i.op == "store"
    )


def _between(first: Instruction, last: Instruction) -> list[Instruction]:
    assert first.block is not None
    body = first.block.instructions
    return body[body.index(first) : body.index(last)]


def _moving(load: Instruction, store: Instruction) -> list[Instruction] | None:
    """The load with what its address is computed from behind the store; None where that cannot be moved."""
    between = _between(store, load)
    if any(i.op not in ("load", "store") and not is_speculatable(i) for i in between):
        return None
    needed: set[Instruction] = {load}
    for instruction in reversed(between):
        if any(u in needed for u in instruction.instruction_users()):
            if not is_speculatable(instruction):
                return None
            needed.add(instruction)
    return [i for i in (*between, load) if i in needed]


def _stay_in_order(moved: dict[Instruction, Instruction], dependences: Dependences) -> bool:
    """Whether no dependence of a moved load on an earlier store relies on the load's standing behind it."""
    return not any(d.sink.instruction in moved for d in dependences.found)

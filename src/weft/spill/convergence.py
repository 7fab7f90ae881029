"""Where the threads of a warp are together, and which values may share a slot of the warp.

Sampaio et al. §4.1 assume lock step. Since sm_70 threads of a warp that have parted may be in both arms of a branch, or
in different iterations of a loop, and nothing but a barrier brings them together. All threads write a slot with the
same value before they read it; what is to be feared is a thread that writes the value of another execution in between.
So a slot of the warp is for a value that

* is written once: by one instruction, in no loop. Nobody writes anything else, ever. Or
* is written only where the warp is *converged*: since it began, or since the latest barrier, no branch has parted its
  threads. Then all have read what was there before. Or
* is written only under *uniform control*: all threads that have not ended come by, equally often. A ``bar.warp.sync``
  before the store makes the warp converged.

A branch to where threads only end does not part the others: ended threads are waited for nowhere. Before sm_70 a warp
is in lock step, and a value that is uniform wherever it is written and read needs no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from weft.graph.cfg import CFG, reverse_postorder
from weft.graph.dominators import post_dominator_tree
from weft.graph.loops import loop_forest
from weft.ptx.flow import Flow
from weft.ptx.instructions import Effect, variant_of
from weft.ptx.registers import writes
from weft.ptx.syntax import Instruction, Integer

_FULL = 0xFFFFFFFF
INDEPENDENT = 70
"""The least capability whose threads are independent."""


class Sharing(Enum):
    """Why a value may be in a slot of its warp, or that it may not."""

    LOCK_STEP = "warps are in lock step"
    ONCE = "written once"
    CONVERGED = "written where the warp is converged"
    SYNCED = "written under uniform control, behind bar.warp.sync"
    NO = "threads of the warp may be in different executions"


@dataclass(frozen=True, slots=True)
class Convergence:
    """What is known of the threads of a warp.

    Attributes
    ----------
    uniform
        For each instruction, whether all threads that have not ended come by, equally often.
    converged
        For each instruction, whether they do so together.
    in_loop
        For each instruction, whether it may run several times.
    lock_step
        Whether warps are in lock step.
    """

    uniform: tuple[bool, ...]
    converged: tuple[bool, ...]
    in_loop: tuple[bool, ...]
    lock_step: bool

    def sharing(self, writers: list[int], guarded: Callable[[int], bool]) -> Sharing:
        """How a value that is the same in all threads may be shared.

        Parameters
        ----------
        writers
            The instructions that write it.
        guarded
            Whether an instruction has a guard on which threads may disagree.
        """
        if any(guarded(number) for number in writers):
            return Sharing.NO
        if self.lock_step:
            return Sharing.LOCK_STEP
        if len(writers) == 1 and not self.in_loop[writers[0]]:
            return Sharing.ONCE
        if all(self.converged[number] for number in writers):
            return Sharing.CONVERGED
        if all(self.uniform[number] for number in writers):
            return Sharing.SYNCED
        return Sharing.NO


def convergence_of(flow: Flow, parts: Callable[[int], bool], capability: int) -> Convergence:
    """Analyse a body.

    Parameters
    ----------
    flow
        It.
    parts
        Whether threads that are together at a branch, by the number of the instruction, may leave it differently.
    capability
        Of the architecture: 90 for ``sm_90``.
    """
    cfg = flow.cfg
    rows = [flow.instructions(block) for block in range(len(cfg))]
    first: list[int] = []
    count = 0
    for row in rows:
        first.append(count)
        count += len(row)
    divergent = {
        block
        for block, row in enumerate(rows)
        if row and _branches(row[-1]) and parts(first[block] + len(row) - 1)
    }
    ends = _bare_ends(cfg, rows)
    kept = CFG(
        [
            [s for s in succs if not (block in divergent and s in ends)] or succs
            for block, succs in enumerate(cfg.succs)
        ]
    )
    divergent = {block for block in divergent if len(set(kept.succs[block])) > 1}
    apart = _apart(kept, divergent)
    lock_step = capability < INDEPENDENT
    starts = _starts(cfg, rows, divergent, apart)
    forest = loop_forest(cfg)
    uniform: list[bool] = []
    converged: list[bool] = []
    in_loop: list[bool] = []
    for block, row in enumerate(rows):
        together = starts[block]
        for instruction in row:
            uniform.append(block not in apart)
            converged.append(block not in apart if lock_step else together and block not in apart)
            in_loop.append(forest.innermost[block] is not None)
            together = _behind(instruction, together, block not in apart)
    return Convergence(tuple(uniform), tuple(converged), tuple(in_loop), lock_step)


def _branches(instruction: Instruction) -> bool:
    return bool(variant_of(instruction).effects & Effect.BRANCH) and (
        instruction.guard is not None or instruction.opcode == "brx"
    )


def _bare_ends(cfg: CFG, rows: list[list[Instruction]]) -> set[int]:
    """Blocks from which threads end without doing anything."""
    found: set[int] = set()
    changed = True
    while changed:
        changed = False
        for block, row in enumerate(rows):
            if block in found or not all(_does_nothing(i) for i in row):
                continue
            if all(s in found for s in cfg.succs[block]):
                found.add(block)
                changed = True
    return found


def _does_nothing(instruction: Instruction) -> bool:
    return instruction.guard is None and instruction.opcode in ("bra", "ret", "exit")


def _apart(cfg: CFG, divergent: set[int]) -> set[int]:
    """Blocks that only some threads may come by, or more often than others: between a branch and where ways meet."""
    tree = post_dominator_tree(cfg)
    found: set[int] = set()
    for block in divergent:
        meet = tree.idom[block]
        work = [s for s in cfg.succs[block] if s != meet]
        seen = set(work)
        while work:
            for successor in cfg.succs[work.pop()]:
                if successor != meet and successor not in seen:
                    seen.add(successor)
                    work.append(successor)
        found |= seen
    return found


def _starts(cfg: CFG, rows: list[list[Instruction]], divergent: set[int], apart: set[int]) -> list[bool]:
    """Whether a warp is converged where each block begins."""
    starts = [True] * len(cfg)
    order = reverse_postorder(cfg.succs)
    changed = True
    while changed:
        changed = False
        for block in order:
            together = starts[block] and block not in apart
            for instruction in rows[block]:
                together = _behind(instruction, together, block not in apart)
            together = together and block not in divergent
            for successor in cfg.succs[block]:
                if starts[successor] and not together:
                    starts[successor] = False
                    changed = True
    return starts


def _behind(instruction: Instruction, together: bool, uniform: bool) -> bool:
    """Whether the warp is converged behind an instruction."""
    if instruction.opcode == "call":
        return False
    if uniform and instruction.guard is None and _gathers(instruction):
        return True
    return together


def _gathers(instruction: Instruction) -> bool:
    """Whether all threads of the warp that have not ended wait here for each other."""
    if instruction.opcode in ("bar", "barrier"):
        if "warp" in instruction.modifiers:
            mask = instruction.operands[0]
            return isinstance(mask, Integer) and mask.bits(32) == _FULL
        return "arrive" not in instruction.modifiers and len(instruction.operands) == 1
    if "sync" in instruction.modifiers and instruction.opcode in ("shfl", "vote", "match", "redux"):
        mask = instruction.operands[-1]
        return isinstance(mask, Integer) and mask.bits(32) == _FULL
    return False


def writers_of(flow: Flow) -> dict[str, list[int]]:
    """For each register the numbers of the instructions that write it."""
    found: dict[str, list[int]] = {}
    for number, instruction in enumerate(flow.function.instructions()):
        for name in writes(instruction):
            found.setdefault(name, []).append(number)
    return found

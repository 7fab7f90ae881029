"""Runs programs of `generators.array_loops` before and behind scalar replacement, and counts their loads."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from generators.array_loops import REACH, THREADS, array_program
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.questions.regions import Regions
from weft.interp import Memory, Program, launch
from weft.interp.machine import Machine
from weft.ir import Function, Instruction, Module
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.scalar_replacement.policy import POLICIES, Policy, PolicyName
from weft.transform.scalar_replacement.replacement import ReplacementSummary, replace_loads

NAMES = (PolicyName.SRQP, PolicyName.ESRQP, PolicyName.SSRQP, PolicyName.SSRQP_S)
SIZES = (2 * REACH + THREADS + 8, 2 * REACH * THREADS, 2 * REACH * THREADS)
"""Elements of the three arrays."""

_INSERTED, _MASKED = re.compile(r"\.read(\.\d+)?$"), re.compile(r"\.(first|mask|masked)(\.\d+)?$")
"""Names of loads that are inserted, and of blocks that are for a part of the threads."""

Extent = tuple[int, int]


@dataclass(slots=True)
class Loads:
    """Counts what is accessed.

    Attributes
    ----------
    threads, stores
        Loads and stores of each thread.
    issued
        Times that a lane group does a load.
    executed
        The same, by the load's name.
    extents
        Per array the first byte that is accessed and the one behind the last.
    """

    starts: list[int]
    threads: np.ndarray = field(default_factory=lambda: np.zeros(THREADS, np.int64))
    stores: np.ndarray = field(default_factory=lambda: np.zeros(THREADS, np.int64))
    issued: int = 0
    executed: Counter[str] = field(default_factory=Counter)
    extents: dict[int, Extent] = field(default_factory=dict)

    def on_access(
        self, machine: Machine, i: Instruction, addresses: np.ndarray, mask: np.ndarray, kind: str, size: int
    ) -> None:
        if not mask.any():
            return
        if i.op == "load":
            self.threads += mask
            self.issued += 1
            self.executed[i.name] += 1
        elif i.op == "store":
            self.stores += mask
        seen = np.broadcast_to(np.asarray(addresses), mask.shape)[mask].astype(np.int64)
        low, high = int(seen.min()), int(seen.max()) + size
        for k, start in enumerate(self.starts):
            if start <= low < start + 4 * SIZES[k]:
                first, last = self.extents.get(k, (low - start, high - start))
                self.extents[k] = min(first, low - start), max(last, high - start)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run left in memory, and what it loaded."""

    memory: bytes
    loads: Loads


def run(module: Program, n: int, s: int, extents: dict[int, Extent] | None = None) -> Run:
    """Run the kernel; with `extents` nothing of the arrays beside them can be accessed."""
    rng = np.random.default_rng((n, s))
    arrays = [rng.integers(0, 100, size).astype(np.int32) for size in SIZES]
    starts = [a.__array_interface__["data"][0] for a in arrays]
    memory, loads = Memory(), Loads(starts)
    for k, array in enumerate(arrays):
        first, last = (extents or {}).get(k, (0, 4 * len(array) if extents is None else 0))
        memory.map_array(array.view(np.uint8)[first:last])
    launch(module, "kernel", [*starts, n, s], 1, THREADS, memory=memory, hooks=[loads], step_limit=2_000_000)
    return Run(b"".join(a.tobytes() for a in arrays), loads)


def divergence_of(function: Function) -> Divergence:
    """The divergence of a kernel in one lane group."""
    return analyze_divergence(function, width=THREADS)


def replaced(text: str, policy: Policy) -> tuple[Module, ReplacementSummary]:
    """The program behind scalar replacement, which is valid."""
    module = read_module(text)
    function = next(module.definitions())
    summary = replace_loads(function, policy, lambda: divergence_of(function))
    verify(module)
    return module, summary


ARGUMENTS = ((0, 1), (1, 2), (4, 3), (6, 1), (2, 1), (5, 2))


def check(seed: int, names: tuple[PolicyName, ...] = NAMES) -> Counter[str]:
    """Compare a random program before and behind each policy; what was done, in numbers."""
    text = array_program(seed)
    module = read_module(text)
    verify(module)
    program = Program(module)
    arguments = ARGUMENTS[seed % 3], ARGUMENTS[3 + seed % 2]
    wanted = [run(program, n, s) for n, s in arguments]
    done: Counter[str] = Counter()
    same: dict[str, tuple[PolicyName, list[Run]]] = {}
    for name in names:
        new, summary = replaced(text, POLICIES[name])
        done.update(
            {
                f"{name} removed": summary.removed,
                f"{name} hoisted": summary.hoisted,
                f"{name} sunk": summary.sunk,
            }
        )
        if not summary.changed:
            continue
        try:
            if name in (PolicyName.ESRQP, PolicyName.SSRQP):
                check_arms(name, next(new.definitions()))
            written = write_module(new)
            if written not in same:
                behind = Program(new)
                same[written] = (
                    name,
                    [run(behind, *a, w.loads.extents) for a, w in zip(arguments, wanted, strict=True)],
                )
            for before, after in zip(wanted, same[written][1], strict=True):
                assert after.memory == before.memory, "memory differs"
                check_counts(name, before.loads, after.loads)
                done[f"{name} excess"] += excess_of(before.loads, after.loads)
                done[f"{name} before"] += int(before.loads.threads.sum())
                done[f"{name} after"] += int(after.loads.threads.sum())
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}: {error}\n{text}\n{write_module(new)}") from error
    return done


def check_counts(name: PolicyName, before: Loads, after: Loads) -> None:
    """The promises about dynamic loads and stores.

    What `SSRQP` issues more is counted on the interpreter: the executions of loads that left an arm, less those of the
    load that was there. Where some lane takes the arm there are as many of the one as of the other.
    """
    assert (after.stores <= before.stores).all(), "a thread does more stores"
    if name in (PolicyName.SRQP, PolicyName.ESRQP):
        more = after.threads - before.threads
        assert (more <= 0).all(), f"threads do up to {more.max()} loads more"
    if name in (PolicyName.ESRQP, PolicyName.SSRQP):
        excess = excess_of(before, after)
        assert not excess or name is PolicyName.SSRQP
        assert after.issued <= before.issued + excess, (
            f"{after.issued} loads are issued, not {before.issued} and {excess}"
        )


def excess_of(before: Loads, after: Loads) -> int:
    """How often hoisted loads were issued for no lane that took the arm."""
    hoisted: Counter[str] = Counter()
    for load, times in after.executed.items():
        origin, mark, _ = load.partition(".hoisted")
        if mark:
            hoisted[origin] += times
    return sum(max(0, times - before.executed[origin]) for origin, times in hoisted.items())


def check_arms(name: PolicyName, function: Function) -> None:
    """Behind the policies that look at divergence no load is new in what depends on a divergent branch.

    But those of first iterations, which stand in blocks of their own, behind a copy of the loop's test, and those of a
    condition, behind a copy of that: what these copies stand in does not depend on a divergent branch. And those that
    left an arm within an arm.
    """
    regions = Regions(cfg_of(function), divergence_of(function).is_divergent_branch)
    for block in function.blocks:
        if any(i.op == "load" and _INSERTED.search(i.name) for i in block):
            around = block
            while name is PolicyName.SSRQP and _MASKED.search(around.name):
                around = regions.view.blocks[regions.dominators.idom[regions.view.index[around]]]
            assert regions.in_region(around), f"a load is inserted into {block.name}"

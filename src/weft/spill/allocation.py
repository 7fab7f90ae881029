"""Allocating the registers of one kernel under one policy: decide, place, write.

Which values are spilled is decided by an allocator that knows nothing of divergence; where they go, by a policy. Spill
code may need words itself (an id, an address), so both take turns until nothing more has to be spilled. The decisions
are the same for all policies but for these words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.diag.errors import PtxError, SettingError
from weft.diag.remarks import Remark, RemarkKind
from weft.machine.gpus import Occupancy, occupancy
from weft.ptx.regalloc.allocation import (
    NO_DEMAND,
    Allocation,
    Demand,
    Problem,
    scratch_words,
    unreachable_budget,
)
from weft.ptx.regalloc.chordal import chordal
from weft.ptx.regalloc.linear_scan import linear_scan
from weft.ptx.regalloc.places import Place, ThreadSlot, WarpBase, WarpSlot
from weft.ptx.regalloc.rewrite import Inserted
from weft.ptx.syntax import Function
from weft.spill.costs import access_weights
from weft.spill.kernel import LATER, Kernel
from weft.spill.placing import draft, place_all
from weft.spill.policies import Choice, Policy, Row, choose
from weft.spill.settings import Settings
from weft.spill.writing import write_kernel

_STATIC_SHARED = 48 << 10
"""Bytes of static shared memory that a block may have on any architecture."""


@dataclass(slots=True)
class Spilled:
    """A kernel whose registers are allocated.

    Attributes
    ----------
    kernel, settings
        What was allocated how.
    function
        The result.
    choices, places
        For each spilled value.
    inserted
        Instructions that were inserted.
    pressure
        Registers of 32 bits that the result needs, counted again from its text.
    shared, local
        Bytes that were added: of shared memory for a block, of local memory for a thread.
    before, after
        Occupancy with all spilled values in local memory, and with the result.
    remarks
        Decisions a user may ask about.
    policy
        The one that was followed: for ``auto``, the one it chose.
    """

    kernel: Kernel
    settings: Settings
    function: Function
    policy: Policy
    choices: dict[str, Choice]
    places: dict[str, Place]
    inserted: list[Inserted]
    pressure: int
    shared: int
    local: int
    before: Occupancy
    after: Occupancy
    remarks: list[Remark] = field(default_factory=list)


def allocate(kernel: Kernel, settings: Settings) -> Spilled:
    """Allocate the registers of a kernel under one policy (not ``auto``).

    Raises
    ------
    PtxError
        An instruction needs more registers than there are, with its place.
    SettingError
        Shared memory does not suffice for what the kernel has already.
    """
    if settings.registers < 1:
        raise SettingError(f"{settings.registers} registers are too few", hint="allow some")
    return _Driver(kernel, settings).run()


@dataclass(slots=True)
class _Driver:
    kernel: Kernel
    settings: Settings
    demoted: set[str] = field(default_factory=set)
    remarks: list[Remark] = field(default_factory=list)
    plain: bool = False
    """Whether there is no register for what spill code needs itself: only places without such needs are used."""

    def run(self) -> Spilled:
        before = self.occupancy(0)
        while True:
            try:
                spilled = self.settled()
            except PtxError:
                if self.plain or self.settings.policy is Policy.LOCAL:
                    raise
                self.plain = True
                self.remarks.append(
                    Remark(
                        RemarkKind.MISSED,
                        f"{self.settings.registers} registers leave none for addresses of slots in shared memory"
                        " and for ids",
                        self.kernel.module.span(self.kernel.source),
                        hint="allow one or two registers more",
                    )
                )
                continue
            over = self.over_occupancy(spilled, before)
            if over is None:
                return spilled
            self.demoted.add(over)

    def occupancy(self, shared: int) -> Occupancy:
        kernel, settings = self.kernel, self.settings
        return occupancy(
            kernel.arch,
            kernel.threads,
            settings.registers,
            kernel.static_shared + settings.dynamic_shared + shared,
        )

    def over_occupancy(self, spilled: Spilled, before: Occupancy) -> str | None:
        """The value that has to leave shared memory first, where slots cost resident warps or are too many."""
        too_many = self.kernel.static_shared + spilled.shared > max(_STATIC_SHARED, self.kernel.static_shared)
        if spilled.after.blocks >= before.blocks and not too_many:
            return None
        weights = access_weights(self.kernel)
        shared = [n for n, p in spilled.places.items() if isinstance(p, WarpSlot | WarpBase | ThreadSlot)]
        bytes_of = {
            n: 32 * self.kernel.words[n]
            if isinstance(spilled.places[n], ThreadSlot)
            else self.kernel.words[n]
            for n in shared
        }
        worst = min(shared, key=lambda n: (weights.get(n, 0) / bytes_of[n], n), default=None)
        if worst is not None and not self.demoted:
            self.remarks.append(
                Remark(
                    RemarkKind.MISSED,
                    f"slots in shared memory would leave {spilled.after.warps} of {before.warps} warps resident;"
                    " what is accessed least stays in local memory",
                    self.kernel.module.span(self.kernel.source),
                )
            )
        return worst

    def settled(self) -> Spilled:
        """Let decisions and demands of spill code take turns until they agree."""
        kernel, settings = self.kernel, self.settings
        names: frozenset[str] = frozenset()
        bases = (False, False)
        while True:
            choices = {n: self.choice(n) for n in sorted(names)}
            # Once a base is there it stays, so that this ends.
            wanted = self.bases(choices)
            bases = (bases[0] or wanted[0], bases[1] or wanted[1])
            budget = settings.registers - (sum(bases) if settings.count_bases else 0)
            demands = {
                n: draft(c, self.per_thread(n, c)).demand(kernel.values[n].bits) for n, c in choices.items()
            }
            counted = demands if settings.count_bases else dict.fromkeys(demands, NO_DEMAND)
            problem = Problem(kernel.liveness, kernel.words, budget, counted, kernel.fixed)
            allocation = self.allocated(problem)
            if not settings.count_bases:
                _scratch_on_top(allocation, budget, demands)
            if allocation.spilled == names:
                return self.written(problem, allocation, choices, bases)
            names = names | allocation.spilled

    def allocated(self, problem: Problem) -> Allocation:
        try:
            if problem.budget < 1:
                first = next(iter(self.kernel.function.instructions()))
                raise unreachable_budget(problem.budget, first, 1)
            if self.settings.allocator == "chordal" and not self.needs_linear():
                return chordal(problem)
            return linear_scan(problem, self.settings.farthest)
        except PtxError as error:
            instruction = error.__dict__.pop("instruction", None)
            if instruction is not None:
                error.at(self.kernel.module.span(instruction))
            raise

    def needs_linear(self) -> bool:
        instructions = self.kernel.function.instructions()
        return any(i.opcode == "brx" or i.opcode in LATER for i in instructions) or any(
            words > 2 for words in self.kernel.words.values()
        )

    def choice(self, name: str) -> Choice:
        value = self.kernel.values[name]
        if name in self.demoted:
            plain = choose(value, Policy.LOCAL)
            return dataclasses.replace(plain, why="would cost resident warps in shared memory")
        policy = self.settings.policy
        chosen = choose(value, Policy.AFFINE if policy is Policy.HYBRID else policy)
        if self.plain and chosen.row is not Row.OTHER:
            needs = draft(chosen, self.per_thread(name, chosen)).demand(value.bits)
            if chosen.row in (Row.UNIFORM, Row.AFFINE_BASE) or needs != NO_DEMAND:
                plain = choose(value, Policy.LOCAL)
                return dataclasses.replace(plain, why="no register is left for what other places need")
        return chosen

    def per_thread(self, name: str, choice: Choice) -> bool:
        return (
            self.settings.policy is Policy.HYBRID
            and choice.row is Row.OTHER
            and not self.plain
            and name not in self.demoted
            and self.kernel.values[name].bits in (16, 32, 64)
        )

    def bases(self, choices: Mapping[str, Choice]) -> tuple[bool, bool]:
        """Whether base addresses of the warp's and of the thread's slots are needed."""
        warp = any(c.row in (Row.UNIFORM, Row.AFFINE_BASE) for c in choices.values())
        thread = any(self.per_thread(n, c) for n, c in choices.items())
        return (warp and self.kernel.threads > 32, thread)

    def written(
        self, problem: Problem, allocation: Allocation, choices: dict[str, Choice], bases: tuple[bool, bool]
    ) -> Spilled:
        kernel, settings = self.kernel, self.settings
        placement = place_all(kernel, choices, {n for n, c in choices.items() if self.per_thread(n, c)})
        made = write_kernel(kernel, settings, problem, allocation, choices, placement, bases)
        return Spilled(
            kernel, settings, made.function, settings.policy, choices, placement.places, made.inserted, made.pressure,
            placement.shared.size, placement.local, self.occupancy(0), self.occupancy(placement.shared.size),
            list(self.remarks),
        )  # fmt: skip


def _scratch_on_top(allocation: Allocation, budget: int, demands: Mapping[str, Demand]) -> None:
    """Give spill code words beyond the budget."""
    for number, (read, written) in enumerate(zip(allocation.reads, allocation.writes, strict=True)):
        before = scratch_words(demands, [n for n in read if n in allocation.spilled], reload=True)
        behind = scratch_words(demands, [n for n in written if n in allocation.spilled], reload=False)
        allocation.scratch[number] = (
            tuple(range(budget, budget + before)),
            tuple(range(budget, budget + behind)),
        )

"""BOSCC: uniform branches around what divergent branches guard (Moll, §9.2).

Precondition: as for `linearize`. Postcondition: the same, with gadgets (`boscc_gadget`) at the entrances of regions
where the cost model (`weft.costs.regions`) expects to win, or of all regions. Preserves the program under FR and OBL:
before linearization no group comes to a region without threads.

Regions are taken from the inside out, so that a region is worth what the gadgets within it leave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from msgspec import Struct, field

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.guarded_regions import Region, guarded_regions
from weft.costs.regions import RegionCosts
from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Function, Module
from weft.ir.locations import span_of
from weft.machine.targets import Isa
from weft.transform.boscc.gadget import copy_where_full, skip_where_empty
from weft.transform.loops.divergent_loops import BranchDivergence

GROWTH = 4
"""How many times as many instructions a function may have with forced twins."""

TWIN_LIMIT = 64
"""Instructions of a region that may get an unmasked copy."""

BOX_TWIN_LIMIT = 256
"""The same where lane groups are boxes, whose accesses share what they load without masks."""


class BosccMode(StrEnum):
    """Which divergent branches get a uniform branch around what they guard."""

    OFF = "off"
    AUTO = "auto"
    ON = "on"


class Boscc(Struct, frozen=True):
    """Where gadgets go.

    Parameters
    ----------
    mode
        Everywhere, nowhere, or where it pays.
    isa
        The instruction set for which that is asked.
    """

    mode: BosccMode
    isa: Isa


class Gadget(Struct, frozen=True):
    """A uniform branch that was inserted.

    Parameters
    ----------
    span
        Where the divergent branch that guards the region is in the source.
    blocks
        How many blocks the region has, those of its loops apart.
    twin
        Whether the branch leads to an unmasked copy, and not around the region.
    """

    span: SourceSpan | None
    blocks: int
    twin: bool


class BosccResult(Struct):
    """What was inserted, and how the branches of the function are now.

    Parameters
    ----------
    branches
        The branches of the function as it was.
    uniform
        Blocks whose branches are uniform although `branches` does not know them, or does not say so.
    gadgets
        What was inserted.
    copied_from
        What the blocks of twins are copies of.
    """

    branches: BranchDivergence
    uniform: set[BasicBlock]
    gadgets: list[Gadget] = field(default_factory=list)
    copied_from: dict[BasicBlock, BasicBlock] = field(default_factory=dict)

    def note(self, region: Region, test: BasicBlock, twin: bool) -> None:
        """Record the gadget whose branch is at the end of `test`."""
        self.gadgets.append(Gadget(span_of(region.source.terminator), len(region.own), twin))
        self.uniform.add(test)

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether threads may leave `block` by different edges."""
        while block in self.copied_from:
            block = self.copied_from[block]
        return block not in self.uniform and self.branches.is_divergent_branch(block)


def insert_wanted(
    module: Module,
    function: Function,
    divergence: Divergence,
    known_uniform: Collection[BasicBlock],
    width: int,
    wanted: Boscc | None,
    leaving: Collection[BasicBlock] = (),
    branches: BranchDivergence | None = None,
) -> BosccResult:
    """Put gadgets into `function` as `wanted` for lane groups of `width` threads; None stands for no gadgets.

    `divergence` holds for the function as it is; branches of `known_uniform` are uniform even where it cannot tell;
    the blocks of `leaving` are on what were divergent exits of loops. `branches` says which branches are divergent, if
    that is not what `divergence` says.
    """
    if wanted is None or wanted.mode is BosccMode.OFF:
        return BosccResult(branches or divergence, set(known_uniform))
    costs = RegionCosts.of(divergence, width, wanted.isa, leaving) if wanted.mode is BosccMode.AUTO else None
    return insert_boscc(module, function, branches or divergence, known_uniform, costs)


def insert_boscc(
    module: Module,
    function: Function,
    branches: BranchDivergence,
    known_uniform: Collection[BasicBlock],
    costs: RegionCosts | None,
) -> BosccResult:
    """Put gadgets into `function` where `costs` expect to win, without costs wherever it can be done."""
    result = BosccResult(branches, set(known_uniform))
    regions = guarded_regions(function, result.is_divergent_branch)
    chances = {r: costs.chances(r.source, r.entrance) for r in regions} if costs is not None else {}
    limit = GROWTH * _size(function.blocks)
    # A gadget for each block that one skips: regions are nested or apart.
    guards: dict[BasicBlock, BasicBlock] = {}
    for region in sorted(regions, key=lambda r: len(r.blocks)):
        size = _size(region.blocks)
        if costs is None:
            copies, skips = size + _size(function.blocks) <= limit, True
        else:
            inner = {guards[b] for b in region.own if b in guards}
            unguarded = [b for b in region.own if b not in guards]
            skips = costs.skip_gain(unguarded, len(inner), chances[region]) > 0
            limit_of_twin = BOX_TWIN_LIMIT if costs.sharing(region.blocks) else TWIN_LIMIT
            gain = costs.twin_gain(region.own, chances[region], region.blocks)
            copies = size <= limit_of_twin and gain > 0
        added: list[BasicBlock] = []
        entrance = region.entrance
        if copies and region.may_copy:
            originals = list(region.blocks)
            entrance, twins = copy_where_full(module, region.source, region.entrance, originals)
            result.copied_from.update(zip(twins, originals, strict=True))
            _note_chance(entrance, chances[region].all if costs is not None else None)
            result.note(region, entrance, twin=True)
            added += [entrance, *twins]
        if skips:
            guard, skip = skip_where_empty(module, region.source, entrance, region.behind)
            _note_chance(guard, 1 - chances[region].none if costs is not None else None)
            result.note(region, guard, twin=False)
            guards.update(dict.fromkeys(region.own, guard))
            added += [guard, skip]
        for around in regions if added else ():
            if region.source in around.blocks:
                around.blocks.update(dict.fromkeys(added))
    return result


def _note_chance(test: BasicBlock, chance: float | None) -> None:
    """Note how likely the first way of a gadget's branch is, for estimates of costs."""
    if chance is not None:
        test.terminator.attrs["chance"] = chance


def _size(blocks: Iterable[BasicBlock]) -> int:
    return sum(len(b.instructions) for b in blocks)

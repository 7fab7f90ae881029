"""What votes win: branches around what no thread of a lane group runs, where they pay (`weft.transform.boscc`).

Widths are chosen before there are such branches. What they win differs by width: a test costs a lane group the same at
each, what it skips is more in wider ones, and with more threads there is less often none that comes.

With this, and with `weft.costs.active_threads`, the geometric mean of the times of the widths chosen over the fastest
ones, for the kernels of `bench/fits` on an Intel server core (Ice Lake), is 1.057 with AVX-512 and 1.100 with AVX2;
without, 1.061 and 1.108. Counted in loops that threads leave one by one, too, it chose 2 registers for searches of a
tree on AVX2, where 8 take 0.8 of their time.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.guarded_regions import Region, guarded_regions
from weft.costs.regions import RegionCosts
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction


def regions_by_size(divergence: Divergence) -> list[Region]:
    """The regions that could get votes as the function is now, from the inside out."""
    found = guarded_regions(divergence.function, divergence.is_divergent_branch)
    return sorted(found, key=lambda r: len(r.blocks))


def won_by_skips(
    regions: list[Region], costs: RegionCosts, counted: Mapping[Instruction, float]
) -> dict[Loop | None, float]:
    """Cycles of a lane group that votes on `regions` win in an iteration of each loop, None for outside of all.

    That is no more than what was `counted` for their instructions, without masks. Regions come from the inside out, as
    they do where votes are put in (`weft.transform.boscc.insertion`).
    """
    view, loops = costs.probability.view, costs.probability.loops
    won: dict[Loop | None, float] = {}
    guards: dict[BasicBlock, BasicBlock] = {}
    for region in regions:
        inner = {guards[b] for b in region.own if b in guards}
        unguarded = [b for b in region.own if b not in guards]
        gain = costs.skip_gain(unguarded, len(inner), costs.chances(region.source, region.entrance))
        if gain > 0:
            loop = loops.innermost[view.index[region.source]]
            most = sum(counted.get(i, 0.0) for block in unguarded for i in block.instructions)
            won[loop] = won.get(loop, 0.0) + min(gain, most)
            guards.update(dict.fromkeys(region.own, region.source))
    return won

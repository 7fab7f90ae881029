r"""How many of a lane group's threads come to each block, behind the branches that others of them took another way.

Behind one branch in another fewer threads are left to disagree: that none of them goes on is likelier than among all::

    A?            all threads
    | \
    B? \          half of them, if A's branch is as likely to go either way
    | \ \
    C  | |        a quarter
     \ | /
       D          all again
"""

from __future__ import annotations

from weft.analysis.branch_probability import BranchProbability
from weft.analysis.divergence import Divergence
from weft.graph.cfg import reverse_postorder
from weft.ir import BasicBlock


def active_shares(divergence: Divergence, probability: BranchProbability) -> dict[BasicBlock, float]:
    """The share of the threads that begin an iteration of a block's innermost loop, or the function, which run it.

    That threads leave loops one after the other is not counted.
    """
    view, loops = probability.view, probability.loops
    shares: dict[BasicBlock, float] = {}
    for number in reverse_postorder(view.cfg.succs):
        block, loop = view.blocks[number], loops.innermost[number]
        arriving = [] if loops.headed_by[number] else sorted(set(view.cfg.preds[number]))
        share = 0.0 if arriving else 1.0
        for before in arriving:
            source = view.blocks[before]
            if loops.innermost[before] is not loop or any(
                here == before for here, _ in (loop.exit_edges if loop is not None else ())
            ):
                share = 1.0
                break
            parts = len(set(source.successors)) > 1 and divergence.is_divergent_branch(source)
            share += shares[source] * (probability.taken(source, block) if parts else 1.0)
        shares[block] = min(1.0, share)
    return shares

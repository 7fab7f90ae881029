"""Partial control-flow linearization of an acyclic graph (Moll, ch. 8, Listing 8).

Divergent branches get one successor; uniform branches stay. Where a block's old successors are not its new ones,
the *deferral relation* makes them post-dominate it, so each path of the old graph is part of a path of the new
one (Theorem 3). A block whose control dependences are all uniform runs only when it ran before (Theorem 4), and
a uniform edge stays when the dominance region of some block sees it as uniform (Theorem 5), given an index in
which dominance regions are contiguous. No block and no branch is added; the cost is linear in the edges.

Loops: the caller passes a graph of uniform loops whose back edges start at the loop's last block in the index;
they are left out here and stay as they are (§8.3).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def partially_linearize(
    succs: Sequence[Sequence[int]],
    order: Sequence[int],
    divergent: Collection[int],
    back_edges: Collection[tuple[int, int]] = (),
) -> list[tuple[int, ...]]:
    """New successors of every block.

    Parameters
    ----------
    succs
        Successors of each block, in branch order.
    order
        The reachable blocks in block index order: topological without `back_edges`.
    divergent
        Blocks that end in a divergent branch.
    back_edges
        (latch, header) pairs, kept in place. A latch that also leaves the loop does so uniformly.

    Returns
    -------
    list of tuple
        For a uniform branch as many successors as before, position by position; for a divergent one a single
        successor; unreachable blocks keep theirs.
    """
    position = {block: i for i, block in enumerate(order)}
    deferred: dict[int, set[int]] = {block: set() for block in order}
    result: list[tuple[int, ...]] = [tuple(targets) for targets in succs]
    for block in order:
        waiting = deferred[block]
        forward = [t for t in succs[block] if (block, t) not in back_edges]
        if not forward:
            # A latch without exits: what waits here was deferred at the header and waits for the exit.
            continue
        if block in divergent:
            candidates = waiting | set(forward)
            chosen = min(candidates, key=position.__getitem__)
            deferred[chosen] |= candidates - {chosen}
            result[block] = (chosen,)
            continue
        targets: list[int] = []
        for target in succs[block]:
            if (block, target) in back_edges:
                targets.append(target)
                continue
            candidates = waiting | {target}
            chosen = min(candidates, key=position.__getitem__)
            deferred[chosen] |= candidates - {chosen}
            targets.append(chosen)
        result[block] = tuple(targets)
    return result

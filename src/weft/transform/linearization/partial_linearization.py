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
    deferred = [0] * len(order)
    result: list[tuple[int, ...]] = [tuple(targets) for targets in succs]
    for i, block in enumerate(order):
        # Sets of blocks are integers, bit by position: a switch has its many targets moved on from one to the next.
        waiting, deferred[i] = deferred[i], 0
        forward = [t for t in succs[block] if (block, t) not in back_edges]
        if not forward:
            # A latch without exits: what waits here was deferred at the header and waits for the exit.
            continue
        if block in divergent:
            for target in forward:
                waiting |= 1 << position[target]
            chosen = _first(waiting)
            deferred[chosen] |= waiting & (waiting - 1)
            result[block] = (order[chosen],)
            continue
        targets: list[int] = []
        for target in succs[block]:
            if (block, target) in back_edges:
                targets.append(target)
                continue
            candidates = waiting | 1 << position[target]
            chosen = _first(candidates)
            deferred[chosen] |= candidates & (candidates - 1)
            targets.append(order[chosen])
        result[block] = tuple(targets)
    return result


def _first(positions: int) -> int:
    """The least of a set of positions."""
    return (positions & -positions).bit_length() - 1

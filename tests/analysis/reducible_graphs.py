"""All small reducible graphs, and random larger ones, as successor lists with their natural loops."""

import itertools
import random
from collections.abc import Iterator

from analysis.control_divergence_oracle import Succs, natural_loops, reach

Graph = tuple[Succs, dict[int, set[int]]]


def all_reducible(size: int, share: int = 1) -> Iterator[Graph]:
    """Every reducible graph of `size` live blocks with at most two successors each, or those of one graph in `share`.

    Of graphs that differ in the order of successors or in the numbers of blocks, some are left out: blocks
    are numbered in breadth-first order, the lower of two successors first.
    """
    for succs in itertools.islice(_all_graphs(size, (), 1), 0, None, share):
        loops = natural_loops(succs)
        if loops is not None:
            yield succs, loops


def _all_graphs(size: int, begun: Succs, live: int) -> Iterator[Succs]:
    """The graphs whose first blocks have these successors, which make so many blocks live."""
    if len(begun) == size:
        yield begun
        return
    blocks = range(size)
    for successors in [(), *itertools.combinations(blocks, 1), *itertools.combinations(blocks, 2)]:
        found = live
        for target in successors:
            found += target == found
        # Each number is that of a block that has been found, and there is a next block to go on from.
        if max(successors, default=0) < found and found > min(len(begun) + 1, size - 1):
            yield from _all_graphs(size, (*begun, successors), found)


def random_reducible(rng: random.Random, size: int) -> Graph:
    """An acyclic graph of `size` live blocks, then edges back to dominators; some blocks have three or more
    successors."""
    succs: list[list[int]] = [[] for _ in range(size)]
    for block in range(1, size):
        succs[rng.choice([b for b in range(block) if len(succs[b]) < 2])].append(block)
    for _ in range(rng.randint(0, size)):
        source, target = sorted(rng.choices(range(size), k=2))
        if source != target and target not in succs[source]:
            succs[source].append(target)
    forward = tuple(map(tuple, succs))
    undominated = [reach(forward, 0, without=block) for block in range(size)]
    for _ in range(rng.randint(0, 4)):
        source = rng.randrange(size)
        target = rng.choice([b for b in range(size) if source not in undominated[b]])
        if target not in succs[source]:
            succs[source].append(target)
    for targets in succs:
        rng.shuffle(targets)
    graph = tuple(map(tuple, succs))
    loops = natural_loops(graph)
    assert loops is not None
    return graph, loops


def small_reducible(share: int) -> Iterator[Graph]:
    """Every reducible graph of up to four blocks, and those of one in `share` graphs of five."""
    for size in range(1, 5):
        yield from all_reducible(size)
    yield from all_reducible(5, share)


def many_reducible(seed: int, count: int) -> Iterator[Graph]:
    """Random graphs of three to ten blocks."""
    rng = random.Random(seed)
    for _ in range(count):
        yield random_reducible(rng, rng.randint(3, 10))

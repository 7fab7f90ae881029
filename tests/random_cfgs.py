"""Hypothesis strategies for control-flow graphs, for the tests of several rooms."""

from hypothesis import strategies as st

from weft.graph.cfg import CFG


@st.composite
def arbitrary_cfgs(draw: st.DrawFn, max_blocks: int = 9, max_succs: int = 3) -> CFG:
    """Any graph: dead blocks, endless loops, irreducible cycles, repeated successors."""
    size = draw(st.integers(1, max_blocks))
    blocks = st.integers(0, size - 1)
    return CFG(draw(st.lists(st.lists(blocks, max_size=max_succs), min_size=size, max_size=size)))


@st.composite
def acyclic_cfgs(draw: st.DrawFn, max_blocks: int = 10) -> CFG:
    """A graph of forward edges in which the entry reaches every block; any block may end the program."""
    size = draw(st.integers(1, max_blocks))
    succs: list[list[int]] = [[] for _ in range(size)]
    for block in range(1, size):
        succs[draw(st.integers(0, block - 1))].append(block)
    if size > 1:
        extra = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda e: e[0] < e[1])
        for source, target in draw(st.lists(extra, max_size=size)):
            succs[source].append(target)
    return CFG([draw(st.permutations(targets)) for targets in succs])


@st.composite
def reducible_cfgs(draw: st.DrawFn, max_blocks: int = 10) -> CFG:
    """An acyclic graph with edges back to dominators, which leave dominance as it is."""
    cfg = draw(acyclic_cfgs(max_blocks))
    dominators = brute_dominators(cfg)
    succs = [list(targets) for targets in cfg.succs]
    pairs = st.integers(0, len(cfg) - 1).flatmap(
        lambda block: st.tuples(st.just(block), st.sampled_from(sorted(dominators[block])))
    )
    for source, target in draw(st.lists(pairs, max_size=5)):
        succs[source].insert(draw(st.integers(0, len(succs[source]))), target)
    return CFG(succs)


def brute_reachable(cfg: CFG, start: int, without: int = -1) -> set[int]:
    """Blocks on paths from `start` that avoid the block `without`."""
    seen: set[int] = set()
    work = [start]
    while work:
        block = work.pop()
        if block != without and block not in seen:
            seen.add(block)
            work.extend(cfg.succs[block])
    return seen


def brute_dominators(cfg: CFG) -> list[set[int]]:
    """Per block its dominators: those without which the entry does not reach it (dead blocks: none)."""
    live = brute_reachable(cfg, 0)
    dominators: list[set[int]] = [set() for _ in range(len(cfg))]
    for candidate in live:
        for block in live - brute_reachable(cfg, 0, without=candidate):
            dominators[block].add(candidate)
    return dominators

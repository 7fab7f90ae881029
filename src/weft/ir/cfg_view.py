"""A function's control flow as a graph of numbers, for the algorithms of `weft.graph`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.graph.cfg import CFG
from weft.ir.block import BasicBlock
from weft.ir.function import Function


class CFGView(Struct, frozen=True):
    """A snapshot: node ``i`` of `cfg` is ``blocks[i]``, and ``index[blocks[i]]`` is ``i``."""

    cfg: CFG
    blocks: tuple[BasicBlock, ...]
    index: dict[BasicBlock, int]

    def numbers(self, blocks: Iterable[BasicBlock]) -> list[int]:
        return [self.index[b] for b in blocks]


def cfg_of(function: Function) -> CFGView:
    """The control-flow graph of a definition; the entry is node 0, parallel edges stay parallel."""
    blocks = tuple(function.blocks)
    index = {block: i for i, block in enumerate(blocks)}
    succs = [[index[s] for s in b.terminator.successors] if b.is_terminated else [] for b in blocks]
    return CFGView(CFG(succs, [b.name or str(i) for i, b in enumerate(blocks)]), blocks, index)

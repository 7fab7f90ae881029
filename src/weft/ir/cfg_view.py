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
    """The control-flow graph of a definition; the entry is node 0, parallel edges stay parallel.

    It is the snapshot that was taken last, with what is known of its graph, while that is as the function is.
    """
    blocks = tuple(function.blocks)
    known = function.view if isinstance(function.view, CFGView) and function.view.blocks == blocks else None
    index = known.index if known is not None else {block: i for i, block in enumerate(blocks)}
    succs: list[tuple[int, ...]] = []
    for block in blocks:
        last = block.instructions[-1] if block.instructions else None
        targets = last.blocks if last is not None and last.is_terminator else ()
        succs.append(tuple([index[target] for target in targets]))
    labels = [block.name or str(i) for i, block in enumerate(blocks)]
    if known is not None and known.cfg.succs == tuple(succs) and known.cfg.labels == tuple(labels):
        return known
    function.view = view = CFGView(CFG(succs, labels), blocks, index)
    return view

"""Searches by halves in a short range are free of branches: ``if a[middle] > x: high = middle; else: low = middle``.

Nobody foresees which half it is, so a branch goes the wrong way every other time, some twenty cycles. To wait for the
comparison and choose takes ten, where what is searched lies in the cache. Where it does not, to run ahead with the half
that was guessed loads half of the places in time, and is faster. LLVM takes branches wherever what is compared has been
loaded. So the loop has two versions, and the size of the range says which one runs:

    low, high = l, h                                 if h - l < 2^15:
    while high - low > 1: ...choose...                   while high - low > 1: ...choose, unpredictably...
                                                     else:
                                                         while high - low > 1: ...choose...

Precondition: P-LLVM of one thread, loop-closed, without predicates, shadows and guards. Postcondition: the same; the
choices of the version for short ranges are marked ``unpredictable``. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.bisections import Bisection, bisections
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Function, Instruction, MDTuple, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType
from weft.transform.loops.version_loop import version_loop

NEAR = 1 << 18
"""Bytes of a range that lies in a cache of the core, or soon does."""

LARGEST = 60
"""Instructions of a loop of which there are two versions."""


def choose_in_short_ranges(function: Function) -> int:
    """Give such loops two versions; how many."""
    done: set[BasicBlock] = set()
    while (found := _next(function, done)) is not None:
        view, search = found
        header = view.blocks[search.loop.header]
        starts = [_start(phi, search.loop, view) for phi in search.bounds]
        copies = version_loop(function, view, search.loop, lambda b, s=search, o=starts: _is_short(b, s, o))
        done |= {header, copies[header]}
        for choice in search.choices:
            choice.set_metadata("unpredictable", MDTuple([]))
    return len(done) // 2


def _next(function: Function, done: set[BasicBlock]) -> tuple[CFGView, Bisection] | None:
    view = cfg_of(function)
    for search in bisections(function, view):
        if any("unpredictable" in choice.metadata for choice in search.choices):
            continue
        if view.blocks[search.loop.header] not in done and _may_be_versioned(search.loop, view):
            return view, search
    return None


def _may_be_versioned(loop: Loop, view: CFGView) -> bool:
    outside = [p for p in view.cfg.preds[loop.header] if p not in loop.blocks]
    if len(outside) != 1 or len(view.cfg.succs[outside[0]]) != 1:
        return False
    if any(p not in loop.blocks for exit in loop.exits for p in view.cfg.preds[exit]):
        return False
    return sum(len(view.blocks[b].instructions) for b in loop.blocks) <= LARGEST


def _start(phi: Instruction, loop: Loop, view: CFGView) -> Value:
    return next(v for v, source in phi.incoming() if view.index[source] not in loop.blocks)


def _is_short(builder: Builder, search: Bisection, starts: list[Value]) -> Value:
    """Whether a range is short, whichever of its ends is the first."""
    first, second = (builder.unary("freeze", start) for start in starts)
    type = first.type
    assert isinstance(type, IntType)
    limit = const_int(min(NEAR // max(1, search.size), (1 << (type.bits - 1)) - 1), type)
    up, down = builder.binary("sub", second, first), builder.binary("sub", first, second)
    return builder.binary("or", builder.icmp("ult", up, limit), builder.icmp("ult", down, limit))

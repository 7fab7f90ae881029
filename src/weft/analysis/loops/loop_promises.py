"""What a program says of its loops in metadata (LLVM's ``llvm.loop``): promises that weft relies on.

Iterations are promised independent in memory by ``llvm.loop.parallel_accesses`` when every access of the loop is in one
of the groups it names (clang's ``assume_safety`` and ``omp simd``), or by ``weft.loop.parallel`` (`prange`).
``llvm.loop.vectorize.enable`` alone asks for vector code and promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.ir import BasicBlock, Instruction
from weft.ir.effects import may_read, may_write
from weft.ir.loop_metadata import (
    ALONE,
    APART,
    CLOSE,
    IN_GRAINS,
    IN_PLACE,
    IN_STEP,
    KEPT,
    PARALLEL,
    PROVED,
    ROWS,
    SHORT_ROWS,
    STREAMS,
)
from weft.ir.metadata import MDString, MDTuple, MDValue, Metadata

MOST_LANES = 64
"""Lanes of a lane group: a mask is a word."""

_SAYINGS = ("llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.scope.decl", "llvm.dbg.")


class LoopPromises(Struct, frozen=True):
    """What metadata says of a loop.

    Parameters
    ----------
    parallel
        Its iterations do not meet in memory.
    enabled
        It is asked for vector code.
    width
        The number of lanes it is asked for, 0 for none, or for one that lane groups cannot have.
    reorders
        What its iterations sum up may be summed up in another order. ``omp simd`` and ``assume_safety`` ask for vector
        code of iterations that are independent: a value that they hand on all the same is a reduction, which OpenMP's
        clause allows in any order.
    proved
        Its iterations have been found to meet nowhere in memory, or in ways that the following allows.
    in_step
        So many of them may run in lanes, in lock step and in order; 0 for none.
    in_grains
        Whether what these hand on is in cells alone (`weft.codegen.parallel.scan_launch`).
    rows
        Its nest is not to be cut into boxes.
    streams
        As `rows`, of a nest that waits for memory where it is large.
    close_rows
        Rows of its nest compete for the same sets of a cache.
    short_rows
        The innermost loop of its nest has few iterations.
    alone
        Lanes run along it, not along loops in it.
    in_place
        It is to run where it stands.
    kept
        Another version of its nest has been proved to be parallel; this one runs where a test of that fails.
    apart
        What is stored in it is apart from all else that is accessed in it by way of other parameters.
    """

    parallel: bool = False
    enabled: bool = False
    width: int = 0
    reorders: bool = False
    proved: bool = False
    in_step: int = 0
    in_grains: bool = False
    rows: bool = False
    streams: bool = False
    short_rows: bool = False
    close_rows: bool = False
    alone: bool = False
    in_place: bool = False
    kept: bool = False
    apart: bool = False

    @property
    def annotated(self) -> bool:
        return self.parallel or self.enabled


def loop_promises(latch: BasicBlock, blocks: tuple[BasicBlock, ...]) -> LoopPromises:
    """Read the metadata of the loop with the latch; `blocks` are all of its."""
    node = latch.terminator.metadata.get("llvm.loop")
    if not isinstance(node, MDTuple):
        return LoopPromises()
    properties = dict(_properties(node))
    groups = properties.get("llvm.loop.parallel_accesses", [])
    width = _number(properties.get("llvm.loop.vectorize.width", []))
    enabled = _number(properties.get("llvm.loop.vectorize.enable", [])) == 1 or width > 1
    if width & (width - 1) or width > MOST_LANES:
        width = 0
    parallel = PARALLEL in properties or (bool(groups) and _all_in(blocks, groups))
    return LoopPromises(
        parallel, enabled, width, reorders=parallel and enabled,
        proved=PROVED in properties, in_step=_number(properties.get(IN_STEP, [])),
        in_grains=IN_GRAINS in properties, rows=ROWS in properties or STREAMS in properties,
        streams=STREAMS in properties, short_rows=SHORT_ROWS in properties,
        close_rows=CLOSE in properties, in_place=IN_PLACE in properties, kept=KEPT in properties,
        apart=APART in properties, alone=ALONE in properties,
    )  # fmt: skip


def _properties(node: MDTuple) -> Iterator[tuple[str, list[Metadata]]]:
    for item in node.items:
        if (
            isinstance(item, MDTuple)
            and item is not node
            and item.items
            and isinstance(item.items[0], MDString)
        ):
            yield item.items[0].text, [i for i in item.items[1:] if i is not None]


def _number(values: list[Metadata]) -> int:
    value = values[0].value if values and isinstance(values[0], MDValue) else None
    return getattr(value, "value", 0)


def _all_in(blocks: tuple[BasicBlock, ...], groups: list[Metadata]) -> bool:
    known = {id(group) for group in groups}
    return all(
        known & _groups_of(instruction)
        for block in blocks
        for instruction in block.instructions
        if (may_read(instruction) or may_write(instruction)) and not _only_says(instruction)
    )


def _groups_of(instruction: Instruction) -> set[int]:
    """An access is in one group (an empty node), or in several (a list of them)."""
    node = instruction.metadata.get("llvm.access.group")
    if not isinstance(node, MDTuple):
        return set()
    return {id(item) for item in node.items} if node.items else {id(node)}


def _only_says(instruction: Instruction) -> bool:
    """Whether a call says something to LLVM, and touches no memory: inlining leaves such calls without a group."""
    return (instruction.callee_name or "").startswith(_SAYINGS)

"""Which registers hold a value that is still needed.

A register is live where a value that may have been written there may still be read: backward liveness, cut down to
what some definition reaches. The second half matters for guarded code: ``@p mov.u32 a, 1`` overwrites `a` only in some
threads, so it does not end the life of the value before; if there is no value before, nothing lives. A register that is
read where nothing can have been written is not live: any register will do for it.

Sets of registers are integers, bit `i` for `registers[i]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.graph.cfg import reachable
from weft.ptx.flow import Flow
from weft.ptx.instructions import Effect, variant_of
from weft.ptx.registers import kills, reads, writes
from weft.ptx.syntax import Instruction


@dataclass(frozen=True, slots=True)
class Access:
    """What an instruction does to registers, as sets: those read, those written, those overwritten for certain."""

    instruction: Instruction
    reads: int
    writes: int
    kills: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """Live registers.

    Attributes
    ----------
    flow
        The body.
    registers
        All that occur, in the order of the text.
    accesses
        For each block, what its instructions do.
    live_in, live_out
        For each block, what is live where it begins and where it ends.
    reached
        For each block, what some way to it writes.
    """

    flow: Flow
    registers: tuple[str, ...]
    accesses: tuple[tuple[Access, ...], ...]
    live_in: tuple[int, ...]
    live_out: tuple[int, ...]
    reached: tuple[int, ...]

    def around(self, block: int) -> list[tuple[int, int]]:
        """For each instruction of a block, what is live right before it and right after it.

        What it writes is live after it even when nobody reads it: it needs a register for that moment.
        """
        accesses = self.accesses[block]
        reached = [self.reached[block]]
        for access in accesses:
            reached.append(reached[-1] | access.writes)
        live = self.live_out[block]
        result: list[tuple[int, int]] = []
        for number in range(len(accesses) - 1, -1, -1):
            access = accesses[number]
            after = live | access.writes
            live = ((live & ~access.kills) | access.reads) & reached[number]
            result.append((live, after))
        result.reverse()
        return result

    def names(self, registers: int) -> list[str]:
        """The registers in a set."""
        return [self.registers[number] for number in members(registers)]


def members(registers: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while registers:
        lowest = registers & -registers
        yield lowest.bit_length() - 1
        registers ^= lowest


def liveness_of(flow: Flow) -> Liveness:
    """The live registers of a function.

    Parameters
    ----------
    flow
        Of a function whose scopes are gone. Parameters that are registers are written before it begins, and its
        results that are registers are read where it returns.

    Raises
    ------
    PtxError
        The table has no such instruction.
    """
    function = flow.function
    given = [parameter.name for parameter in function.parameters if parameter.space == "reg"]
    results = [parameter.name for parameter in function.returns if parameter.space == "reg"]
    numbers: dict[str, int] = {}

    def set_of(names: tuple[str, ...] | list[str]) -> int:
        bits = 0
        for name in names:
            bits |= 1 << numbers.setdefault(name, len(numbers))
        return bits

    written_before, read_behind = set_of(given), set_of(results)
    accesses: list[tuple[Access, ...]] = []
    for block in range(len(flow.blocks)):
        row: list[Access] = []
        for instruction in flow.instructions(block):
            read = set_of(reads(instruction))
            if variant_of(instruction).effects & Effect.ENDS:
                read |= read_behind
            row.append(Access(instruction, read, set_of(writes(instruction)), set_of(kills(instruction))))
        accesses.append(tuple(row))
    reached = _reached(flow, accesses, written_before)
    live_in, live_out = _live(flow, accesses, read_behind)
    starts = tuple(live & there for live, there in zip(live_in, reached, strict=True))
    ends = tuple(
        live & _written(row, there) for live, row, there in zip(live_out, accesses, reached, strict=True)
    )
    return Liveness(flow, tuple(numbers), tuple(accesses), starts, ends, tuple(reached))


def _written(row: tuple[Access, ...], before: int) -> int:
    for access in row:
        before |= access.writes
    return before


def _reached(flow: Flow, accesses: list[tuple[Access, ...]], entry: int) -> list[int]:
    """For each block, the registers that some way to it writes."""
    gains = [_written(row, 0) for row in accesses]
    reached = [0] * len(gains)
    reached[0] = entry
    there = reachable(flow.cfg.succs)
    work = [block for block in range(len(gains) - 1, -1, -1) if there[block]]
    while work:
        block = work.pop()
        behind = reached[block] | gains[block]
        for successor in flow.cfg.succs[block]:
            if behind & ~reached[successor]:
                reached[successor] |= behind
                work.append(successor)
    return reached


def _live(flow: Flow, accesses: list[tuple[Access, ...]], read_behind: int) -> tuple[list[int], list[int]]:
    """For each block, the registers that may be read from its begin on, and from its end on."""
    exposed: list[int] = []
    killed: list[int] = []
    for row in accesses:
        read, kill = 0, 0
        for access in reversed(row):
            read = (read & ~access.kills) | access.reads
            kill |= access.kills
        exposed.append(read)
        killed.append(kill)
    # Falling off the end of the body is a return.
    live_out = [0 if successors else read_behind for successors in flow.cfg.succs]
    live_in = [0] * len(accesses)
    work = list(range(len(accesses)))
    while work:
        block = work.pop()
        live = (live_out[block] & ~killed[block]) | exposed[block]
        if live == live_in[block]:
            continue
        live_in[block] = live
        for predecessor in flow.cfg.preds[block]:
            if live & ~live_out[predecessor]:
                live_out[predecessor] |= live
                work.append(predecessor)
    return live_in, live_out

"""What register allocators are given, and what they decide.

The file has `budget` registers of 32 bits, *words*. A value takes as many of them as it has words, any ones: PTX has no
pairs, ``ptxas`` aligns them when it assigns hardware registers. A value that is *spilled* lives in memory, or is
computed again; it takes words only at the instructions that read or write it, between its reload and the read, and
between the write and its store (*spill everywhere*). Spill code may need more words there, its *scratch*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.diag.errors import PtxError
from weft.ptx.regalloc.liveness import Liveness
from weft.ptx.syntax import Function, Instruction, RegisterDeclaration

Words = tuple[int, ...]
"""Registers of 32 bits by their numbers, ascending."""

Edge = tuple[int, int]
"""From a block to a block."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Words that spill code of a value needs beside those for the value: before a read, and behind a write."""

    reload: int = 0
    store: int = 0


NO_DEMAND = Demand()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be allocated.

    Parameters
    ----------
    liveness
        Of a function whose registers are webs (`weft.ptx.regalloc.webs`).
    words
        The size of each register (`weft.ptx.regalloc.sizes`); those with 0, predicates, are left alone.
    budget
        Words of the file.
    spilled
        Values that are in memory for certain, with what their spill code needs.
    fixed
        Values that must not be spilled.
    """

    liveness: Liveness
    words: Mapping[str, int]
    budget: int
    spilled: Mapping[str, Demand] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Move:
    """On an edge, a value goes from some words to others."""

    register: str
    source: Words
    target: Words


@dataclass(slots=True)
class Allocation:
    """Where every value is.

    Attributes
    ----------
    spilled
        The values that are in memory.
    reads, writes
        For each instruction in the order of the text, the words of each register that it reads and writes.
    scratch
        For each instruction, words that are free for spill code before it and behind it.
    moves
        On edges, moves that happen at once.
    """

    spilled: frozenset[str]
    reads: list[dict[str, Words]]
    writes: list[dict[str, Words]]
    scratch: list[tuple[Words, Words]]
    moves: dict[Edge, tuple[Move, ...]] = field(default_factory=dict)


def unreachable_budget(budget: int, instruction: Instruction, needed: int) -> PtxError:
    """The error for a budget that an instruction exceeds by itself; the caller adds the place."""
    error = PtxError(
        f"'{instruction.name}' needs {needed} registers of 32 bits at once, and there are {budget}",
        hint=f"allow at least {needed} registers",
    )
    error.__dict__["instruction"] = instruction
    return error


def unspillable(function: Function) -> frozenset[str]:
    """Registers that have to stay: vectors, values of 128 bits, and formal parameters."""
    found = {p.name for p in (*function.returns, *function.parameters) if p.space == "reg"}
    for statement in function.body or ():
        if isinstance(statement, RegisterDeclaration) and (statement.vector or statement.type == "b128"):
            found.update(statement.names())
    return frozenset(found)


def scratch_words(spilled: Mapping[str, Demand], names: Sequence[str], *, reload: bool) -> int:
    """The scratch that spill code of several values needs, which follow each other."""
    demands = [spilled.get(name, NO_DEMAND) for name in names]
    return max((d.reload if reload else d.store for d in demands), default=0)

"""Decoded functions: what the interpreter runs, made once from P-LLVM.

Each instruction has become a closure ``compute(frame)`` that reads its operands from the frame's environment,
a list with one slot per value. A step also says how its result enters the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from weft.interp.lanes import LaneValue
from weft.interp.threads.active import ActiveSet

if TYPE_CHECKING:
    from weft.interp.frame import Frame
    from weft.ir.block import BasicBlock
    from weft.ir.constants import Constant
    from weft.ir.function import Function
    from weft.ir.instruction import Instruction

Compute = Callable[[Any], LaneValue | None]
"""A decoded instruction; its argument is a `Frame`."""

Environment = list[Any]
"""Δ: per slot a `LaneValue`, or None before the first assignment. Which kind of value a slot holds follows
from the type of the P-LLVM value, so the semantics of an opcode need not ask."""


class Mode(IntEnum):
    """How a step's result enters the environment.

    A value that only active instructions of the same block use needs no care for passive threads: they
    never see it. All others are assigned as Moll's *updenv* says (§4.6).
    """

    VOID = 0
    """No result."""
    LOCAL = 1
    """Used by active instructions of its block only."""
    MERGE = 2
    """Passive threads keep the old value (FR) or get ⊤ (OBL)."""
    TOTAL = 3
    """Executed for, and assigned on, all threads."""


class Step(NamedTuple):
    """One instruction that is neither φ nor terminator.

    Parameters
    ----------
    compute
        Gives its value.
    slot
        Where that goes in the frame.
    mode
        For which threads.
    instruction
        The instruction.
    guard
        Slot of the guard, -1 without one.
    """

    compute: Compute
    slot: int
    mode: Mode
    instruction: Instruction
    guard: int


class Phi(NamedTuple):
    """A φ.

    Parameters
    ----------
    slot
        Where its value goes in the frame.
    sources
        The slot of each incoming value, by the number of the block.
    shadow
        The slot of its shadow, -1 without one.
    mode
        For which threads it is assigned.
    instruction
        The φ.
    """

    slot: int
    sources: dict[int, int]
    shadow: int
    mode: Mode
    instruction: Instruction


EdgeKey = tuple[int, int]
"""Where threads wait: the slot of the compact block index, and the block."""

Edges = list[tuple[int, ActiveSet]]
"""Threads waiting to enter a block, by the number of the block they come from (-1: the caller)."""


class BlockCode(Struct):
    """A block: φs, steps that run before its predicate is known, steps in segments, terminator.

    Segments end at barriers, where threads may have to wait in the middle of the block.

    Parameters
    ----------
    block, number
        The block, and its number in the function.
    phis, before_predicate, segments
        The instructions, in the order in which they run.
    predicate
        Slot of the block's predicate, -1 without one.
    barriers
        The barriers between segments.
    terminate
        Runs the terminator.
    edges
        The waiting place behind each successor, by its number.
    needs_present
        Whether something in the block is assigned on passive threads under either semantics.
    per_thread
        In an irreducible loop each thread runs on its own.
    is_header
        Whether a loop begins here.
    nearest_exit
        The successor closest to a return, which threads take that accept any.
    """

    block: BasicBlock
    number: int
    phis: list[Phi] = field(default_factory=list)
    before_predicate: list[Step] = field(default_factory=list)
    predicate: int = -1
    segments: list[list[Step]] = field(default_factory=list)
    barriers: list[Step] = field(default_factory=list)
    terminate: Callable[[Frame, BlockCode], None] | None = None
    edges: dict[int, EdgeKey] = field(default_factory=dict)
    needs_present: bool = False
    per_thread: bool = False
    is_header: bool = False
    nearest_exit: int = -1


class Code(Struct):
    """A decoded function."""

    function: Function
    blocks: list[BlockCode]
    slots: int
    arguments: list[int]
    constants: list[tuple[int, Constant]]
    latch_keys: frozenset[EdgeKey]

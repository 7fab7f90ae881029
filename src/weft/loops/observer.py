"""A hook of the interpreter that follows the loops of a run: iterations, and bytes that several of them touch.

The interpreter tells blocks and accesses, not calls and returns. A function begins with its entry block; it has ended
when a block of a caller is told, or when another function begins behind a block that returns and calls nothing. That is
exact but for recursive functions, whose calls are taken for one after the other.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.interp.machine import Machine
from weft.interp.threads.active import ActiveSet
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of

MAX_ACCESSES = 400_000
"""Of so many accesses bytes are compared; the rest is counted only."""

MAX_COUNTS = 8
"""Different numbers of iterations that are kept of a loop."""

Pair = tuple[str, Instruction, Instruction]
_Last = tuple[int, Instruction]


class LoopRecord(Struct):
    """All runs of a loop.

    Parameters
    ----------
    runs, iterations, least, most
        How often it was entered, and iterations: in all, of the shortest and of the longest run.
    instructions
        Instructions executed in it.
    pairs
        Accesses that met in different iterations: the least and greatest distance, and how often.
    counts
        The numbers of iterations that were seen; None if they are too many.
    """

    runs: int = 0
    iterations: int = 0
    least: int = 0
    most: int = 0
    instructions: int = 0
    pairs: dict[Pair, list[int]] = field(default_factory=dict)
    counts: set[int] | None = field(default_factory=set)

    def add(self, iterations: int) -> None:
        """Note the end of a run."""
        self.least = min(self.least, iterations) if self.runs else iterations
        self.most = max(self.most, iterations)
        self.runs += 1
        self.iterations += iterations
        if self.counts is not None:
            self.counts.add(iterations)
            if len(self.counts) > MAX_COUNTS:
                self.counts = None


class _Run(Struct):
    """One run of a loop that is under way."""

    loop: Loop
    record: LoopRecord
    is_tested_first: bool
    iteration: int = 0
    written: dict[int, _Last] = field(default_factory=dict)
    read: dict[int, _Last] = field(default_factory=dict)


class _Frame(Struct):
    """A call of a function that is under way."""

    function: Function
    view: CFGView
    forest: LoopForest
    runs: list[_Run] = field(default_factory=list)
    latest: BasicBlock | None = None


class LoopObserver:
    """Follows the loops of all functions of a module, with one thread.

    Attributes
    ----------
    records
        By function and the number of the loop's header.
    instructions
        Instructions executed.
    accesses
        Accesses so far.
    """

    def __init__(self) -> None:
        self.records: dict[tuple[str, int], LoopRecord] = {}
        self.instructions = 0
        self.accesses = 0
        self._frames: list[_Frame] = []
        self._known: dict[Function, tuple[CFGView, LoopForest]] = {}

    @property
    def is_complete(self) -> bool:
        """Whether the bytes of all accesses were compared."""
        return self.accesses <= MAX_ACCESSES

    def finish(self) -> None:
        """The program has ended."""
        while self._frames:
            self._leave()

    def on_block(self, machine: Machine, block: BasicBlock, active: ActiveSet) -> None:
        """Control comes to a block."""
        function = block.function
        assert function is not None
        if block is function.entry:
            self._return_from(function)
            view, forest = self._structure(function)
            self._frames.append(_Frame(function, view, forest))
        else:
            self._return_to(function)
        frame = self._frames[-1]
        frame.latest = block
        self._move(frame, frame.view.index[block])
        size = len(block.instructions)
        self.instructions += size
        for one in self._frames:
            for run in one.runs:
                run.record.instructions += size

    def on_access(
        self,
        machine: Machine,
        instruction: Instruction,
        addresses: np.ndarray,
        mask: np.ndarray,
        kind: str,
        size: int,
    ) -> None:
        """The thread accesses memory."""
        self.accesses += 1
        if self.accesses > MAX_ACCESSES:
            return
        if instruction.block is not None and instruction.block.function is not None:
            self._return_to(instruction.block.function)
        first = int(np.broadcast_to(addresses, (1,))[0])
        for frame in self._frames:
            for run in frame.runs:
                _compare(run, instruction, range(first, first + size), kind)

    def _structure(self, function: Function) -> tuple[CFGView, LoopForest]:
        known = self._known.get(function)
        if known is None:
            view = cfg_of(function)
            known = self._known[function] = view, loop_forest(view.cfg)
        return known

    def _return_to(self, function: Function) -> None:
        while self._frames and self._frames[-1].function is not function:
            self._leave()

    def _return_from(self, callee: Function) -> None:
        """A function begins: those that are not its caller have ended."""
        while self._frames:
            block = self._frames[-1].latest
            if block is not None and _calls(block, callee):
                return
            self._leave()

    def _leave(self) -> None:
        frame = self._frames.pop()
        while frame.runs:
            _end(frame.runs.pop())

    def _move(self, frame: _Frame, number: int) -> None:
        while frame.runs and number not in frame.runs[-1].loop.blocks:
            _end(frame.runs.pop())
        loop = frame.forest.headed_by[number]
        if loop is None:
            return
        if frame.runs and frame.runs[-1].loop is loop:
            frame.runs[-1].iteration += 1
            return
        record = self.records.setdefault((frame.function.name, number), LoopRecord())
        first = loop.exit_edges and loop.exit_edges[0][0] == loop.header and loop.latches != (loop.header,)
        frame.runs.append(_Run(loop, record, bool(first)))


def _calls(block: BasicBlock, callee: Function) -> bool:
    """Whether a block may call a function."""
    return any(i.op == "call" and (i.callee is callee or i.callee_name is None) for i in block.instructions)


def _end(run: _Run) -> None:
    run.record.add(run.iteration if run.is_tested_first else run.iteration + 1)


def _compare(run: _Run, instruction: Instruction, bytes: range, kind: str) -> None:
    """Note which earlier iterations touched the same bytes."""
    here = (run.iteration, instruction)
    met: dict[Pair, int] = {}
    for byte in bytes:
        written = run.written.get(byte)
        if kind == "load":
            if written is not None and written[0] != run.iteration:
                met["flow", written[1], instruction] = run.iteration - written[0]
            run.read[byte] = here
            continue
        if written is not None and written[0] != run.iteration:
            met["output", written[1], instruction] = run.iteration - written[0]
        read = run.read.get(byte)
        if read is not None and read[0] != run.iteration:
            met["anti", read[1], instruction] = run.iteration - read[0]
        run.written[byte] = here
        if kind == "atomic":
            run.read[byte] = here
    for pair, distance in met.items():
        known = run.record.pairs.setdefault(pair, [distance, distance, 0])
        known[0], known[1], known[2] = min(known[0], distance), max(known[1], distance), known[2] + 1

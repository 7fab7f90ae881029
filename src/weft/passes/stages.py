"""The programs between the passes, kept so that `weft.check` can run and compare them.

A `StageLog` is a watcher of the runner: it verifies and keeps, and steers nothing. How a program is to be run is what
the unit says of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol
from zlib import crc32

from msgspec import Struct, field

from weft.ir import Function, Module
from weft.ir.verifier import verify_structure, verify_within
from weft.ir.writer.repeated import RepeatedWriter
from weft.options import check_step, checking
from weft.passes.declared import Pass
from weft.passes.runner import Runner, Watcher
from weft.transform.groups.merge_groups import GroupMerge

VERIFIED = 3
"""Of so many programs one is verified where not all of them are run; LLVM verifies the last one in any case."""


class Form(Enum):
    """How a function is to be run."""

    GRID = "grid"
    """For each thread of a launch; ids, sizes and shared memory are intrinsics."""
    THREADS = "threads"
    """For each thread; ids, sizes and shared memory are parameters (`weft.transform.groups.work_items`)."""
    LANES = "lanes"
    """Once for each lane group, as SIMD code; parameters as before, ``tid.x`` that of lane 0."""
    ENTRY = "entry"
    """As the runtime does: with a launch record and a range of groups (`weft.codegen.work_groups.groups`)."""
    CALL = "call"
    """Once, with the arguments of a call; what are lanes in it is its own business."""
    SLOTS = "slots"
    """Once, with the address of 8-byte slots, and where results go (`weft.codegen.slots`)."""


class Runnable(Struct, frozen=True):
    """A function of a stage's program that stands for the kernel.

    Parameters
    ----------
    function
        Its name.
    form
        How it is run.
    oblivious
        Whether its meaning is the same when passive threads get ⊤ (OBL; Moll, §3.6).
    """

    function: str
    form: Form
    oblivious: bool = False


class Rows(Struct, frozen=True):
    """How lane groups are cut out of rows of threads (`weft.codegen.order.rows`).

    Parameters
    ----------
    dimension
        Along which the threads of a lane group are neighbours, 0 for x.
    merge
        Which work-groups rows go on beyond; None for none.
    bounds
        The function that says which threads of a row run; None where all do.
    steps
        The function that says by how much rows of a walk of the grid are moved, and where it ends; None where rows
        are run once.
    across
        Another dimension along which groups are merged, too, for bands of rows, and which; None for none.
    anywhere
        Whether lane groups begin with the row, and not at multiples of their width.
    """

    dimension: int
    merge: GroupMerge | None
    bounds: str | None
    steps: str | None = None
    across: tuple[int, GroupMerge] | None = None
    anywhere: bool = False

    @property
    def order(self) -> tuple[int, int, int]:
        """The dimensions, that of the rows first."""
        first, *others = sorted(range(3), key=lambda d: d != self.dimension)
        return first, others[0], others[1]


class Stage(Struct, frozen=True):
    """The program after a pass.

    Parameters
    ----------
    name
        The pass.
    text
        The module, as `read_module` reads it back.
    full
        The kernel, for lane groups all of whose threads exist.
    changed
        Name of the function that the pass worked on.
    partial
        The kernel with a parameter more, the number of threads, for the other lane groups; None when `full`
        serves them too.
    width
        Threads of a lane group, consecutive along x; 0 where lanes do not matter yet.
    linear
        Whether they are threads of consecutive linear numbers instead, of which `partial` takes that of the first as
        ``tid.x`` (`weft.transform.groups.linear_ids`).
    rows
        How lane groups are cut out of rows, where they are; `partial` then has two parameters more, the first lane
        that runs and how many do.
    box
        How many threads of a lane group are neighbours along x, y and z, where they are so along several dimensions
        (`weft.codegen.order.boxes`); `partial` then has a parameter more, a bit for each lane that runs.
    axes
        What the numbers of `box` are along, where it is not x, y and z in this order.
    bounds
        The function that says which threads of a row `full` serves, where lane groups of consecutive numbers have no
        guards there; None where it serves all.
    oblivious
        Lane functions whose meaning is the same when passive threads get ⊤.
    reorders
        Whether sums or products of floats are formed in another order than in the source.
    has_lanes
        Whether loops run in lanes.
    """

    name: str
    text: str
    full: Runnable
    changed: str
    partial: Runnable | None = None
    width: int = 0
    linear: bool = False
    rows: Rows | None = None
    box: tuple[int, ...] | None = None
    axes: tuple[int, ...] = ()
    bounds: str | None = None
    oblivious: frozenset[str] = frozenset()
    reorders: bool = False
    has_lanes: bool = False

    @property
    def roots(self) -> list[str]:
        """The functions that are called to run it."""
        called = [self.full.function]
        if self.partial is not None:
            called.append(self.partial.function)
        if self.rows is not None:
            called += [name for name in (self.rows.bounds, self.rows.steps) if name is not None]
        if self.bounds is not None:
            called.append(self.bounds)
        return called


class Staged(Protocol):
    """A unit that says how its program is run."""

    @property
    def module(self) -> Module:
        """The program."""
        ...

    def stage(self, name: str, text: str) -> Stage | None:
        """How the program behind the pass `name` is run; None if it is none that can be run."""
        ...


class StageLog(Struct):
    """Verifies and keeps the program after each pass on a unit.

    Parameters
    ----------
    unit
        Says how its program is run. The passes that the log is told of may be on parts of it.
    every
        Of how many programs one is verified, other ones for each first program, which is verified itself.
    stages
        What has been kept.
    """

    unit: Staged
    every: int = 1
    stages: list[Stage] = field(default_factory=list)
    _writer: RepeatedWriter = field(default_factory=RepeatedWriter)
    _right: dict[Function, str] = field(default_factory=dict)
    _until: int = 0

    def __call__(self, done: Pass[Any], unit: Any) -> None:
        """Keep the program.

        Raises
        ------
        VerifyError
            It is not a valid program.
        """
        self.keep(done.name)

    def keep(self, name: str) -> None:
        """Verify, where that is due, and keep the program as it is behind `name`."""
        module = self.unit.module
        if self._until:
            self._until -= 1
            text = self._writer.write(module)
        else:
            self._until = self.every - 1
            text = self._verified(module)
        stage = self.unit.stage(name, text)
        if stage is not None:
            self.stages.append(stage)

    def _verified(self, module: Module) -> str:
        """The module's text; of functions, those that have changed are looked at within."""
        verify_structure(module)
        text = self._writer.write(module)
        before, now = self._right, self._writer.texts
        verify_within(f for f in module.definitions() if now[f] != before.get(f))
        self._right = now
        if not before:
            self._until = crc32(text.encode()) % self.every
        return text


def log_of(unit: Staged, runner: Runner, *, check: bool | None = None) -> StageLog:
    """The log of a unit as the front end made it, which the runner tells of passes where programs are to be checked.

    Parameters
    ----------
    check
        Whether they are; by default as ``WEFT_CHECK`` says. Otherwise the log stays empty.
    """
    log = StageLog(unit, VERIFIED if check_step() > 1 else 1)
    if checking() if check is None else check:
        runner.watchers = (log, *runner.watchers)
        log.keep("front end")
    return log


def heard_through(runner: Runner, make: Callable[[StageLog], Watcher]) -> Runner:
    """The runner for passes on a part of a unit, of which its log hears through what `make` puts before it."""
    return runner.watched_by(*(make(w) if isinstance(w, StageLog) else w for w in runner.watchers))

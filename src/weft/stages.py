"""The programs between the passes of the pipeline, kept so that `weft.check` can run and compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from weft.ir import Module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.merge_groups import GroupMerge


class Form(Enum):
    """How a function is to be run."""

    GRID = "grid"
    """For each thread of a launch; ids, sizes and shared memory are intrinsics."""
    THREADS = "threads"
    """For each thread; ids, sizes and shared memory are parameters (`weft.transform.work_items`)."""
    LANES = "lanes"
    """Once for each lane group, as SIMD code; parameters as before, ``tid.x`` that of lane 0."""
    ENTRY = "entry"
    """As the runtime does: with a launch record and a range of groups (`weft.codegen.groups`)."""


@dataclass(frozen=True, slots=True)
class Version:
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


@dataclass(frozen=True, slots=True)
class Rows:
    """How lane groups are cut out of rows of threads (`weft.codegen.rows`).

    Parameters
    ----------
    dimension
        Along which the threads of a lane group are neighbours, 0 for x.
    merge
        Which work-groups rows go on beyond; None for none.
    bounds
        The function that says which threads of a row run; None where all do.
    """

    dimension: int
    merge: GroupMerge | None
    bounds: str | None

    @property
    def order(self) -> tuple[int, int, int]:
        """The dimensions, that of the rows first."""
        first, *others = sorted(range(3), key=lambda d: d != self.dimension)
        return first, others[0], others[1]


@dataclass(frozen=True, slots=True)
class Stage:
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
        ``tid.x`` (`weft.transform.linear_ids`).
    rows
        How lane groups are cut out of rows, where they are; `partial` then has two parameters more, the first lane
        that runs and how many do.
    box
        How many threads of a lane group are neighbours along x, y and z, where they are so along several dimensions
        (`weft.codegen.boxes`); `partial` then has a parameter more, a bit for each lane that runs.
    """

    name: str
    text: str
    full: Version
    changed: str
    partial: Version | None = None
    width: int = 0
    linear: bool = False
    rows: Rows | None = None
    box: tuple[int, ...] | None = None


@dataclass(slots=True)
class StageLog:
    """Verifies and keeps the program after each pass; does nothing unless `active`.

    `linear`, `rows` and `box` say of which threads lane groups are (`Stage`).
    """

    active: bool
    stages: list[Stage] = field(default_factory=list)
    linear: bool = False
    rows: Rows | None = None
    box: tuple[int, ...] | None = None

    def add(self, name: str, module: Module, kernel: Version, width: int = 0) -> None:
        """Note that the pass `name` has produced `module`, in which `kernel` runs all threads.

        Raises
        ------
        VerifyError
            It is not a valid program.
        """
        if self.active:
            verify(module)
            text = write_module(module)
            stage = Stage(name, text, kernel, kernel.function, None, width, self.linear)
            self.stages.append(replace(stage, box=self.box if width else None))

    def add_lanes(
        self, name: str, module: Module, versions: Sequence[Version], changed: int, width: int
    ) -> None:
        """Note that a pass worked on one of the `versions`, for whole and, if there are two, for partial lane groups.

        Raises
        ------
        VerifyError
            It is not a valid program.
        """
        if self.active:
            verify(module)
            full, partial = versions[0], versions[1] if len(versions) > 1 else None
            if changed:
                name += " (partial lane groups)"
            function = versions[changed].function
            text = write_module(module)
            self.stages.append(
                Stage(name, text, full, function, partial, width, self.linear, self.rows, self.box)
            )

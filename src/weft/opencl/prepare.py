"""A program from source to machine code: what the Python door and the driver share.

`build` compiles a source and says what its kernels are. `Built.prepare` gives code for launches of one kind, which is
called with a launch record (`weft.codegen.launch_record`): ``i32 entry(record, begin, end, worker)`` runs work-groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.codegen.arena import ArenaNeeds
from weft.frontend.opencl.metadata import KernelInfo


@dataclass(frozen=True, slots=True)
class LaunchKind:
    """Which launches of a kernel code is for.

    Parameters
    ----------
    local_size
        Work-items of a work-group along x, y and z.
    large
        Whether a buffer has 2 GiB or more.
    placed
        Whether ids do not begin at 0, or the launch is a part of a larger one whose work-groups are not all alike. The
        slots of `HIDDEN_SLOTS` are behind those of the arguments then.
    """

    local_size: tuple[int, int, int]
    large: bool = False
    placed: bool = False


HIDDEN_SLOTS = (
    *(f"global.offset.{d}" for d in "xyz"),
    *(f"global.size.{d}" for d in "xyz"),
    *(f"num.groups.{d}" for d in "xyz"),
    *(f"enqueued.size.{d}" for d in "xyz"),
    *(f"first.group.{d}" for d in "xyz"),
    *(f"first.id.{d}" for d in "xyz"),
)
"""i64 slots of launches that are placed, behind ``work.dim`` (i64), which every kernel has: what the whole launch was
asked for, which of its groups is the first one here, and the id of that group's first work-item (offset included)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Code for launches of one kind.

    Parameters
    ----------
    address
        Of the entry point; 0 where code has not been loaded.
    arena
        Scratch memory that each worker needs: ``arena.bytes(local_size, dynamic_local_bytes)``.
    chunk
        Work-groups are handed out in multiples of so many.
    barrier_lines
        The source line of each barrier, numbered from 1, for what a launch returns in its error record.
    """

    address: int
    arena: ArenaNeeds
    chunk: int
    barrier_lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A program that was built.

    Parameters
    ----------
    log
        clang's diagnostics.
    kernels
        By name.
    scope_bytes
        Bytes of program-scope variables, which a launch gets through the slot behind the arguments.
    """

    log: str
    kernels: dict[str, KernelInfo]
    scope_bytes: int

"""Launches of the driver on the checking interpreter: what hosts get under ``WEFT_OPENCL_DEBUG=1``."""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from weft.device.debug import interpreted
from weft.diag.errors import SanitizerError, WeftError
from weft.interp import Memory
from weft.interp.sanitizer.sanitizer import check_launch
from weft.ir.intrinsics import asks_for_lanes
from weft.opencl.compiled import KernelOrigin
from weft.opencl.source import ProgramSource

CLEAN, FOUND, NOT_CHECKED = range(3)
"""How a launch went: nothing is wrong with it, something is, the interpreter cannot run it."""


class Region(Struct, frozen=True):
    """Memory of the host that a launch may use.

    Parameters
    ----------
    address, name
        Where it is there, and what messages call it.
    data
        Its bytes.
    """

    address: int
    name: str
    data: bytes

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + len(self.data)


class HostLaunch(Struct, frozen=True):
    """A part of a launch, as the driver would run it.

    Parameters
    ----------
    kernel, placed
        The kernel, and for which launches (`weft.opencl.prepare.LaunchKind`).
    grid, block
        Work-groups, and work-items of one.
    dynamic_bytes
        Local memory among the arguments.
    slots
        The launch's slots (`weft.opencl.prepare`).
    regions
        All that pointers may lead to; regions may overlap.
    """

    kernel: str
    placed: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_bytes: int
    slots: bytes
    regions: Sequence[Region]


def run_checked(source: ProgramSource, host: HostLaunch) -> tuple[int, str, str, list[bytes]]:
    """Run a launch under the sanitizer; the host's memory has the same addresses here.

    Returns
    -------
    How it went, the message, what the kernel has printed, and what is in each region now.
    """
    origin = KernelOrigin(source, source.kernel(host.kernel), host.placed)
    memory, pieces = Memory(), _pieces(host.regions)
    for address, (name, data) in pieces.items():
        memory.place(address, data, name)
    status, message, printed = CLEAN, "", io.StringIO()
    try:
        program = interpreted(origin)
        formats = "@" + origin.packer().formats
        slots = struct.unpack(formats, host.slots[: struct.calcsize(formats)])
        width = origin.info.sub_group_size if asks_for_lanes(program.module) else None
        with contextlib.redirect_stdout(printed):
            check_launch(
                program, host.kernel, slots, host.grid, host.block, memory=memory,
                dynamic_shared=host.dynamic_bytes, width=width,
            )  # fmt: skip
    except SanitizerError as error:
        status, message = FOUND, str(error)
    except WeftError as error:
        status, message = NOT_CHECKED, str(error)
    return status, message, printed.getvalue(), [_bytes_of(region, pieces) for region in host.regions]


def _pieces(regions: Iterable[Region]) -> dict[int, tuple[str, np.ndarray]]:
    """Regions by address; those that overlap have become one."""
    pieces: dict[int, tuple[str, np.ndarray]] = {}
    last = 0
    for region in sorted(regions, key=lambda r: r.address):
        if not region.data:
            continue
        data = np.frombuffer(region.data, np.uint8).copy()
        if pieces and region.address < last + pieces[last][1].size:
            name, before = pieces[last]
            rest = data[last + before.size - region.address :]
            pieces[last] = (name, np.concatenate((before, rest)))
        else:
            last = region.address
            pieces[last] = (region.name, data)
    return pieces


def _bytes_of(region: Region, pieces: dict[int, tuple[str, np.ndarray]]) -> bytes:
    start = max((a for a in pieces if a <= region.address), default=0)
    data = pieces[start][1] if region.data else np.empty(0, np.uint8)
    return data[region.address - start : region.end - start].tobytes()

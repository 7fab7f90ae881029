"""Shapes of launches: global size, work-group size and offset, and the parts that a launch is run in.

Where the global size is no multiple of the work-group size, the last work-groups along a dimension are smaller
(OpenCL 2.0 and later). Such a launch is run in parts, each of which has work-groups of one shape.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from math import prod
from typing import SupportsIndex

from msgspec import Struct

from weft.diag.errors import LaunchError
from weft.frontend.device.metadata import KernelInfo
from weft.frontend.opencl.features import LOCAL_MEMORY_BYTES, MAX_GROUP
from weft.frontend.opencl.options import BuildOptions
from weft.ir.intrinsics import SMALL_GRID
from weft.runtime.shape import LaunchShape

Three = tuple[int, int, int]
Extents = SupportsIndex | Sequence[SupportsIndex]

_MOST_IDS = 1 << 62
_MOST_GROUPS = (1 << 31) - 1
_SHORT_ROW, _GOOD_GROUP = 32, 256


class Part(Struct, frozen=True):
    """Work-groups of one shape, of a launch.

    Parameters
    ----------
    shape
        Groups, work-items of each, and local memory among the arguments.
    first_group
        Where they begin among all groups of the launch.
    """

    shape: LaunchShape
    first_group: Three


class NDRange(Struct, frozen=True):
    """A launch, checked.

    Parameters
    ----------
    dimensions
        How many were given.
    size, local, offset
        Work-items, work-items of a work-group but for the last ones, and the first id, along x, y and z.
    """

    dimensions: int
    size: Three
    local: Three
    offset: Three

    @property
    def groups(self) -> Three:
        """Work-groups along x, y and z."""
        x, y, z = (-(-n // m) for n, m in zip(self.size, self.local, strict=True))
        return x, y, z

    @property
    def is_plain(self) -> bool:
        """Whether ids begin at 0 and all work-groups are alike."""
        return not any(self.offset) and not any(n % m for n, m in zip(self.size, self.local, strict=True))

    @property
    def is_large(self) -> bool:
        """Whether ids are larger than code for most launches takes them to be."""
        return any(n + o > SMALL_GRID for n, o in zip(self.size, self.offset, strict=True))

    def parts(self, local_bytes: int) -> Iterator[Part]:
        """What is launched, with so much local memory among the arguments."""
        along = [_runs(n, m) for n, m in zip(self.size, self.local, strict=True)]
        for x, y, z in itertools.product(*along):
            shape = LaunchShape((x[1], y[1], z[1]), (x[2], y[2], z[2]), local_bytes)
            yield Part(shape, (x[0], y[0], z[0]))

    def placement(self, part: Part) -> list[int]:
        """The values of `weft.frontend.device.work_items.HIDDEN` for a part."""
        ids = [o + g * m for o, g, m in zip(self.offset, part.first_group, self.local, strict=True)]
        return [*self.offset, *self.size, *self.groups, *self.local, *part.first_group, *ids]


def _runs(size: int, local: int) -> list[tuple[int, int, int]]:
    """First group, number of groups and size of each, along a dimension."""
    whole, rest = divmod(size, local)
    runs = [(0, whole, local)] if whole else []
    return [*runs, (whole, 1, rest)] if rest else runs


def nd_range(
    kernel: KernelInfo,
    options: BuildOptions,
    global_size: Extents,
    local_size: Extents | None,
    global_offset: Extents | None,
) -> NDRange:
    """Return the launch that a user asks for.

    Raises
    ------
    LaunchError
        A size is no positive integer, too large, not what the kernel requires, or no multiple where the standard
        demands it.
    """
    size = _integers("global size", global_size)
    if any(n < 1 for n in size) and not (options.version >= 300 and all(n >= 0 for n in size)):
        raise LaunchError(f"the global size is {size}", hint="each extent has to be positive")
    dimensions = len(size)
    offset = _integers("global offset", global_offset) if global_offset is not None else (0,) * dimensions
    if len(offset) != dimensions or any(n < 0 for n in offset):
        raise LaunchError(
            f"the global offset is {offset}, and the global size {size}", hint="give as many, from 0 on"
        )
    if any(n + o >= _MOST_IDS for n, o in zip(size, offset, strict=True)):
        raise LaunchError(f"a global size of {size} at {offset} is too large", hint="launch parts of it")
    local = _local_size(kernel, options, size, local_size)
    found = NDRange(dimensions, _three(size, 1), _three(local, 1), _three(offset, 0))
    if any(n > _MOST_GROUPS for n in found.groups) or prod(found.groups) >= _MOST_IDS:
        raise LaunchError(
            f"{found.groups} work-groups are too many", hint="make work-groups larger, or launch parts"
        )
    return found


def require_local_memory(kernel: KernelInfo, local_bytes: int) -> None:
    """See that there is room for a kernel's local memory.

    Raises
    ------
    LaunchError
        There is not.
    """
    wanted = kernel.local_bytes + local_bytes
    if wanted > LOCAL_MEMORY_BYTES:
        raise LaunchError(
            f"{kernel.name} needs {wanted} bytes of local memory",
            hint=f"a work-group may have {LOCAL_MEMORY_BYTES}",
        )


def _local_size(
    kernel: KernelInfo, options: BuildOptions, size: tuple[int, ...], given: Extents | None
) -> tuple[int, ...]:
    required = kernel.required_size
    uniform = options.version < 200 or "-cl-uniform-work-group-size" in options.clang
    if given is None:
        local = required[: len(size)] if required is not None else good_size(size, uniform)
    else:
        local = _integers("work-group size", given)
    if len(local) != len(size) or any(n < 1 for n in local):
        raise LaunchError(
            f"the work-group size is {local}, and the global size {size}",
            hint="give as many positive extents",
        )
    if required is not None and _three(local, 1) != required:
        raise LaunchError(
            f"{kernel.name} requires work-groups of {required}, not {local}",
            hint="leave the work-group size out",
        )
    if prod(local) > MAX_GROUP:
        raise LaunchError(
            f"a work-group of {local} has {prod(local)} work-items", hint=f"it may have {MAX_GROUP}"
        )
    if uniform and any(n % m for n, m in zip(size, local, strict=True)):
        raise LaunchError(
            f"the global size {size} is no multiple of the work-group size {local}",
            hint="OpenCL C 1.2 demands that; build with -cl-std=CL3.0, or choose another size",
        )
    return tuple(local)


def good_size(size: tuple[int, ...], uniform: bool) -> tuple[int, ...]:
    """A work-group size for who asks for none: rows as long as may be, in all up to 256 work-items.

    The driver chooses the same (``choose_local`` in ``driver/launch.c``).

    Parameters
    ----------
    size
        The global size.
    uniform
        Whether all work-groups have to be alike.
    """
    local: list[int] = []
    room = _GOOD_GROUP
    for number, extent in enumerate(size):
        best = max((d for d in range(1, min(extent, room) + 1) if extent % d == 0), default=1)
        # Better a last group that is smaller than many small ones.
        if number == 0 and not uniform and best < _SHORT_ROW and extent > room:
            best = room
        local.append(best)
        room //= best
    return tuple(local)


def _three(values: tuple[int, ...], fill: int) -> Three:
    x, y, z = (*values, fill, fill)[:3]
    return x, y, z


def _integers(what: str, value: Extents) -> tuple[int, ...]:
    items = tuple(value) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(items) <= 3:
        raise LaunchError(
            f"a {what} has 1 to 3 dimensions, not {len(items)}", hint="write x, (x, y) or (x, y, z)"
        )
    try:
        if any(isinstance(item, bool) for item in items):
            raise TypeError
        return tuple(operator.index(item) for item in items)
    except TypeError:
        raise LaunchError(f"the {what} is {value!r}", hint="it is made of integers") from None

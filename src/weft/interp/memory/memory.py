"""Memory of the interpreted program: objects with addresses, bytes, and the state of each byte.

Arrays of the user keep their real addresses, so that pointers stored in memory stay meaningful; objects of
the program itself (globals, stack and shared objects) get addresses from a range of their own that is never
used twice, so a dangling pointer is always found out.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right

import numpy as np
from msgspec import Struct, field

Array = np.ndarray

FIRST_OWN_ADDRESS = 1 << 56
"""Above every address of the process."""

_GAP = 64


class MemoryObject(Struct, eq=False):
    """A contiguous run of addresses.

    An object of each thread (an alloca) or of each work-group (shared memory) is one `MemoryObject` of
    `stride`-spaced parts, of which only the first `part_size` bytes may be accessed.

    Parameters
    ----------
    base
        The first address.
    data
        The bytes.
    name
        For messages: ``array 'x'``, ``local variable``.
    state
        Per byte the flags of `weft.interp.lanes` (uninitialized, poison); None while all are well defined.
    stride, part_size
        The layout of the parts; a stride of 0 means that there is one part.
    writable
        Whether it may be written.
    is_private
        Whether each part belongs to one thread.
    is_of_lane_groups
        Whether the threads of a lane group write the same there, and count as one (`SPILL_SLOTS`).
    """

    base: int
    data: Array
    name: str
    state: Array | None = None
    stride: int = 0
    part_size: int = 0
    writable: bool = True
    is_private: bool = False
    is_of_lane_groups: bool = False
    _views: dict[np.dtype, Array] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.base + self.data.size

    def view(self, dtype: np.dtype) -> Array:
        """The bytes as elements of `dtype`, as many whole ones as there are."""
        found = self._views.get(dtype)
        if found is None:
            whole = self.data.size - self.data.size % dtype.itemsize
            found = self._views[dtype] = self.data[:whole].view(dtype)
        return found

    def state_bytes(self) -> Array:
        """The state, made when there is none yet."""
        if self.state is None:
            self.state = np.zeros(self.data.size, np.uint8)
        return self.state

    def inside_part(self, offsets: Array, size: int) -> Array | None:
        """Per access, whether it stays inside one part; None when all do."""
        if not self.stride:
            return None
        if offsets.size == 1:
            is_inside = int(offsets[0]) % self.stride + size <= self.part_size
            return None if is_inside else np.zeros(1, np.bool_)
        inside = offsets % np.uint64(self.stride) + np.uint64(size) <= np.uint64(self.part_size)
        return None if np.count_nonzero(inside) == inside.size else inside


class HeapFrame(Struct):
    """What a function that allocates has of its own (`weft.ir.heap`): its blocks, the oldest first, and its error."""

    blocks: list[MemoryObject] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    error: int = 0


class Memory:
    """The address space of one launch, or of several that share globals.

    `changes` counts changes of memory, by which the interpreter finds endless waiting; while `compares_stores`
    is set, a store of what is there already does not count.
    """

    __slots__ = (
        "_bases",
        "_kept",
        "_next",
        "_objects",
        "_starts",
        "changes",
        "compares_stores",
        "heap_frames",
    )

    def __init__(self) -> None:
        self._objects: list[MemoryObject] = []
        self._bases: list[int] = []
        self._starts: Array | None = None
        self._next = FIRST_OWN_ADDRESS
        self._kept: list[Array] = []
        self.changes = 0
        self.compares_stores = False
        self.heap_frames: dict[int, HeapFrame] = {}

    def map_array(self, array: Array, name: str = "array") -> int:
        """Make an array of the caller accessible at its real address, which is returned.

        Arrays that overlap become one object, the union of their extents.
        """
        low, high = np.lib.array_utils.byte_bounds(array)
        address = array.__array_interface__["data"][0]
        if low == high:
            return address
        self._kept.append(array)
        writable = bool(array.flags.writeable)
        for other in self.overlapping(low, high):
            low, high = min(low, other.base), max(high, other.end)
            writable = writable or other.writable
            name = other.name
            self.remove(other)
        raw = (ctypes.c_uint8 * (high - low)).from_address(low)
        self._insert(MemoryObject(low, np.ctypeslib.as_array(raw), name, writable=writable))
        return address

    def allocate(
        self,
        size: int,
        name: str,
        *,
        align: int = 16,
        parts: int = 0,
        initialized: bool = False,
        is_private: bool = False,
    ) -> MemoryObject:
        """A new object of `size` zero bytes, or of `parts` such parts."""
        align = max(align, 16)
        base = -(-self._next // align) * align
        stride = -(-(size + 1) // align) * align if parts else 0
        data = np.zeros(stride * parts if parts else size, np.uint8)
        made = MemoryObject(base, data, name, stride=stride, part_size=size, is_private=is_private)
        if not initialized:
            made.state = np.ones(data.size, np.uint8)
        self._next = base + data.size + _GAP
        self._insert(made)
        return made

    def place(self, address: int, data: Array, name: str) -> None:
        """Make bytes accessible at an address that is theirs elsewhere, such as in another process."""
        self._insert(MemoryObject(address, data, name))

    def place_bytes(self, data: bytes, name: str) -> int:
        """The address of a new object that holds `data`."""
        made = self.allocate(len(data), name, initialized=True)
        made.data[:] = np.frombuffer(data, np.uint8)
        return made.base

    def remove(self, gone: MemoryObject) -> None:
        """End the life of an object; accesses to its addresses are out of bounds from now on."""
        index = bisect_right(self._bases, gone.base) - 1
        assert self._objects[index] is gone
        del self._objects[index], self._bases[index]
        self._starts = None

    def overlapping(self, low: int, high: int) -> list[MemoryObject]:
        """The objects with an address in ``low .. high - 1``."""
        return [o for o in self._objects if o.base < high and low < o.end]

    def find(self, address: int) -> MemoryObject | None:
        """The object that contains an address."""
        index = bisect_right(self._bases, address) - 1
        if index < 0:
            return None
        found = self._objects[index]
        return found if address < found.end else None

    def before(self, address: int) -> MemoryObject | None:
        """The object with the highest base that is not above an address."""
        index = bisect_right(self._bases, address) - 1
        return self._objects[index] if index >= 0 else None

    def partition(self, addresses: Array, size: int) -> list[tuple[MemoryObject | None, Array]]:
        """Which of many accesses go to which object: index arrays; None stands for no object."""
        if self._starts is None:
            self._starts = np.array(self._bases, np.uint64)
        owner = np.searchsorted(self._starts, addresses, "right") - 1
        groups: list[tuple[MemoryObject | None, Array]] = []
        outside: list[Array] = []
        for number in np.unique(owner):
            index = np.flatnonzero(owner == number)
            if number < 0:
                outside.append(index)
                continue
            found = self._objects[number]
            offsets = addresses[index] - np.uint64(found.base)
            inside = offsets + np.uint64(size) <= np.uint64(found.data.size)
            # A huge size must not wrap around.
            inside &= offsets <= np.uint64(found.data.size)
            parts = found.inside_part(offsets, size)
            if parts is not None:
                inside &= parts
            if inside.all():
                groups.append((found, index))
            else:
                groups.append((found, index[inside]))
                outside.append(index[~inside])
        if outside:
            groups.append((None, np.sort(np.concatenate(outside))))
        return groups

    def _insert(self, made: MemoryObject) -> None:
        index = bisect_right(self._bases, made.base)
        self._objects.insert(index, made)
        self._bases.insert(index, made.base)
        self._starts = None

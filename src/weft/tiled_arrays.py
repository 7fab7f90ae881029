"""Arrays that lie in blocks in memory: what `weft.tiled` makes (Moll, §11.7, Fig. 11.9b).

Of an array in blocks of 2 by 2 the four elements of a block follow each other, then come those of the block to its
right, and behind the last block of a row of blocks the next row of blocks. An element (j, i) is at

    ((j // b0) * columns + i // b1) * b0 * b1 + (j % b0) * b1 + i % b1,     columns = ceil(extent1 / b1)

The thesis's formula takes rows to be of even length; here rows, and columns, that are no multiple of the block are
padded up to the next one. Of three dimensions it is the same. With an *origin* another element than (0, 0) begins a
block: of a stencil with a border of one the element (1, 1), the first that is computed; then elements are where those
of an array with as much padding in front would be. Cheap to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import ArgumentError, ArrayShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

MOST_ELEMENTS = 4096
"""Of a block."""

MOST_EXTENT = (1 << 46) - 1
"""No memory has more; of an array without elements an extent could be larger."""

_LINE = 64
"""Bytes that the first block begins at a multiple of."""

_NARROW = 2
"""In blocks of rows as short as this, elements are converted place by place: NumPy's loops run along rows of blocks."""


def block_of(block: Any, dimensions: int | None = None) -> tuple[int, ...]:
    """The extents of a block, checked.

    Raises
    ------
    ArgumentError
        They are not two or three powers of two, or not as many as an array has dimensions.
    """
    hint = "give two or three powers of two, as (2, 2): the extents of a block, outermost first"
    try:
        extents = tuple(n.__index__() for n in block)
    except (AttributeError, TypeError):
        raise ArgumentError(f"blocks of {block!r}", hint=hint) from None
    if len(extents) not in (2, 3) or any(n < 1 or n & (n - 1) for n in extents):
        raise ArgumentError(f"blocks of {block!r}", hint=hint)
    if prod(extents) > MOST_ELEMENTS:
        raise ArgumentError(
            f"blocks of {prod(extents)} elements", hint=f"a block has at most {MOST_ELEMENTS}"
        )
    if dimensions is not None and len(extents) != dimensions:
        raise ArgumentError(
            f"blocks of {len(extents)} dimensions for an array of {dimensions}",
            hint="a block has as many dimensions as its array, two or three",
        )
    return extents


def origin_of(origin: Any, block: tuple[int, ...]) -> tuple[int, ...]:
    """The first element that begins a block, checked.

    Raises
    ------
    ArgumentError
        It is not one number for each dimension that is not negative.
    """
    try:
        numbers = tuple(n.__index__() for n in origin)
    except (AttributeError, TypeError):
        numbers = ()
    if len(numbers) != len(block) or any(n < 0 for n in numbers):
        raise ArgumentError(
            f"an origin of {origin!r} for blocks of {len(block)} dimensions",
            hint="name an element that begins a block, as (1, 1)",
        )
    return tuple(n % b for n, b in zip(numbers, block, strict=True))


def padding_of(block: Sequence[int], origin: Sequence[int]) -> tuple[int, ...]:
    """How many elements of padding are in front of the first one, along each dimension."""
    return tuple(-o % b for o, b in zip(origin, block, strict=True))


def memory_shape(shape: Sequence[int], block: Sequence[int], origin: Sequence[int]) -> tuple[int, ...]:
    """How many blocks there are along each dimension, and the extents of a block: the shape of the memory."""
    padding = padding_of(block, origin)
    return (*(-(-(n + p) // b) if n else 0 for n, p, b in zip(shape, padding, block, strict=True)), *block)


class TiledArray:
    """An array of two or three dimensions in blocks, which kernels and functions index as any other.

    Made by `weft.tiled`, or by `empty` and `zeros`. On the host it is read and written element by element, and
    converted as a whole; arithmetic is for compiled code, or for `to_array()`.

    Parameters
    ----------
    memory
        C-contiguous elements, of the shape that `memory_shape` gives: blocks along each dimension, then a block.
    shape
        The array's extents; what `memory` has beyond them is padding.
    origin
        An element that begins a block.

    Attributes
    ----------
    memory, shape
        As above. ``memory.flags.writeable = False`` makes the array read-only for compiled code, too.
    """

    __slots__ = ("__weakref__", "memory", "origin", "shape")

    def __init__(
        self, memory: NDArray[Any], shape: Sequence[int], origin: Sequence[int] | None = None
    ) -> None:
        extents = tuple(int(n) for n in shape)
        block = block_of(memory.shape[len(extents) :], len(extents))
        self.origin = origin_of(origin if origin is not None else (0,) * len(block), block)
        if max(extents) > MOST_EXTENT:
            raise ArrayShapeError(f"an array in blocks cannot have the shape {extents}")
        if memory.shape != memory_shape(extents, block, self.origin) or not memory.flags.c_contiguous:
            raise ArrayShapeError(
                f"memory of shape {memory.shape} for an array of shape {extents} in blocks",
                hint="make it with weft.tiled(array, block) or weft.TiledArray.empty(shape, block)",
            )
        self.memory = memory
        self.shape = extents

    @classmethod
    def zeros(
        cls,
        shape: Sequence[int],
        block: Sequence[int],
        dtype: DTypeLike = np.float64,
        *,
        origin: Sequence[int] | None = None,
    ) -> TiledArray:
        """An array of zeros.

        Parameters
        ----------
        shape
            Two or three extents.
        block
            As many powers of two.
        dtype
            Type of the elements.
        origin
            An element that begins a block; the first one by default.

        Raises
        ------
        ArgumentError
            The block or the origin is none, or does not fit the shape.
        ArrayShapeError
            An extent is negative.
        """
        kind, extents = np.dtype(dtype), tuple(int(n) for n in shape)
        if any(not 0 <= n <= MOST_EXTENT for n in extents):
            raise ArrayShapeError(f"an array cannot have the shape {extents}")
        sizes = block_of(block, len(extents))
        first_block = origin_of(origin if origin is not None else (0,) * len(sizes), sizes)
        whole = memory_shape(extents, sizes, first_block)
        room = np.zeros(prod(whole) * kind.itemsize + _LINE, np.uint8)
        first = -room.ctypes.data % _LINE
        bytes_of_it = room[first : first + prod(whole) * kind.itemsize]
        return cls(np.ndarray(whole, kind, bytes_of_it.data), extents, first_block)

    empty = zeros
    """As `zeros`: padding is never left undefined, and untouched pages cost nothing."""

    @property
    def block(self) -> tuple[int, ...]:
        """The extents of a block."""
        return self.memory.shape[self.ndim :]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.memory.dtype

    @property
    def size(self) -> int:
        """The number of elements, without padding."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.memory.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, without padding; those of its memory are ``memory.nbytes``."""
        return self.size * self.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """An element, as a NumPy scalar.

        Raises
        ------
        ArgumentError
            The index is not one integer for each dimension.
        IndexError
            There is no such element.
        """
        return self.memory[self._place(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign to an element, or to all of them: ``t[...] = array``.

        Raises
        ------
        ArgumentError, IndexError
            As for reading.
        ArrayShapeError
            The array assigned has another shape.
        """
        if index is Ellipsis:
            self.assign(value)
        else:
            self.memory[self._place(index)] = value

    def _place(self, index: Any) -> tuple[int, ...]:
        parts = index if isinstance(index, tuple) else (index,)
        try:
            numbers = [part.__index__() for part in parts]
        except AttributeError:
            numbers = []
        if len(numbers) != self.ndim:
            raise ArgumentError(
                f"an array in blocks is indexed by {self.ndim} integers, not by {index!r}",
                hint="take parts of a copy, t.to_array()[...], and assign all of it by t[...] = array",
            )
        for d, (number, extent) in enumerate(zip(numbers, self.shape, strict=True)):
            if not -extent <= number < extent:
                raise IndexError(f"index {number} is out of bounds for axis {d} with size {extent}")
        padding = padding_of(self.block, self.origin)
        found = [n % extent + p for n, extent, p in zip(numbers, self.shape, padding, strict=True)]
        return (
            *(n // b for n, b in zip(found, self.block, strict=True)),
            *(n % b for n, b in zip(found, self.block, strict=True)),
        )

    def assign(self, array: ArrayLike | TiledArray) -> None:
        """Copy the elements of an array of the same shape, or a number, into this one.

        Raises
        ------
        ArrayShapeError
            The array has another shape.
        """
        if isinstance(array, TiledArray) and array._lies_as(self):
            self.memory[...] = array.memory
            return
        source = np.asarray(array)
        if source.shape not in ((), self.shape):
            raise ArrayShapeError(f"an array of shape {source.shape} assigned to one of shape {self.shape}")
        source = np.broadcast_to(source, self.shape)
        for ours, theirs in self._pairs(source):
            ours[...] = theirs

    def _lies_as(self, other: TiledArray) -> bool:
        return (self.shape, self.block, self.origin) == (other.shape, other.block, other.origin)

    def to_array(self, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The elements as an ordinary array.

        Parameters
        ----------
        out
            Where to put them; a new C-contiguous array by default.

        Raises
        ------
        ArrayShapeError
            `out` has another shape.
        """
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.shape != self.shape:
            raise ArrayShapeError(f"an array of shape {self.shape} written to one of shape {out.shape}")
        for ours, theirs in self._pairs(out):
            theirs[...] = ours
        return out

    def _pairs(self, array: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Parts of the memory, and of an array, that hold the same elements."""
        padding = padding_of(self.block, self.origin)
        whole = all(n % b == 0 for n, b in zip(self.shape, self.block, strict=True))
        if whole and not any(padding) and self.block[-1] > _NARROW:
            split = [n for pair in zip(self.memory.shape, self.block, strict=False) for n in pair]
            axes = (*range(0, 2 * self.ndim, 2), *range(1, 2 * self.ndim, 2))
            return [(self.memory, array.reshape(split).transpose(axes))]
        found: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for place in product(*map(range, self.block)):
            firsts = [(at - p) % b for at, p, b in zip(place, padding, self.block, strict=True)]
            theirs = array[tuple(slice(n, None, b) for n, b in zip(firsts, self.block, strict=True))]
            begins = [(n + p) // b for n, p, b in zip(firsts, padding, self.block, strict=True)]
            ends = [n + count for n, count in zip(begins, theirs.shape, strict=True)]
            ours = self.memory[(..., *place)][tuple(map(slice, begins, ends))]
            found.append((ours, theirs))
        return found

    def copy(self) -> TiledArray:
        """An array of the same elements in memory of its own."""
        made = TiledArray.zeros(self.shape, self.block, self.dtype, origin=self.origin)
        made.memory[...] = self.memory
        return made

    __copy__ = copy

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The elements as an ordinary array, always a copy."""
        if copy is False:
            raise ValueError("an array in blocks becomes an ordinary one by a copy only")
        made = self.to_array()
        return made if dtype is None else made.astype(dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.memory, self.shape, self.origin)

    def __repr__(self) -> str:
        origin = f", origin={self.origin}" if any(self.origin) else ""
        return f"tiled({self.to_array()!r}, {self.block}{origin})"


def _restored(memory: NDArray[Any], shape: tuple[int, ...], origin: tuple[int, ...]) -> TiledArray:
    made = TiledArray.zeros(shape, memory.shape[len(shape) :], memory.dtype, origin=origin)
    made.memory[...] = memory
    made.memory.flags.writeable = memory.flags.writeable
    return made


def tiled(
    array: ArrayLike | TiledArray, block: Sequence[int], *, origin: Sequence[int] | None = None
) -> TiledArray:
    """A copy of an array that lies in blocks in memory; kernels and functions index it as the array itself.

    Parameters
    ----------
    array
        Two or three dimensions of any element type that kernels take.
    block
        The extents of a block, powers of two, outermost first: ``(2, 2)``. Rows and columns that are no multiple of it
        are padded.
    origin
        An element that begins a block, the first one by default. Of a stencil that leaves out a border of one it is
        ``(1, 1)``: nests are best that begin where blocks do.

    Raises
    ------
    ArgumentError
        The block or the origin is none, or has not as many dimensions as the array.

    See Also
    --------
    docs/tensors.md : when it pays.
    """
    source = array if isinstance(array, TiledArray) else np.asarray(array)
    made = TiledArray.zeros(source.shape, block_of(block, source.ndim), source.dtype, origin=origin)
    made.assign(source)
    return made

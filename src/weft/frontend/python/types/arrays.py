"""Arrays, and structured elements of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from weft.frontend.python.types.scalars import KernelType, Scalar
from weft.tiled_arrays import block_of, origin_of

if TYPE_CHECKING:
    import numpy as np


class Array(KernelType):
    """An array or a view of one.

    Parameters
    ----------
    dtype
        Scalar or `Record`.
    ndim
        Number of dimensions.
    layout
        ``C`` when contiguous in C order, ``A`` when each dimension has a stride of its own; so has numba's ``F``.
    readonly, aligned
        As NumPy's flags.
    space
        Address space: 0, or that of shared memory.
    shape
        Extents known at compile time (shared and local arrays), with -1 for the one of dynamic shared memory,
        which is never known; None when extents are run-time values.
    """

    __slots__ = ("aligned", "dtype", "layout", "ndim", "readonly", "shape", "space")

    dtype: Scalar | Record
    ndim: int
    layout: str
    readonly: bool
    aligned: bool
    space: int
    shape: tuple[int, ...] | None

    def __new__(
        cls,
        dtype: Scalar | Record,
        ndim: int,
        layout: str = "A",
        readonly: bool = False,
        aligned: bool = True,
        space: int = 0,
        shape: tuple[int, ...] | None = None,
    ) -> Array:
        key = dtype, ndim, layout if layout == "C" else "A", readonly, aligned, space, shape
        found = _arrays.get(key)
        if found is None:
            made = super().__new__(cls)
            made.dtype, made.ndim, made.layout, made.readonly, made.aligned, made.space, made.shape = key
            found = _arrays.setdefault(key, made)
        return found

    def __str__(self) -> str:
        dims = [":"] * self.ndim
        if self.layout == "C" and dims:
            dims[-1] = "::1"
        return f"{'readonly ' if self.readonly else ''}{self.dtype}[{', '.join(dims)}]"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.dtype, self.ndim, self.layout, self.readonly, self.aligned, self.space, self.shape)
        return Array, fields

    def replace(self, **changes: Any) -> Array:
        """The type with some of its parameters changed."""
        names = ("dtype", "ndim", "layout", "readonly", "aligned", "space", "shape")
        return Array(*(changes.get(name, getattr(self, name)) for name in names))


class Tiled(KernelType):
    """An array that lies in blocks in memory (`weft.tiled_arrays.TiledArray`).

    Parameters
    ----------
    dtype
        Scalar or `Record`.
    block
        The extents of a block, powers of two; there are as many dimensions.
    origin
        The first element that begins a block.
    readonly
        Whether it must not be written.
    """

    __slots__ = ("block", "dtype", "origin", "readonly")

    def __init__(
        self, dtype: Scalar | Record, block: tuple[int, ...], origin: tuple[int, ...], readonly: bool
    ) -> None:
        self.dtype = dtype
        self.block = block
        self.origin = origin
        self.readonly = readonly

    @property
    def ndim(self) -> int:
        return len(self.block)

    def __str__(self) -> str:
        origin = f", {self.origin}" if any(self.origin) else ""
        return f"{'readonly ' if self.readonly else ''}tiled({self.dtype}, {self.block}{origin})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tiled_type, (self.dtype, self.block, self.origin, self.readonly)

    def lies_as(self, other: Tiled) -> bool:
        """Whether arrays of both types have the same elements at the same places."""
        return (self.dtype, self.block, self.origin) == (other.dtype, other.block, other.origin)


class Field:
    """A field of a record at a byte offset; `shape` is not empty for an array inside the record."""

    __slots__ = ("offset", "shape", "type")

    def __init__(self, type: Scalar | Record, offset: int, shape: tuple[int, ...]) -> None:
        self.type = type
        self.offset = offset
        self.shape = shape


class Record(KernelType):
    """A structured dtype; a value of it is a reference to the bytes in memory."""

    __slots__ = ("align", "fields", "numpy_dtype")

    def __init__(self, numpy_dtype: np.dtype[Any], fields: dict[str, Field], align: int) -> None:
        self.numpy_dtype = numpy_dtype
        self.fields = fields
        self.align = align

    @property
    def size(self) -> int:
        return self.numpy_dtype.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.numpy_dtype

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array:
        return array_of(self, index)

    def __str__(self) -> str:
        return f"record({', '.join(f'{name}: {f.type}' for name, f in self.fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        from weft.frontend.python.typeof import record_type

        return record_type, (self.numpy_dtype, self.align)


class Text(Record):
    """Bytes or characters of a fixed number, padded with zeros; a value of it is a reference to them in memory."""

    __slots__ = ()

    def __init__(self, numpy_dtype: np.dtype[Any], align: int) -> None:
        super().__init__(numpy_dtype, {}, align)

    @property
    def unit(self) -> int:
        """Bytes of a character."""
        return 1 if self.numpy_dtype.kind == "S" else 4

    def __str__(self) -> str:
        return self.numpy_dtype.str.lstrip("<|")

    def __reduce__(self) -> tuple[Any, ...]:
        return text_type, (self.numpy_dtype, self.align)


_arrays: dict[tuple[Any, ...], Array] = {}

array_type = Array


def text_type(dtype: np.dtype[Any], align: int = 4) -> Text:
    """The type of text of a NumPy type ``S12`` or ``U12`` that lies at multiples of `align`, or of its characters."""
    return _text_type(dtype, min(align, dtype.alignment))


def tiled_type(
    dtype: Scalar | Record,
    block: Iterable[int],
    origin: Iterable[int] | None = None,
    readonly: bool = False,
) -> Tiled:
    """The type of an array in blocks (see `Tiled`).

    Raises
    ------
    ArgumentError
        The block or the origin is none.
    """
    extents = block_of(block)
    return _tiled_type(dtype, extents, origin_of(origin or (0,) * len(extents), extents), readonly)


_tiled_type = cache(Tiled)
_text_type = cache(Text)


def array_of(dtype: Scalar | Record, index: slice | tuple[slice, ...]) -> Array:
    """The array type that numba's notation with slices stands for."""
    dims = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(d, slice) and d.start is None and d.stop is None for d in dims):
        raise TypeError("an array type is written with slices: float32[:], float32[:, ::1]")
    return Array(dtype, len(dims), "C" if dims[-1].step == 1 else "A")

"""``weft.dask.launch``: a kernel's grid over chunked arrays, one launch for each chunk."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from msgspec import Struct

from weft.cuda.configuration import Configurable
from weft.dask.threads import threads_of
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.wording import described

_PLACE = np.dtype([("start", np.int64), ("size", np.int64), ("whole", np.int64)])
"""Where a chunk begins along an axis, how far it goes, and how far the whole array does."""


class Result(Struct, frozen=True):
    """Stands for an array that a kernel fills.

    Parameters
    ----------
    dtype
        The type of its elements.
    fill
        What they are before the launch.
    """

    dtype: Any
    fill: Any = 0


class Updated(Struct, frozen=True):
    """Stands for an array whose elements a kernel changes: it is given a copy of each chunk.

    Parameters
    ----------
    array
        The chunked array, which stays as it is.
    """

    array: Any


class Origin(Struct, frozen=True):
    """Stands for the number of elements before the chunk, along an axis of the whole array.

    Parameters
    ----------
    axis
        Which axis of the results.
    """

    axis: int


class Extent(Struct, frozen=True):
    """Stands for the number of elements along an axis of the whole array.

    Parameters
    ----------
    axis
        Which axis of the results.
    """

    axis: int


class _Block(Struct, frozen=True):
    """Stands for the block of a chunked array, by its number among them; `changed` where the kernel gets a copy."""

    number: int
    changed: bool = False


class _OnChunk(Struct, frozen=True):
    """Launches a kernel on one chunk, and returns the arrays that it has filled.

    Parameters
    ----------
    kernel
        What is launched.
    arguments
        Its arguments, with what stands for others.
    ndim
        Axes of the results.
    axes, threads
        As `launch` has them.
    several
        Whether it fills more than one.
    """

    kernel: Any
    arguments: tuple[Any, ...]
    ndim: int
    axes: tuple[int, ...] | None
    threads: tuple[int, ...] | None
    several: bool

    def __call__(self, *given: Any) -> Any:
        places = [np.asarray(place).reshape(-1)[0] for place in given[: self.ndim]]
        shape = tuple(int(place["size"]) for place in places)
        results: list[np.ndarray[Any, Any]] = []
        values = [self._value(a, given[self.ndim :], places, shape, results) for a in self.arguments]
        if all(shape):
            self.kernel[threads_of(shape, self.axes, self.threads)](*values)
        return tuple(results) if self.several else results[0]

    def _value(
        self,
        argument: Any,
        blocks: Sequence[Any],
        places: Sequence[Any],
        shape: tuple[int, ...],
        results: list[Any],
    ) -> Any:
        if isinstance(argument, Result):
            value = np.full(shape, argument.fill, argument.dtype)
            results.append(value)
        elif isinstance(argument, Origin):
            value = int(places[argument.axis]["start"])
        elif isinstance(argument, Extent):
            value = int(places[argument.axis]["whole"])
        elif isinstance(argument, _Block) and argument.changed:
            value = np.array(blocks[argument.number])
            results.append(value)
        elif isinstance(argument, _Block):
            value = blocks[argument.number].view()
            value.flags.writeable = False
        else:
            value = argument
        return value


@located
def launch(
    kernel: Any,
    *args: Any,
    shape: Sequence[int] | int | None = None,
    chunks: Any = None,
    axes: Sequence[int] | None = None,
    threads: Sequence[int] | int | None = None,
) -> Any:
    """Launch a kernel on each chunk, with a thread for each element of it.

    Threads beyond the chunk are there too, as in any launch whose size is no multiple of the block's: the kernel begins
    with ``if i < y.size``. Its indices count from the begin of the chunk; `Origin` gives it the place of that.

    Parameters
    ----------
    kernel
        The kernel.
    *args
        Its arguments: chunked arrays, of which it gets the block, read-only; `Result` and `Updated` for the arrays that
        it writes, `Origin` and `Extent` for where the chunk lies; anything else is the same for all chunks. Arrays
        with fewer axes than the results belong to the last ones, as in broadcasting.
    shape, chunks
        Of the results; by default those of the chunked array with the most axes.
    axes
        Which axes of the results x, y and z of the grid run over; by default the last one is x, so that neighbours
        among threads are neighbours in memory: ``x, y = cuda.grid(2)`` is column and row. With fewer axes than the
        results have, a thread has a whole row, column or plane of its own.
    threads
        Threads of a work-group along x, y and z; 256, 32 by 8, or 32 by 4 by 2 by default.

    Returns
    -------
    dask.array.Array
        What `Result` or `Updated` stands for; a tuple for several, in the order of the arguments.

    Raises
    ------
    SignatureError
        `kernel` is none.
    ArgumentError
        No argument is written, arrays are chunked in different ways, or nothing says how results are chunked.
    """
    if not isinstance(kernel, Configurable):
        raise SignatureError(
            f"weft.dask.launch takes a kernel, not {described(kernel)}", hint="decorate it with weft.cuda.jit"
        )
    arrays: list[Any] = []
    dtypes: list[np.dtype[Any]] = []
    arguments = tuple(_noted(a, arrays, dtypes) for a in args)
    if not dtypes:
        raise ArgumentError(
            f"{kernel.__name__} gets no array that it may write to",
            hint="give weft.dask.Result(dtype) or weft.dask.Updated(array) for the arrays that it writes",
        )
    extents = _extents(arrays, shape, chunks)
    _require_same_chunks(arrays, extents)
    ndim = len(extents)
    run = _OnChunk(
        kernel,
        arguments,
        ndim,
        None if axes is None else tuple(axes),
        None if threads is None else tuple(np.atleast_1d(threads).tolist()),
        len(dtypes) > 1,
    )
    threads_of((1,) * ndim, run.axes, run.threads)
    inputs: list[Any] = []
    for axis, sizes in enumerate(extents):
        inputs += [_places(sizes), (axis,)]
    for array in arrays:
        inputs += [array, tuple(range(ndim - array.ndim, ndim))]
    made = da.blockwise(
        run,
        tuple(range(ndim)),
        *inputs,
        adjust_chunks=dict(enumerate(extents)),
        align_arrays=False,
        token=kernel.__name__,
        dtype=dtypes[0] if len(dtypes) == 1 else object,
        meta=np.empty((0,) * ndim, dtypes[0] if len(dtypes) == 1 else object),
    )
    if len(dtypes) == 1:
        return made
    return tuple(
        da.map_blocks(operator.itemgetter(n), made, dtype=dtype, meta=np.empty((0,) * ndim, dtype))
        for n, dtype in enumerate(dtypes)
    )


def _noted(argument: Any, arrays: list[Any], dtypes: list[np.dtype[Any]]) -> Any:
    """What the tasks have in place of an argument; chunked arrays, and types of results, are collected."""
    if isinstance(argument, Result):
        dtypes.append(np.dtype(argument.dtype))
        return argument
    changed = isinstance(argument, Updated)
    array = argument.array if changed else argument
    if isinstance(array, da.Array):
        arrays.append(array)
        if changed:
            dtypes.append(array.dtype)
        return _Block(len(arrays) - 1, changed)
    if changed:
        raise ArgumentError(f"weft.dask.Updated takes a chunked array, not {described(array)}")
    return argument


def _extents(arrays: Sequence[Any], shape: Any, chunks: Any) -> tuple[tuple[int, ...], ...]:
    """The extents of the results' chunks along each axis."""
    if shape is None and not arrays:
        raise ArgumentError(
            "nothing says how the results are chunked", hint="give shape= and chunks=, or a chunked array"
        )
    if shape is None:
        extents = max(arrays, key=lambda a: a.ndim).chunks
    else:
        whole = tuple(int(n) for n in np.atleast_1d(shape))
        extents = normalize_chunks("auto" if chunks is None else chunks, whole, dtype=np.float64)
    if any(np.isnan(size) for sizes in extents for size in sizes):
        raise ArgumentError(
            "the extents of the chunks are not known", hint="call compute_chunk_sizes() first"
        )
    return extents


def _require_same_chunks(arrays: Sequence[Any], extents: tuple[tuple[int, ...], ...]) -> None:
    for array in arrays:
        if array.ndim > len(extents) or array.chunks != extents[len(extents) - array.ndim :]:
            raise ArgumentError(
                f"an array in chunks of {array.chunks}, and results in chunks of {extents}",
                hint="call array.rechunk(...) first",
            )


def _places(sizes: tuple[int, ...]) -> Any:
    """Where chunks of these sizes lie along an axis, one in a block."""
    rows = np.zeros(len(sizes), _PLACE)
    rows["size"], rows["whole"] = sizes, sum(sizes)
    rows["start"] = np.cumsum(sizes) - sizes
    return da.from_array(rows, chunks=(1,))  # pyright: ignore[reportArgumentType]

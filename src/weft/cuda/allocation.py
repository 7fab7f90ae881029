"""How device arrays are made: copies and new memory as numba.cuda makes them.

Copies are made where numba.cuda makes them: ``to_device(x)`` is a copy of ``x``, so what a kernel writes to one is not
seen in the other until ``copy_to_host``. Memory is shared where that is asked for: ``to_device(x, copy=False)``,
``as_cuda_array(x)``, ``with mapped(x) as device``, and NumPy arrays given to a launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.device.arrays import DeviceArray, HostArray
from weft.device.interface import foreign_array, has_interface
from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from weft.device.arrays import StreamLike


def to_device(
    obj: Any, stream: StreamLike = 0, copy: bool = True, to: DeviceArray | None = None
) -> DeviceArray:
    """A new device array with a copy of `obj`; with `to`, `obj` is copied into that array.

    A device array is returned as it is. With ``copy=False`` the result shares the memory of `obj`. `stream` orders
    nothing; the array remembers it.
    """
    if to is not None:
        to.copy_to_device(obj)
        return to
    if isinstance(obj, DeviceArray):
        return obj
    return DeviceArray(np.array(obj) if copy else np.asarray(obj), stream)


def device_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
) -> DeviceArray:
    """A new device array with undefined contents."""
    return DeviceArray(_empty(shape, dtype, strides, order), stream)


def device_array_like(ary: Any, stream: StreamLike = 0) -> DeviceArray:
    """A new device array with the shape and dtype of `ary` and undefined contents."""
    return DeviceArray(np.empty_like(_numpy(ary), subok=False), stream)


def pinned_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
) -> NDArray[Any]:
    """A new NumPy array; every array of the host is as good as pinned."""
    return _empty(shape, dtype, strides, order)


def pinned_array_like(ary: Any) -> NDArray[Any]:
    """A new NumPy array with the shape and dtype of `ary`."""
    return np.empty_like(_numpy(ary), subok=False)


def mapped_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    portable: bool = False,
    wc: bool = False,
) -> HostArray:
    """A new NumPy array, which kernels use in place; `portable` and `wc` change nothing."""
    return _host_array(_empty(shape, dtype, strides, order), stream)


def mapped_array_like(
    ary: Any, stream: StreamLike = 0, portable: bool = False, wc: bool = False
) -> HostArray:
    """A new NumPy array with the shape and dtype of `ary`, which kernels use in place."""
    return _host_array(pinned_array_like(ary), stream)


def managed_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
    stream: StreamLike = 0,
    attach_global: bool = True,
) -> HostArray:
    """A new NumPy array, which kernels use in place; `attach_global` changes nothing."""
    return _host_array(_empty(shape, dtype, strides, order), stream)


@contextmanager
def pinned(*arrays: NDArray[Any]) -> Iterator[None]:
    """Do nothing: every array of the host is as good as pinned."""
    yield


@contextmanager
def mapped(*arrays: NDArray[Any], stream: StreamLike = 0) -> Iterator[Any]:
    """Device arrays that share the memory of `arrays`; a list of them unless there is one array."""
    shared = [as_cuda_array(array) for array in arrays]
    yield shared[0] if len(shared) == 1 else shared


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    """`obj` as a device array that shares its memory.

    It may be a NumPy array, or have a ``__cuda_array_interface__`` whose address is one of this process's memory.
    `sync` changes nothing, since no stream has work that is pending.

    Raises
    ------
    ArgumentError
        The memory is not of this process: an array of a GPU.
    """
    if not isinstance(obj, (DeviceArray, np.ndarray)) and has_interface(obj):
        return from_cuda_array_interface(obj.__cuda_array_interface__, obj, sync)
    return to_device(obj, getattr(obj, "stream", 0), copy=False)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceArray:
    """The device array that a CUDA array interface describes; it keeps `owner` alive.

    Raises
    ------
    ArgumentError
        The memory is not of this process, or the description is none.
    UnsupportedError
        The array is masked.
    """
    return DeviceArray(*foreign_array(desc, owner))


def is_cuda_array(obj: Any) -> bool:
    """Whether `obj` is a device array, or has a ``__cuda_array_interface__``."""
    return has_interface(obj)


def _empty(
    shape: int | Sequence[int], dtype: DTypeLike, strides: Sequence[int] | None, order: str
) -> NDArray[Any]:
    """A new array, with these strides if some are given."""
    if strides is None:
        return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(strides) != len(extents) or any(step < 0 for step in strides):
        raise ArgumentError(
            f"strides {tuple(strides)} do not fit the shape {extents}",
            hint="give a number of bytes, not below 0, for each dimension",
        ).at(call_site())
    kind = np.dtype(dtype)
    last = sum((extent - 1) * step for extent, step in zip(extents, strides, strict=True))
    memory = np.empty(0 if 0 in extents else last + kind.itemsize, np.uint8)
    return np.ndarray(extents, kind, memory, 0, tuple(strides))


def _numpy(ary: Any) -> NDArray[Any]:
    return ary.array if isinstance(ary, DeviceArray) else ary


def _host_array(array: NDArray[Any], stream: StreamLike) -> HostArray:
    made = array.view(HostArray)
    made.stream = stream
    return made

"""Device arrays of the CUDA-Python host API, on a machine whose device memory is host memory.

Nothing is copied to "the device": ``to_device(x)`` shares the memory of ``x``, so what a kernel writes is seen in
``x`` at once. ``copy_to_host`` and ``copy_to_device`` copy, as their names say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError


class DeviceArray:
    """An array that kernels accept and that looks like ``numba.cuda``'s device array.

    Parameters
    ----------
    array
        The NumPy array whose memory is used.
    """

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.array.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def T(self) -> DeviceArray:  # noqa: N802  NumPy's name
        return DeviceArray(self.array.T)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> Any:
        """A view for a slice, a NumPy scalar for an element."""
        part = self.array[index]
        return DeviceArray(part) if isinstance(part, np.ndarray) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value.array if isinstance(value, DeviceArray) else value

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"DeviceArray({self.array!r})"

    def reshape(self, *shape: Any) -> DeviceArray:
        return DeviceArray(self.array.reshape(*shape))

    def ravel(self, order: str = "C") -> DeviceArray:
        return DeviceArray(self.array.ravel(order))  # type: ignore[arg-type]

    def view(self, dtype: DTypeLike) -> DeviceArray:
        return DeviceArray(self.array.view(dtype))

    def is_c_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: object = None) -> NDArray[Any]:
        """A copy as a new NumPy array, or into `ary`, which is returned.

        Raises
        ------
        ArgumentError
            When `ary` differs in shape or dtype.
        """
        if ary is None:
            return self.array.copy()
        _require_alike(ary, self.array)
        np.copyto(ary, self.array)
        return ary

    def copy_to_device(self, ary: Any, stream: object = None) -> None:
        """Copy the NumPy or device array `ary` into this one."""
        source = ary.array if isinstance(ary, DeviceArray) else np.asarray(ary)
        _require_alike(source, self.array)
        np.copyto(self.array, source)


def _require_alike(a: NDArray[Any], b: NDArray[Any]) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ArgumentError(
            f"cannot copy between {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}",
            hint="both arrays need the same shape and dtype",
        ).at(call_site())


def to_device(
    obj: Any, stream: object = None, copy: bool = True, to: DeviceArray | None = None
) -> DeviceArray:
    """`obj` as a device array that shares its memory; with `to`, `obj` is copied into that array.

    `stream` and `copy` are accepted for compatibility and change nothing.
    """
    array = obj.array if isinstance(obj, DeviceArray) else np.asarray(obj)
    if to is None:
        return DeviceArray(array)
    to.copy_to_device(array)
    return to


def device_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: object = None,
    order: str = "C",
    stream: object = None,
) -> DeviceArray:
    """A new device array with undefined contents."""
    if strides is not None:
        raise ArgumentError("device_array takes no strides", hint="make a view of a larger array").at(
            call_site()
        )
    return DeviceArray(np.empty(shape, dtype, order=order))  # type: ignore[call-overload]


def device_array_like(ary: Any, stream: object = None) -> DeviceArray:
    """A new device array with the shape and dtype of `ary` and undefined contents."""
    return DeviceArray(np.empty_like(ary.array if isinstance(ary, DeviceArray) else ary))


def pinned_array(
    shape: int | Sequence[int], dtype: DTypeLike = np.float64, strides: object = None, order: str = "C"
) -> NDArray[Any]:
    """A new NumPy array; every array of the host is as good as pinned."""
    return device_array(shape, dtype, strides, order).array


def mapped_array(
    shape: int | Sequence[int], dtype: DTypeLike = np.float64, strides: object = None, order: str = "C"
) -> NDArray[Any]:
    """A new NumPy array, which kernels use in place."""
    return device_array(shape, dtype, strides, order).array


def as_cuda_array(obj: Any) -> DeviceArray:
    """`obj` as a device array that shares its memory."""
    return to_device(obj)


def is_cuda_array(obj: Any) -> bool:
    """Whether `obj` is a device array."""
    return isinstance(obj, DeviceArray)

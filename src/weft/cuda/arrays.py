"""Device arrays of the CUDA-Python host API, on a machine whose device memory is host memory.

Copies are made where numba.cuda makes them: ``to_device(x)`` is a copy of ``x``, so what a kernel writes to one is not
seen in the other until ``copy_to_host``. Memory is shared where that is asked for: ``to_device(x, copy=False)``,
``as_cuda_array(x)``, ``with mapped(x) as device``, and NumPy arrays given to a launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


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
        """A copy on the host, unless none is allowed."""
        return np.array(self.array, dtype=dtype, copy=copy is not False)

    def __repr__(self) -> str:
        return f"DeviceArray({self.array!r})"

    def reshape(self, *shape: Any) -> DeviceArray:
        """A view of the same elements in another shape.

        Raises
        ------
        ArgumentError
            There is none without a copy.
        """
        return self._sharing(self.array.reshape(*shape), "reshaped")

    def ravel(self, order: str = "C") -> DeviceArray:
        """A view of the elements in one dimension; raises `ArgumentError` as `reshape` does."""
        return self._sharing(self.array.ravel(order), "flattened")  # type: ignore[arg-type]

    def _sharing(self, made: NDArray[Any], what: str) -> DeviceArray:
        """`made` as a device array, unless NumPy had to copy: a kernel would write to the copy."""
        if made.size and not np.may_share_memory(made, self.array):
            raise ArgumentError(
                f"a device array with strides {self.strides} cannot be {what} without a copy",
                hint="copy_to_host() first, or make it contiguous",
            ).at(call_site())
        return DeviceArray(made)

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
    """A new device array with a copy of `obj`; with `to`, `obj` is copied into that array.

    A device array is returned as it is. With ``copy=False`` the result shares the memory of `obj`. `stream` is accepted
    for compatibility and changes nothing.
    """
    if to is not None:
        to.copy_to_device(obj)
        return to
    if isinstance(obj, DeviceArray):
        return obj
    return DeviceArray(np.array(obj) if copy else np.asarray(obj))


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
    return DeviceArray(np.empty_like(ary.array if isinstance(ary, DeviceArray) else ary, subok=False))


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


def managed_array(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float64,
    strides: object = None,
    order: str = "C",
    stream: object = None,
    attach_global: bool = True,
) -> NDArray[Any]:
    """A new NumPy array, which kernels use in place; `stream` and `attach_global` change nothing."""
    return device_array(shape, dtype, strides, order).array


@contextmanager
def pinned(*arrays: NDArray[Any]) -> Iterator[None]:
    """Do nothing: every array of the host is as good as pinned."""
    yield


@contextmanager
def mapped(*arrays: NDArray[Any], stream: object = None) -> Iterator[Any]:
    """Device arrays that share the memory of `arrays`; a list of them unless there is one array."""
    shared = [as_cuda_array(array) for array in arrays]
    yield shared[0] if len(shared) == 1 else shared


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    """`obj` as a device array that shares its memory; `sync` changes nothing."""
    return to_device(obj, copy=False)


def is_cuda_array(obj: Any) -> bool:
    """Whether `obj` is a device array."""
    return isinstance(obj, DeviceArray)

"""Device arrays of the CUDA-Python host API, on a machine whose device memory is host memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.device.streams import Stream
from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.runtime.holders import Holder, holder_of
from weft.target.once import once

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    StreamLike = Stream | int | None


@once
def holder() -> Holder | None:
    """Where machine code finds the array of a device array; None where that cannot be told."""
    probe = DeviceArray(np.empty(0))
    return holder_of(probe, probe.array)


class DeviceArray:
    """An array that kernels accept and that looks like ``numba.cuda``'s device array.

    Parameters
    ----------
    array
        The NumPy array whose memory is used.
    stream
        The stream it belongs to; it orders nothing.
    """

    __slots__ = ("__weakref__", "array", "stream")

    def __init__(self, array: NDArray[Any], stream: StreamLike = 0) -> None:
        self.array = array
        self.stream = stream or 0

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
    def itemsize(self) -> int:
        return self.array.itemsize

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def alloc_size(self) -> int:
        """Bytes from the first element in memory to the end of the last one."""
        low, high = np.lib.array_utils.byte_bounds(self.array)
        return high - low

    @property
    def flags(self) -> Any:
        """NumPy's flags of the array: ``flags["C_CONTIGUOUS"]``."""
        return self.array.flags

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address of the first element, as ctypes has it."""
        return ctypes.c_void_p(self.array.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the elements are, for other arrays and libraries; the address is one of host memory."""
        return interface_of(self.array, self.stream)

    @property
    def T(self) -> DeviceArray:  # noqa: N802  NumPy's name
        return self._of(self.array.T)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """A view for a slice, a NumPy scalar for an element."""
        part = self.array[index]
        return self._of(part) if isinstance(part, np.ndarray) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value.array if isinstance(value, DeviceArray) else value

    def getitem(self, index: Any, stream: StreamLike = 0) -> Any:
        """As ``self[index]``."""
        return self[index]

    def setitem(self, index: Any, value: Any, stream: StreamLike = 0) -> None:
        """As ``self[index] = value``."""
        self[index] = value

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """A copy on the host, unless none is allowed."""
        return np.array(self.array, dtype=dtype, copy=copy is not False)

    def __repr__(self) -> str:
        return f"DeviceArray({self.array!r})"

    def bind(self, stream: StreamLike = 0) -> DeviceArray:
        """The same array, of that stream."""
        return DeviceArray(self.array, stream)

    def transpose(self, axes: Sequence[int] | None = None) -> DeviceArray:
        """A view with its axes in another order, reversed by default."""
        return self._of(self.array.transpose(axes))

    def squeeze(self, axis: int | tuple[int, ...] | None = None, stream: StreamLike = 0) -> DeviceArray:
        """A view without axes of extent 1: all of them, or those in `axis`."""
        return self._of(self.array.squeeze(axis))

    def split(self, section: int, stream: StreamLike = 0) -> Iterator[DeviceArray]:
        """Views of `section` elements each, one after the other, of an array of one dimension; the last may be shorter.

        Raises
        ------
        ArgumentError
            The array has more dimensions, or `section` is no positive integer.
        """
        if self.ndim != 1:
            raise ArgumentError(
                f"an array of {self.ndim} dimensions is not split", hint="split a view: array.ravel()"
            ).at(call_site())
        if section < 1:
            raise ArgumentError(f"parts of {section} elements", hint="give a positive number").at(call_site())
        return (self[at : at + section] for at in range(0, self.size, section))

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """A view of the same elements in another shape.

        Raises
        ------
        UnsupportedError
            There is none without a copy.
        """
        return self._sharing(self.array.reshape(*shape, order=order), "reshaped")  # type: ignore[call-overload]

    def ravel(self, order: str = "C", stream: StreamLike = 0) -> DeviceArray:
        """A view of the elements in one dimension; raises `UnsupportedError` as `reshape` does."""
        return self._sharing(self.array.ravel(order), "flattened")  # type: ignore[arg-type]

    def _sharing(self, made: NDArray[Any], what: str) -> DeviceArray:
        """`made` as a device array, unless NumPy had to copy: a kernel would write to the copy."""
        if made.size and not np.may_share_memory(made, self.array):
            raise UnsupportedError(
                f"a device array with strides {self.strides} cannot be {what} without a copy",
                hint="copy_to_host() first, or make it contiguous",
            ).at(call_site())
        return self._of(made)

    def _of(self, array: NDArray[Any]) -> DeviceArray:
        """A view of this array."""
        return DeviceArray(array, self.stream)

    def view(self, dtype: DTypeLike) -> DeviceArray:
        """The same bytes as elements of another type."""
        return self._of(self.array.view(dtype))

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie in memory in the order of their indices, the last index first."""
        return self.array.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie in memory in the order of their indices, the first index first."""
        return self.array.flags.f_contiguous

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: StreamLike = 0) -> NDArray[Any]:
        """A copy as a new NumPy array, or into `ary`, which is returned.

        Raises
        ------
        ArgumentError
            When `ary` differs in shape or dtype.
        """
        return copied_to(self.array, ary)

    def copy_to_device(self, ary: Any, stream: StreamLike = 0) -> None:
        """Copy the NumPy or device array `ary` into this one."""
        source = ary.array if isinstance(ary, DeviceArray) else np.asarray(ary)
        _require_alike(source, self.array)
        np.copyto(self.array, source)


class HostArray(np.ndarray):
    """A NumPy array that numba.cuda calls mapped or managed: host and kernels use the same memory."""

    stream: StreamLike = 0

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address of the first element, as ctypes has it."""
        return ctypes.c_void_p(self.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """As of a device array."""
        return interface_of(self, self.stream)

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: StreamLike = 0) -> NDArray[Any]:
        """As of a device array."""
        return copied_to(self.view(np.ndarray), ary)

    def copy_to_device(self, ary: Any, stream: StreamLike = 0) -> None:
        """As of a device array."""
        DeviceArray(self.view(np.ndarray)).copy_to_device(ary)


def copied_to(source: NDArray[Any], target: NDArray[Any] | None) -> NDArray[Any]:
    """A copy of `source`: a new array, or `target`."""
    if target is None:
        return source.copy("K")
    _require_alike(target, source)
    if isinstance(target, np.void):
        # A record by itself is no array that could be copied to.
        for name in target.dtype.names or ():
            target[name] = source[name]
    else:
        np.copyto(target, source)
    return target


def interface_of(array: NDArray[Any], stream: StreamLike) -> dict[str, Any]:
    """The CUDA array interface of an array, in version 3.

    Raises
    ------
    AttributeError
        Its type has none, so that it counts as an array without the interface.
    """
    described = array.__array_interface__
    made = {
        "shape": array.shape,
        "strides": None if array.flags.c_contiguous else array.strides,
        "typestr": described["typestr"],
        "data": (array.ctypes.data if array.size else 0, not array.flags.writeable),
        "version": 3,
        "stream": getattr(stream, "handle", stream) or None,
    }
    return made if array.dtype.fields is None else {**made, "descr": described["descr"]}


def _require_alike(a: NDArray[Any], b: NDArray[Any]) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ArgumentError(
            f"cannot copy between {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}",
            hint="both arrays need the same shape and dtype",
        ).at(call_site())

"""Arguments of a launch on a GPU: arrays that live there, arrays that are copied there and back, and numbers.

An array of another package is known by ``__cuda_array_interface__``, or by DLPack if it says that it is on a GPU; a
kernel works on it in place. NumPy arrays are copied to the GPU and, where the kernel may write to them, back.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from weft.cuda.gpu.driver import Driver
from weft.diag.errors import ArgumentError
from weft.frontend.python.typeof import from_dtype, typeof
from weft.frontend.python.types import Array, KernelType, Tiled, array_type, tuple_type
from weft.runtime.arguments import INDEX, POINTER
from weft.runtime.parameters import parameter_for

_CUDA_DEVICES = (2, 13)
"""DLPack's numbers of memory on a GPU, and of managed memory."""


class GpuArray(Struct, frozen=True):
    """An array in the memory of a GPU.

    Parameters
    ----------
    address, dtype, shape, strides
        As NumPy has them; strides are in bytes.
    readonly
        Whether it must not be written.
    owner
        What keeps the memory.
    """

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    readonly: bool
    owner: Any

    @property
    def type(self) -> Array:
        """The kernel type of such an argument."""
        layout = "C" if self.strides == contiguous_strides(self.shape, self.dtype.itemsize) else "A"
        return array_type(from_dtype(self.dtype), len(self.shape), layout, self.readonly, True)


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of an array whose elements follow each other, the last index fastest."""
    strides = [itemsize] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return tuple(strides)


def on_gpu(value: Any) -> GpuArray | None:
    """The array on a GPU that an argument is; None where it is something else.

    Raises
    ------
    ArgumentError
        It is one with elements that kernels do not have.
    """
    if isinstance(value, (np.ndarray, np.generic, int, float, complex, tuple)) or value is None:
        return None
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        strides = interface.get("strides") or contiguous_strides(shape, dtype.itemsize)
        address, readonly = interface["data"]
        return GpuArray(int(address), dtype, shape, tuple(strides), bool(readonly), value)
    where = getattr(value, "__dlpack_device__", None)
    if where is None or int(where()[0]) not in _CUDA_DEVICES:
        return None
    return _of_capsule(value.__dlpack__())


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    """DLPack's ``DLTensor``; the managed one begins with it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


def _of_capsule(capsule: Any) -> GpuArray:
    """The array in a capsule of DLPack, which is looked at and left to its owner to free."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.dtype.code)
    if kind is None or tensor.dtype.lanes != 1:
        raise ArgumentError(
            f"an array of DLPack's type {tensor.dtype.code} with {tensor.dtype.bits} bits is not supported",
            hint="convert it to integers, float16, float32, float64 or complex numbers",
        )
    dtype = np.dtype("?" if kind == "b" else f"{kind}{tensor.dtype.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = contiguous_strides(shape, dtype.itemsize)
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    return GpuArray((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, False, capsule)


def gpu_typeof(value: Any) -> KernelType:
    """The kernel type of an argument of a launch on a GPU.

    Raises
    ------
    ArgumentError
        It is of no kind that a kernel can take.
    """
    if isinstance(value, tuple):
        items = tuple(gpu_typeof(item) for item in value)
        return tuple_type(items, type(value) if hasattr(value, "_fields") else None)
    array = on_gpu(value)
    return typeof(value) if array is None else array.type


class ParameterBuffer:
    """The parameters' bytes, eight for each, and the array of their addresses."""

    __slots__ = ("_addresses", "_stored")

    def __init__(self, data: bytes) -> None:
        count = len(data) // 8
        self._stored = ctypes.create_string_buffer(data, max(1, len(data)))
        first = ctypes.addressof(self._stored)
        self._addresses = (ctypes.c_void_p * max(1, count))(*(first + 8 * i for i in range(count)))

    @property
    def start(self) -> int:
        """Where the array of addresses begins, which is there as long as this object."""
        return ctypes.addressof(self._addresses)


class PackedArguments(Struct):
    """The parameters of one launch, each in eight bytes, and what is copied back behind it.

    Parameters
    ----------
    driver
        The GPU.
    """

    driver: Driver
    formats: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    _copies: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None, int]] = field(default_factory=list)
    _owners: list[Any] = field(default_factory=list)

    def add(self, type: KernelType, value: Any) -> None:
        """Append an argument of this type."""
        if isinstance(value, tuple):
            items: Any = getattr(type, "items", ())
            for item_type, item in zip(items, value, strict=True):
                self.add(item_type, item)
            return
        if isinstance(type, Tiled):
            raise ArgumentError(
                "an array in blocks is for CPUs: it is not copied to a GPU",
                hint="pass an ordinary array, t.to_array()",
            )
        array = on_gpu(value)
        if array is not None:
            self._owners.append(array)
            self._add_array(array.address, array.shape, array.strides, array.type)
        elif isinstance(type, Array):
            self._add_host(value, type)
        elif isinstance(value, np.void):
            self.formats.append(POINTER)
            self.values.append(self._copied(np.asarray(value).reshape(1), True))
        else:
            parameter = parameter_for(type)
            self.formats.append(parameter.formats)
            parameter.add(value, self.values)

    def _add_host(self, array: np.ndarray[Any, Any], type: Array) -> None:
        address = self._copied(array, not type.readonly)
        self._add_array(address, array.shape, contiguous_strides(array.shape, array.itemsize), type)

    def _add_array(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], type: Array) -> None:
        self.formats.append(POINTER + INDEX * (len(shape) if type.layout == "C" else 2 * len(shape)))
        self.values += (address, *shape)
        if type.layout != "C":
            self.values += strides

    def _copied(self, array: np.ndarray[Any, Any], back: bool) -> int:
        """The address of a copy on the GPU, whose elements follow each other; one for all uses of an array."""
        for known, _, address in self._copies:
            if known is array:
                return address
        plain = np.ascontiguousarray(array)
        address = self.driver.allocate(plain.nbytes)
        self._copies.append((array, plain if back else None, address))
        self.driver.copy_in(address, plain.ctypes.data, plain.nbytes)
        return address

    def buffer(self) -> ParameterBuffer:
        """The parameters as a launch takes them.

        Raises
        ------
        ArgumentError
            A number does not fit its parameter.
        """
        try:
            data = struct.pack("@" + "".join(self.formats), *self.values)
        except (struct.error, OverflowError) as error:
            raise ArgumentError(f"an argument does not fit its parameter: {error}") from None
        return ParameterBuffer(data)

    def finish(self) -> None:
        """Copy back what the kernel may have written."""
        for array, plain, address in self._copies:
            if plain is not None:
                self.driver.copy_out(plain.ctypes.data, address, plain.nbytes)
                if plain is not array:
                    array[...] = plain.reshape(array.shape)

    def release(self) -> None:
        """Give the memory of the copies back."""
        while self._copies:
            self.driver.free(self._copies.pop()[2])

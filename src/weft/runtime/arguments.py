"""What parameters of kernels and functions take: checks of a value, and the 8-byte slots that it becomes.

An entry point reads one slot for each scalar and pointer that its parameters consist of, value in the low bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from weft.runtime.array_memory import data_pointer
from weft.tiled_arrays import TiledArray

POINTER, INDEX = "P", "q"


def is_real(value: Any) -> bool:
    """Whether a value is a number, of Python's, NumPy's, or a bfloat16, which NumPy does not know for one."""
    if isinstance(value, (int, float, np.number, np.bool_)):
        return True
    return isinstance(value, np.generic) and value.dtype.name == "bfloat16"


class Parameter(Protocol):
    """How an argument becomes slots."""

    @property
    def formats(self) -> str:
        """`struct` codes of the slots, eight bytes each."""
        ...

    def mismatch(self, value: Any) -> str | None:
        """Return why a value cannot be the argument, or None."""
        ...

    def add(self, value: Any, slots: list[Any]) -> None:
        """Append the slots of a value that can."""
        ...


class ScalarParameter(Struct, frozen=True):
    """A real number or truth value; whether it fits is found out when packing.

    Parameters
    ----------
    dtype
        NumPy's type of it.
    rounded
        What a number becomes before it is packed.
    """

    dtype: np.dtype[Any]
    rounded: Callable[[Any], Any] | None = None

    @property
    def formats(self) -> str:
        return _padded(self.dtype)

    def mismatch(self, value: Any) -> str | None:
        if is_real(value):
            return None
        return f"a number is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(value if self.rounded is None else self.rounded(value))


class TimeParameter(Struct, frozen=True):
    """A date or a span of time, passed as how many units it is.

    Parameters
    ----------
    dtype
        NumPy's type of it.
    """

    dtype: np.dtype[Any]

    @property
    def formats(self) -> str:
        return INDEX

    def mismatch(self, value: Any) -> str | None:
        if isinstance(value, self.dtype.type) and np.can_cast(value.dtype, self.dtype, "safe"):
            return None
        return f"a {self.dtype} is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(int(value.astype(self.dtype).astype(np.int64)))


class ComplexParameter(Struct, frozen=True):
    """A complex number, passed as two floats.

    Parameters
    ----------
    part
        NumPy's type of its parts.
    """

    part: np.dtype[Any]

    @property
    def formats(self) -> str:
        return _padded(self.part) * 2

    def mismatch(self, value: Any) -> str | None:
        if is_real(value) or isinstance(value, complex):
            return None
        return f"a complex number is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        slots += (value.real, value.imag)


class CalleeParameter(Struct, frozen=True):
    """A function or a text, for which the code was compiled: nothing is passed.

    Parameters
    ----------
    name
        What it is, and what it is called.
    is_it
        Whether a value is a function that means the same, or an equal text.
    """

    name: str
    is_it: Callable[[Any], bool]

    @property
    def formats(self) -> str:
        return ""

    def mismatch(self, value: Any) -> str | None:
        return None if self.is_it(value) else f"{self.name} is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        pass


class EnumParameter(Struct, frozen=True):
    """A member of an enumeration, passed as its position.

    Parameters
    ----------
    members
        All of them, in order.
    """

    members: tuple[Any, ...]

    @property
    def formats(self) -> str:
        return INDEX

    def mismatch(self, value: Any) -> str | None:
        if any(value is member for member in self.members):
            return None
        return f"a member of {type(self.members[0]).__qualname__} is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(next(at for at, member in enumerate(self.members) if member is value))


class ArrayParameter(Struct, frozen=True):
    """A NumPy array: its data pointer, its extents, and its byte strides unless C-contiguous.

    Parameters
    ----------
    dtype
        Type of the elements.
    ndim
        Number of dimensions.
    contiguous
        Whether the array must be C-contiguous.
    writable, aligned
        Whether the array must be so.
    """

    dtype: np.dtype[Any]
    ndim: int
    contiguous: bool
    writable: bool = True
    aligned: bool = True

    @property
    def formats(self) -> str:
        return POINTER + INDEX * (self.ndim if self.contiguous else 2 * self.ndim)

    def mismatch(self, value: Any) -> str | None:
        if not isinstance(value, np.ndarray):
            return f"an array of {self.dtype} is wanted, not {_kind_of(value)}"
        if value.dtype is not self.dtype and value.dtype != self.dtype:
            return f"an array of {self.dtype} is wanted, not of {value.dtype}"
        if value.ndim != self.ndim:
            return f"an array of {self.ndim} dimensions is wanted, not of {value.ndim}"
        flags = value.flags
        if self.contiguous and not flags.c_contiguous:
            return "a C-contiguous array is wanted: pass np.ascontiguousarray(...)"
        if self.writable and not flags.writeable:
            return "the array is read-only, and the kernel may write to it"
        if self.aligned and not flags.aligned:
            return "the array is not aligned to its elements: pass a copy"
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(data_pointer(value))
        slots += value.shape
        if not self.contiguous:
            slots += value.strides


class TiledParameter(Struct, frozen=True):
    """An array in blocks: its data pointer and its extents.

    Parameters
    ----------
    dtype
        Type of the elements.
    block, origin
        The extents of a block, and the first element that begins one.
    writable
        Whether the array must be so.
    """

    dtype: np.dtype[Any]
    block: tuple[int, ...]
    origin: tuple[int, ...]
    writable: bool = True

    @property
    def formats(self) -> str:
        return POINTER + INDEX * len(self.block)

    def mismatch(self, value: Any) -> str | None:
        wanted = f"an array of {self.dtype} in blocks of {self.block} with the origin {self.origin}"
        if not isinstance(value, TiledArray):
            return f"{wanted} is wanted, not {_kind_of(value)}: pass weft.tiled(array, {self.block})"
        if (value.dtype, value.block, value.origin) != (self.dtype, self.block, self.origin):
            return f"{wanted} is wanted, not {_kind_of(value)} with the origin {value.origin}"
        if self.writable and not value.memory.flags.writeable:
            return "the array is read-only, and the kernel may write to it"
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(data_pointer(value.memory))
        slots += value.shape


class BufferParameter(Struct, frozen=True):
    """A bare pointer to the data of an array, as C and OpenCL kernels take it.

    Parameters
    ----------
    dtype
        Type of the elements; None for any.
    writable
        Whether the array must be.
    """

    dtype: np.dtype[Any] | None
    writable: bool = True

    @property
    def formats(self) -> str:
        return POINTER

    def mismatch(self, value: Any) -> str | None:
        if not isinstance(value, np.ndarray):
            return f"an array is wanted, not {_kind_of(value)}"
        dtype = value.dtype if self.dtype is None else self.dtype
        return ArrayParameter(dtype, value.ndim, True, self.writable).mismatch(value)

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(data_pointer(value))


class RecordParameter(Struct, frozen=True):
    """A scalar of a structured dtype, passed as a pointer to its bytes.

    Parameters
    ----------
    dtype
        The structured dtype.
    """

    dtype: np.dtype[Any]

    @property
    def formats(self) -> str:
        return POINTER

    def mismatch(self, value: Any) -> str | None:
        if isinstance(value, np.void) and value.dtype == self.dtype:
            return None
        return f"a record of {self.dtype} is wanted, not {_kind_of(value)}"

    def add(self, value: Any, slots: list[Any]) -> None:
        slots.append(value.__array_interface__["data"][0])


class TupleParameter(Struct, frozen=True):
    """A tuple: the slots of its items one after the other; an empty one stands for None too.

    Parameters
    ----------
    items
        The parameters of the items.
    """

    items: tuple[Parameter, ...]

    @property
    def formats(self) -> str:
        return "".join(item.formats for item in self.items)

    def mismatch(self, value: Any) -> str | None:
        if value is None and not self.items:
            return None
        if not isinstance(value, tuple) or len(value) != len(self.items):
            return f"a tuple of {len(self.items)} is wanted, not {_kind_of(value)}"
        for i, (item, part) in enumerate(zip(self.items, value, strict=True)):
            reason = item.mismatch(part)
            if reason:
                return f"item {i}: {reason}"
        return None

    def add(self, value: Any, slots: list[Any]) -> None:
        for item, part in zip(self.items, value or (), strict=True):
            item.add(part, slots)


def _padded(dtype: np.dtype[Any]) -> str:
    return dtype.char + (f"{8 - dtype.itemsize}x" if dtype.itemsize < 8 else "")


def _kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    if isinstance(value, TiledArray):
        return f"an array of {value.dtype} in blocks of {value.block}"
    return f"{type(value).__name__} {value!r}"[:80]

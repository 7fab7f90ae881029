"""Arguments of kernels, from what users pass to the runtime's slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.device.bfloats import bfloats_of, name_of
from weft.device.images import Image, Sampler
from weft.diag.errors import ArgumentError
from weft.diag.source import SourceSpan
from weft.frontend.device.flatten import MAX_ALIGN
from weft.frontend.device.metadata import ADDRESS, SIGNLESS, ArgumentInfo, KernelInfo, Passing
from weft.runtime.array_memory import data_pointer

_LOCAL_ALIGN = 128


class LocalMemory(Struct, frozen=True):
    """An argument for a pointer to local memory: that many bytes, for each work-group.

    Parameters
    ----------
    nbytes
        How many; at least one.
    """

    nbytes: int

    def __post_init__(self) -> None:
        if isinstance(self.nbytes, bool) or not isinstance(self.nbytes, (int, np.integer)) or self.nbytes < 1:
            raise ArgumentError(f"local memory of {self.nbytes!r} bytes", hint="give a positive integer")


def converted(kernel: KernelInfo, args: Sequence[Any]) -> tuple[list[Any], int]:
    """The arguments as `packer_of` takes them, and the bytes of local memory among them.

    Raises
    ------
    ArgumentError
        Their number is wrong, or one does not fit the kernel's signature; the error stands at the argument.
    """
    if len(args) != len(kernel.arguments):
        listed = ", ".join(f"{a.type_name} {a.name}" for a in kernel.arguments)
        raise ArgumentError(
            f"{kernel.name} takes {len(kernel.arguments)} arguments ({listed}), and got {len(args)}",
            _span(kernel, kernel.line),
            "give one for each parameter, in their order",
        )
    values: list[Any] = []
    local = 0
    for argument, given in zip(kernel.arguments, args, strict=True):
        try:
            if argument.passing is Passing.LOCAL:
                values.append(local)
                local += -(-_local(given) // _LOCAL_ALIGN) * _LOCAL_ALIGN
            else:
                values.append(_CONVERTERS[argument.passing](argument, given))
        except _Misfit as misfit:
            raise ArgumentError(
                f"argument '{argument.name}' of {kernel.name}: {misfit}",
                _span(kernel, argument.line or kernel.line),
                misfit.hint,
            ) from None
    return values, local


class _Misfit(Exception):
    """An argument does not fit."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _span(kernel: KernelInfo, line: int) -> SourceSpan | None:
    return SourceSpan(kernel.file, line) if line else None


def _local(given: Any) -> int:
    if not isinstance(given, LocalMemory):
        raise _Misfit(
            f"it is in local memory, and {_kind_of(given)} was given", "pass weft.opencl.LocalMemory(nbytes)"
        )
    return given.nbytes


def _buffer(argument: ArgumentInfo, given: Any) -> np.ndarray[Any, Any] | None:
    """The array that a pointer to global or constant memory leads to; None for null."""
    if given is None:
        return None
    if isinstance(given, LocalMemory):
        raise _Misfit(
            f"it is in {argument.address_space} memory, and local memory was given", "pass an array"
        )
    array = _as_array(given)
    if not array.flags.c_contiguous:
        raise _Misfit("the array is not C-contiguous", "pass np.ascontiguousarray(...)")
    if (
        not array.flags.writeable
        and argument.address_space == "global"
        and "const" not in argument.qualifiers
    ):
        raise _Misfit(
            "the array is read-only, and the kernel may write to it", "pass a copy, or declare it const"
        )
    _require_elements(argument, array)
    align = min(argument.align, MAX_ALIGN)
    if array.size and data_pointer(array) % align:
        raise _Misfit(f"the array begins at an address that is no multiple of {align}", "pass a copy")
    return array


def _as_array(given: Any) -> np.ndarray[Any, Any]:
    if isinstance(given, np.ndarray):
        return given
    if hasattr(given, "__array_interface__") and not isinstance(given, np.generic):
        return np.asarray(given)
    try:
        if isinstance(given, np.generic):
            raise TypeError
        view = memoryview(given)
    except TypeError:
        raise _Misfit(
            f"an array is wanted, not {_kind_of(given)}", "pass a NumPy array, or None for null"
        ) from None
    return np.frombuffer(view, np.uint8) if view.nbytes else np.empty(0, np.uint8)


def _require_elements(argument: ArgumentInfo, array: np.ndarray[Any, Any]) -> None:
    """An array of numbers has those that the pointer leads to; bytes and records may be anything."""
    dtype = array.dtype
    if dtype.hasobject:
        raise _Misfit("the array holds Python objects", "convert it to numbers")
    if not argument.element or dtype.fields or dtype.kind == "V" or dtype.itemsize == 1:
        return
    wanted = np.dtype(argument.element)
    integers = dtype.kind in "iub" and wanted.kind in "iubV"
    if dtype.itemsize != wanted.itemsize or not (integers or dtype.kind == wanted.kind):
        raise _Misfit(
            f"it is a pointer to {argument.type_name.rstrip('*').strip()}, and the array is of {dtype}",
            f"pass an array of {name_of(wanted)}, or its bytes: x.view(np.uint8)",
        )


def _numbers(argument: ArgumentInfo, given: Any) -> list[Any] | np.ndarray[Any, Any]:
    if ADDRESS in argument.qualifiers and not isinstance(given, (int, np.generic)):
        array = _buffer(replace(argument, address_space="global", align=1, element=""), given)
        return [0] if array is None else array
    wanted = np.dtype(argument.element)
    if argument.lanes == 1:
        return [_number(argument, wanted, given)]
    return _vector(argument, wanted, given).tolist()


def _vector(argument: ArgumentInfo, wanted: np.dtype[Any], given: Any) -> np.ndarray[Any, Any]:
    array = _elements(argument, wanted, given)
    if array.size != argument.lanes:
        raise _Misfit(
            f"it is a {argument.type_name}, and {array.size} numbers were given",
            f"pass {argument.lanes} numbers",
        )
    return array


def _elements(argument: ArgumentInfo, wanted: np.dtype[Any], given: Any) -> np.ndarray[Any, Any]:
    """The elements that were given for a vector, those of a record or of what numbers are made into an array of."""
    if wanted.kind == "V":
        if (array := bfloats_of(given)) is None:
            raise _Misfit(
                f"it is a {argument.type_name}, and {_kind_of(given)} was given",
                f"pass numbers of {name_of(wanted)}",
            )
        return array
    if isinstance(given, np.void) or (isinstance(given, np.ndarray) and given.dtype.fields):
        array = np.frombuffer(given.tobytes(), np.uint8)
        if array.size not in (argument.size, wanted.itemsize * argument.lanes):
            raise _Misfit(
                f"it has {argument.size} bytes, and a record of {array.size} was given", "pass its elements"
            )
        return array[: wanted.itemsize * argument.lanes].view(wanted)
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty(0, object)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise _Misfit(
            f"it is a {argument.type_name}, and {_kind_of(given)} was given",
            f"pass an array of {argument.lanes}",
        )
    if isinstance(given, np.ndarray) and not _is_same_kind(array.dtype, wanted):
        raise _Misfit(
            f"it is a {argument.type_name}, and the array is of {array.dtype}", f"make it of {wanted}"
        )
    # A vector of three takes the room of four.
    array = array[:3] if argument.lanes == 3 and array.size == 4 else array
    return np.array([_number(argument, wanted, item) for item in array.tolist()], wanted)


def _number(argument: ArgumentInfo, wanted: np.dtype[Any], given: Any) -> Any:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, np.generic) and not _is_same_kind(given.dtype, wanted):
        raise _Misfit(
            f"it is a {argument.type_name}, and a NumPy number of type {given.dtype} was given",
            f"pass np.{wanted.name}(...), or a number of Python",
        )
    if wanted.kind == "f":
        if not isinstance(given, (int, float, np.floating, np.integer)):
            raise _Misfit(f"it is a {argument.type_name}, and {_kind_of(given)} was given", "pass a number")
        return float(wanted.type(given))
    if not isinstance(given, (int, np.integer, np.bool_)):
        raise _Misfit(f"it is a {argument.type_name}, and {_kind_of(given)} was given", "pass an integer")
    bits = 8 * wanted.itemsize
    low, high = (0, 1 << bits) if wanted.kind == "u" else (-(1 << bits - 1), 1 << bits - 1)
    if isinstance(given, np.generic):
        return given.astype(wanted).item()
    if SIGNLESS in argument.qualifiers and -high // 2 <= given < 0:
        return int(given) + high
    if not low <= given < high:
        raise _Misfit(
            f"{given} does not fit the type, {argument.type_name}", f"it may be {low} to {high - 1}"
        )
    return int(given)


def _is_same_kind(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether a NumPy number may stand for a C one: of the same size, integer for integer, float for float."""
    return (
        given.itemsize == wanted.itemsize
        and (given.kind == "f") == (wanted.kind == "f")
        and given.kind in "iufb"
    )


def _record(argument: ArgumentInfo, given: Any) -> np.ndarray[Any, Any]:
    """A copy of a record's bytes, aligned as the kernel reads them; one of numbers is given as these, too."""
    if argument.element and not isinstance(given, np.void):
        return _aligned(argument, _vector(argument, np.dtype(argument.element), given).tobytes())
    array = given if isinstance(given, np.ndarray) else np.asarray(given)
    if (
        array.size != 1
        or array.dtype.hasobject
        or (array.dtype.kind != "V" and array.dtype.itemsize != argument.size)
    ):
        raise _Misfit(
            f"it is a {argument.type_name}, and {_kind_of(given)} was given",
            "pass a scalar of a structured dtype",
        )
    dtype = array.dtype
    if dtype.itemsize != argument.size:
        raise _Misfit(
            f"it is a {argument.type_name} of {argument.size} bytes, and a record of {dtype.itemsize} was given",
            "make the dtype with align=True, and vectors of three with a fourth element",
        )
    misplaced = set(_leaves(dtype, 0)) - set(argument.fields) if dtype.fields and argument.fields else set()
    if misplaced:
        at, code = min(misplaced)
        raise _Misfit(
            f"the record has a {code} at byte {at}, where {argument.type_name} has none",
            "make the dtype with align=True, and vectors of three with a fourth element",
        )
    return _aligned(argument, array.tobytes())


def _aligned(argument: ArgumentInfo, data: bytes) -> np.ndarray[Any, Any]:
    memory = np.zeros(argument.size + 128, np.uint8)
    start = -data_pointer(memory) % 128
    memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return memory[start : start + argument.size]


def _leaves(dtype: np.dtype[Any], at: int) -> Iterator[tuple[int, str]]:
    """The numbers of a structured dtype: where each is, and its kind and size as `ArgumentInfo.fields` has them."""
    if dtype.fields:
        for field, offset, *_ in dtype.fields.values():
            yield from _leaves(field, at + offset)
    elif dtype.subdtype is not None:
        element, shape = dtype.subdtype
        for k in range(int(np.prod(shape))):
            yield from _leaves(element, at + k * element.itemsize)
    elif dtype.kind in "iufb":
        yield at, f"{'f' if dtype.kind == 'f' else 'i'}{dtype.itemsize}"


def _image(argument: ArgumentInfo, given: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """An image's descriptor, and its pixels."""
    if not isinstance(given, Image):
        raise _Misfit(
            f"it is a {argument.type_name}, and {_kind_of(given)} was given",
            "pass weft.opencl.Image(array, order)",
        )
    misfit = given.misfit(argument.type_name, argument.access)
    if misfit is not None:
        raise _Misfit(*misfit)
    return given.described(argument.type_name), given.array


def _sampler(argument: ArgumentInfo, given: Any) -> int:
    if not isinstance(given, Sampler):
        raise _Misfit(
            f"it is a {argument.type_name}, and {_kind_of(given)} was given", "pass weft.opencl.Sampler(...)"
        )
    return given.bits


_CONVERTERS = {
    Passing.BUFFER: _buffer,
    Passing.VALUE: _numbers,
    Passing.RECORD: _record,
    Passing.IMAGE: _image,
    Passing.SAMPLER: _sampler,
}


def _kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"{type(value).__name__} {value!r}"[:80]

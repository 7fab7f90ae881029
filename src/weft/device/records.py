"""What machine code that launches kernels of C dialects knows of their arguments (`weft.runtime.dispatch`).

It takes pointers and numbers by the rules of `weft.device.parameters.converted`, of the classes that a launch had which
these let through: arrays of the same type of elements, numbers of the same class, and as many bytes of local memory.
What does not fit, and vectors, records and images, go through Python, which knows all cases, and the errors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from weft.device.arrays import DeviceArray, holder
from weft.device.parameters import LocalMemory
from weft.device.slots import size_of
from weft.frontend.device.flatten import MAX_ALIGN
from weft.frontend.device.metadata import ADDRESS, SIGNLESS, ArgumentInfo, KernelInfo, Passing
from weft.runtime.array_memory import byte_bounds
from weft.runtime.dispatch_records import (
    BEGINS,
    BITS,
    BUFFER,
    BYTES_FROM,
    CONTIGUOUS,
    EXACT,
    MOST_SLOTS,
    NONE,
    NULL,
    OWNED,
    RANGED,
    ROUNDED,
    SIZE,
    TRUTH,
    WRITEABLE,
    LaunchArguments,
    held_words,
    memory_words,
    restriction_words,
)
from weft.runtime.holders import Holder, holder_of
from weft.runtime.row_numbers import Restriction
from weft.target.once import once

Words = tuple[int, ...]

_GREATEST = (1 << 63) - 1


def arguments_of(
    kernel: KernelInfo,
    given: Sequence[Any],
    values: Sequence[Any],
    sizes: Sequence[Any] = (),
    *,
    begins: bool = False,
    sized: Collection[int | None] = (),
) -> list[Words] | None:
    """What a record says of arguments like those that a launch had; None where Python has to see to one.

    Parameters
    ----------
    kernel
        The kernel.
    given
        What it was launched with.
    values
        What these were converted to, first of all.
    sizes
        Extents that stand before these: integers, tuples of up to three, or None.
    begins
        Whether arrays with something in front of them are left to other records.
    sized
        The arguments, by number, whose bytes are among the launch's own slots: others are left to other records.
    """
    exact = [size_of(value) if number in sized else 0 for number, value in enumerate(values[: len(given)])]
    described = zip(kernel.arguments, given, values[: len(given)], exact, strict=True)
    words = [*map(_size, sizes), *(_argument(*each, begins=begins) for each in described)]
    known = [w for w in words if w is not None]
    return known if len(known) == len(words) else None


def launch_arguments(
    words: Sequence[Words],
    given: Sequence[Any],
    own: Sequence[Any],
    slots: Sequence[int],
    restrictions: Sequence[Restriction],
) -> LaunchArguments | None:
    """All that a record says of arguments and of what follows them; None where there is too much.

    Parameters
    ----------
    words
        What `arguments_of` says.
    given
        The arguments.
    own
        What follows them: memory of the program, as an array or None, and integers.
    slots
        Those of what follows.
    restrictions
        For which numbers in slots the code is.
    """
    if len(words) > MOST_SLOTS or len(given) + len(slots) > MOST_SLOTS:
        return None
    arrays = [value for value in own if isinstance(value, np.ndarray)]
    # Types of elements are told by their address, which is theirs as long as they are there.
    kept = (*(array.dtype for value in given if (array := _array_of(value)) is not None), *arrays)
    told = (*(word for each in words for word in each), *restriction_words(restrictions))
    memory = byte_bounds(arrays[0]) if arrays else (0, 0)
    return LaunchArguments(len(words), told, tuple(slots), memory, kept)


def _size(given: Any) -> Words | None:
    if given is None:
        return NONE, id(type(None)), 0, 0, 0, 0
    extents = given if type(given) is tuple else (given,)
    if len(extents) > 3 or any(type(extent) is not int or not 0 <= extent <= _GREATEST for extent in extents):
        return None
    x, y, z = (*extents, 0, 0)[:3]
    return SIZE, id(type(given)), len(extents) if type(given) is tuple else 0, x, y, z


def _argument(argument: ArgumentInfo, given: Any, value: Any, exact: int, *, begins: bool) -> Words | None:
    if argument.passing is Passing.BUFFER:
        return _buffer(argument, given, exact, begins=begins)
    if argument.passing is Passing.VALUE and ADDRESS in argument.qualifiers and not isinstance(given, int):
        return None
    if argument.passing is Passing.VALUE and argument.lanes == 1:
        return _number(np.dtype(argument.element), SIGNLESS in argument.qualifiers, given)
    if argument.passing is Passing.LOCAL and type(given) is LocalMemory and type(given.nbytes) is int:
        found = _memory_holder()
        return memory_words(given.nbytes, value, found) if found is not None else None
    return None


@once
def _memory_holder() -> Holder | None:
    """Where machine code finds how many bytes of local memory there are; None where that cannot be told."""
    probe = LocalMemory(1 << 40)
    return holder_of(probe, probe.nbytes)


def _buffer(argument: ArgumentInfo, given: Any, exact: int, *, begins: bool) -> Words | None:
    if given is None:
        return NULL, id(type(None)), 0, 0, 0, 0
    align = min(argument.align, MAX_ALIGN)
    array = _array_of(given)
    if array is None or align.bit_count() != 1:
        return None
    # Of an array that is no part of another one its memory is its own (`size_of`).
    sized = exact << BYTES_FROM | OWNED if exact else 0
    written = argument.address_space == "global" and "const" not in argument.qualifiers
    flags = CONTIGUOUS | (WRITEABLE if written else 0) | (BEGINS if begins else 0) | sized
    words = BUFFER, id(np.ndarray), id(array.dtype), align - 1, flags, array.itemsize
    if array is given:
        return words
    found = holder()
    return held_words(words, found) if found is not None else None


def _array_of(given: Any) -> np.ndarray[Any, Any] | None:
    """The array that an argument is, or holds, of the classes that machine code knows."""
    array = given.array if type(given) is DeviceArray else given
    return array if type(array) is np.ndarray else None


def _number(wanted: np.dtype[Any], signless: bool, given: Any) -> Words | None:
    cls, bits = type(given), 8 * wanted.itemsize
    if wanted.kind not in "iuf":
        return None
    if isinstance(given, np.generic):
        # It was let through, so it has as many bits.
        same = cls is given.dtype.type and given.dtype.isnative
        return (BITS, id(cls), 64 - bits, 0, 0, 0) if same else None
    if wanted.kind == "f":
        if bits not in (32, 64) or cls not in (int, float):
            return None
        if cls is int:
            return EXACT, id(int), 64 - bits, 0, 0, 0
        return (BITS if bits == 64 else ROUNDED), id(float), 0, 0, 0, 0
    if cls is bool:
        return TRUTH, id(bool), 0, 0, 0, 0
    if cls is not int or (signless and wanted.kind != "u"):
        return None
    high = 1 << bits if wanted.kind == "u" else 1 << (bits - 1)
    low = -high // 2 if signless else 0 if wanted.kind == "u" else -high
    return RANGED, id(int), 64 - bits, low & (1 << 64) - 1, min(high - 1, _GREATEST), 0

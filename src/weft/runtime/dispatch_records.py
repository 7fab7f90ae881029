"""What machine code that makes calls knows of functions and kernels: records (`weft.runtime.dispatch`).

A record is a sequence of 64-bit words::

    next record or 0, arguments, entry point, kind of the result, 64 - its bits, whether the thread pool is needed,
    the word of the result's memory where a frame begins or -1, the address of what is known of the result's items,
    the bytes of the result's memory, whether arrays must lie apart (1) or some must not (2) of which one is written to,
    a bit for each argument, and for each item of a tuple behind it: whether it is,
    for each argument, and behind a tuple for each of its items: kind, its Python type, and
        kind 0 (NumPy's scalars, float): 64 - its bits        kind 1 (int)       kind 2 (bool)       kind 4 (None)
        kind 3 (arrays): the type of elements, dimensions, flags, bytes of an element
        kind 5 (one object): that object        kind 6 (tuples): how many items it has
        kind 7 (complex numbers): 64 - the bits of a part

    and, as kernels of C dialects take them, of which each has one slot,
        kind 8 (None for a null pointer)
        kind 9 (arrays for pointers): the type of elements, a power of two less 1 of which the address is a multiple,
            flags that it has at least (with `BEGINS`: nothing in front of it; above 33 bits: how many bytes it has),
            bytes of an element
        kind 10 (int): 64 - its bits, the least and the greatest number
        kind 11 (float, to be rounded to 32 bits)        kind 12 (int for a float): 64 - its bits
        kind 13 (an extent, or a tuple of them, with no slot): 0 or how many, and up to three numbers
        kinds 14 and 15 (objects that hold an array): as kinds 3 and 9 of what they hold; above 8 bits, the place of it
        kind 16 (local memory, an object that holds an int): how many bytes, what is in the slot; above 8 bits, as well

    how many slots are restricted, and for each its place, the least and the greatest number in it; of a product of
    slots the place of the first, above whose 32 bits is how many others follow it; of a difference of two, the place
    of the first, above whose 16 bits is that of the second

A result that is an array, or a tuple of arrays and numbers, has as many items as its "bits" say, and of each is known::

    kind, 64 - its bits or (of an array) its layout, the word of the result's memory where it begins,
    and of an array its dtype, dimensions, bytes of an element

A function that allocates or raises leaves its blocks and its error to a frame behind its result (`weft.ir.heap`). An
array in a block becomes a NumPy array whose base frees the block; others are arguments or views of these. Where two are
in one block, where the result is anything else, and where there is an error, the object's method `_finish` gets the
words of the result.

For a kernel with a grid "entry point" is the address of more words, which say what is launched. Such a call goes
through Python where an array is not C-contiguous or has 2 GiB, and where as many launches are going on, of
other threads, or around it in a signal handler's, as there is scratch memory for. Code for arrays that do not overlap,
and that for arrays that do, have a record each. A launch that stops early, as threads wait at different barriers, has
left its error record: "bytes of the result's memory" is how large that is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import accumulate
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from weft.frontend.python.types import (
    Array,
    Callee,
    KernelType,
    NoneType,
    Scalar,
    Time,
    Tuple,
    bfloat16,
    boolean,
    pyfloat,
    pyint,
)
from weft.options import Overlap
from weft.runtime.holders import Holder
from weft.runtime.results import Description, dtype_of_result, slots_of
from weft.runtime.row_numbers import Restriction
from weft.target.jit import LoadedCode

MOST_SLOTS = 64
_BITS, _INTEGER, _TRUTH, _ARRAY, _NONE, _SAME, _TUPLE_OF, _COMPLEX_NUMBER = range(8)
NULL, BUFFER, RANGED, ROUNDED, EXACT, SIZE, _HELD_ARRAY, _HELD_BUFFER, _MEMORY = range(8, 17)
BITS, TRUTH, NONE = _BITS, _TRUTH, _NONE
_RESULTS = {"b": 3, "i": 4, "u": 5}
LAUNCH, ARRAY, BY_PYTHON, TUPLE, COMPLEX = 6, 7, 8, 9, 10
HEADER, ITEM_WORDS = 11, 6
_OVERLAP = HEADER - 2
"""The word that says whether arrays may overlap, with that which says of which one is written to behind it."""
_WORDS = 6
"""What a record says of an argument."""
EACH = (1 << 64) - 1
"""Of all arguments that they are written to."""
C_ORDER, READONLY = 1, 2
"""The layout of an array that is a result."""
RESULT_WORDS = 64
"""What a result may have, its frame included."""
NO_FRAME = (1 << 64) - 1
CONTIGUOUS, OWNED, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400
"""Flags of NumPy's arrays."""

BEGINS = 1 << 32
"""Beside these: an array is no part of anything that begins in front of it."""

BYTES_FROM = 33
"""The first bit of how many bytes an array has, if only such are taken."""

_VARIADIC = 0x0C
"""Flags of code with ``*args`` or ``**keywords``."""

Words: TypeAlias = "ctypes.Array[ctypes.c_uint64]"


def parameter_words(function: FunctionType) -> Words | None:
    """What machine code binds arguments by; None for functions whose parameters do not all come by position.

    The names and the defaults have to be kept as long as that is in use: the function keeps them.
    """
    code, defaults = function.__code__, function.__defaults__ or ()
    count = code.co_argcount
    if code.co_kwonlyargcount or code.co_flags & _VARIADIC or count > MOST_SLOTS:
        return None
    words = [count]
    for k, name in enumerate(code.co_varnames[:count]):
        place = k - count + len(defaults)
        words += [id(name), id(defaults[place]) if place >= 0 else 0]
    return words_of(words)


class LaunchArguments(Struct, frozen=True):
    """What a record says of the arguments of launches.

    Parameters
    ----------
    count
        How many arguments there are.
    words
        What they are (`argument_words`).
    own
        What is in the slots behind theirs.
    memory
        Where memory begins and ends that the code uses beside arrays, and these may overlap.
    kept
        Objects whose addresses are in the words.
    """

    count: int
    words: tuple[int, ...]
    own: tuple[int, ...] = ()
    memory: tuple[int, int] = (0, 0)
    kept: tuple[object, ...] = ()


class Record:
    """What machine code knows of one function, or of one kernel with a grid.

    Parameters
    ----------
    words
        The record.
    kept
        What it points to, machine code above all: it is there as long as the record is.

    Attributes
    ----------
    finish
        What a call gives, or raises, that has left words: it gets these, and the arguments.
    """

    __slots__ = ("_kept", "finish", "words_of")

    def __init__(self, words: Words, *kept: object) -> None:
        self.words_of = words
        self.finish: Callable[[bytes, tuple[Any, ...]], Any] | None = None
        self._kept = kept

    def withdraw(self) -> None:
        """Let no call have its arguments."""
        self.words_of[1] = 1 << 63

    def equals(self, other: Record) -> bool:
        """Whether it is for the same arguments."""
        return self._arguments() == other._arguments()

    def _arguments(self) -> list[int]:
        told = self.words_of
        return told[1:2] + told[_OVERLAP:]

    @property
    def address(self) -> int:
        return ctypes.addressof(self.words_of)

    def before(self, following: int) -> int:
        """Have it come before the record at an address, or before none if that is 0; its own address."""
        self.words_of[0] = following
        return ctypes.addressof(self.words_of)


def function_record(
    types: Sequence[KernelType],
    code: LoadedCode,
    entry: str,
    result: Description,
    parallel: bool,
    heap: bool,
    restrictions: Sequence[Restriction] = (),
    overlap: Overlap = Overlap.ANY,
    written: Sequence[int] = (),
) -> Record | None:
    """The record of a function; None where its arguments are of other kinds, or its result is too large.

    Parameters
    ----------
    types
        Of its arguments.
    code, entry
        Its machine code, and the entry point in it.
    result
        The description of its result (`weft.runtime.results.describe_result`).
    parallel
        Whether it needs the thread pool.
    heap
        Whether it allocates or raises.
    restrictions
        For which numbers in its slots it is.
    overlap
        Whether arrays may overlap of which one is among those `written` to, by number.
    """
    arguments, slots = argument_words(types, restrictions), slots_of(result)
    if arguments is None or slots + 2 > RESULT_WORDS:
        return None
    kind, spare = _result(result)
    items = _items(result) if kind in {ARRAY, TUPLE} else []
    told = words_of([word for item in items for word in item.words])
    frame = slots if heap else NO_FRAME
    size = 8 * (slots + 2 * heap)
    count = len(items) or spare
    header = [
        0,
        len(_flat(types)),
        code.address(entry),
        kind,
        count,
        int(parallel),
        frame,
        ctypes.addressof(told),
        size,
        overlap,
        sum(1 << len(_flat(types[:n])) for n in written),
    ]
    return Record(words_of([*header, *arguments]), code, told, items)


def words_of(values: Sequence[int]) -> Words:
    """The words, in memory."""
    return (ctypes.c_uint64 * len(values))(*values)


def argument_words(types: Sequence[KernelType], restrictions: Sequence[Restriction]) -> list[int] | None:
    """What a record says of arguments."""
    words: list[int] = []
    flat = _flat(types)
    if len(flat) > MOST_SLOTS:
        return None
    for type in flat:
        argument = _argument(type)
        if argument is None:
            return None
        words += argument
    words += restriction_words(restrictions)
    return words if sum(map(argument_slots, types)) <= MOST_SLOTS else None


def restriction_words(restrictions: Sequence[Restriction]) -> list[int]:
    """What a record says of numbers in slots."""
    return [len(restrictions), *(word for restriction in restrictions for word in restriction)]


def arguments_of_types(
    types: Sequence[KernelType], restrictions: Sequence[Restriction], holders: Sequence[Holder | None]
) -> LaunchArguments | None:
    """What the record of a kernel in Python says of its arguments; None where they are of other kinds.

    Parameters
    ----------
    types
        Of the arguments, or of the arrays that they hold.
    restrictions
        For which numbers in slots the code is.
    holders
        For each argument what holds the array, if something does.
    """
    words = argument_words(types, restrictions)
    if words is None:
        return None
    for k, holder in enumerate(holders):
        if holder is not None:
            begin = _WORDS * len(_flat(types[:k]))
            words[begin : begin + _WORDS] = held_words(words[begin : begin + _WORDS], holder)
    return LaunchArguments(len(types), tuple(words))


def held_words(words: Sequence[int], holder: Holder) -> tuple[int, ...]:
    """What a record says of an object that holds an array of which it would say `words`."""
    kind = _HELD_ARRAY if words[0] == _ARRAY else _HELD_BUFFER
    return kind | holder.place << 8, id(holder.cls), *words[2:]


def memory_words(size: int, slot: int, holder: Holder) -> tuple[int, ...]:
    """What a record says of local memory of so many bytes, whose offset is in its slot."""
    return _MEMORY | holder.place << 8, id(holder.cls), size, slot, 0, 0


def _flat(types: Sequence[KernelType]) -> list[KernelType]:
    """The types, and behind that of each tuple those of its items."""
    return [t for type in types for t in (type, *(_flat(type.items) if isinstance(type, Tuple) else ()))]


class _Item(Struct, frozen=True):
    """What is known of an item of a result; it keeps the type of an array's elements."""

    words: tuple[int, ...]
    dtype: np.dtype[Any] | None


def _items(description: Description) -> list[_Item]:
    """The items of a result that is an array or a tuple."""
    items = description[1] if description[0] == "tuple" else [description]
    begins = accumulate(map(slots_of, items), initial=0)
    return [_item(item, begin) for item, begin in zip(items, begins, strict=False)]


def _item(description: Description, begin: int) -> _Item:
    kind, spare = _result(description)
    if kind != ARRAY:
        return _Item((kind, spare, begin, 0, 0, 0), None)
    _, _, ndim, contiguous, readonly, _ = description
    layout = (C_ORDER if contiguous else 0) | (READONLY if readonly else 0)
    dtype = dtype_of_result(description)
    return _Item((kind, layout, begin, id(dtype), ndim, dtype.itemsize), dtype)


def _result(description: Description) -> tuple[int, int]:
    """Kind and spare bits of a result."""
    match description[0]:
        case "none":
            return 0, 0
        case "tuple" if description[2] is None:
            known = all(
                item[0] in {"scalar", "array"} and _result(item)[0] != BY_PYTHON for item in description[1]
            )
            return TUPLE if known else BY_PYTHON, 0
        case "array" if description[5] is None:
            return ARRAY, 0
        case "scalar":
            _, kind, bits = description
            if kind == "f":
                return {64: (1, 0), 32: (2, 0)}.get(bits, (BY_PYTHON, 0))
            if kind == "c":
                return COMPLEX, 64 - bits // 2
            return (_RESULTS[kind], 64 - max(bits, 8)) if kind in _RESULTS else (BY_PYTHON, 0)
        case _:
            return BY_PYTHON, 0


def _argument(type: KernelType) -> tuple[int, ...] | None:
    if isinstance(type, NoneType):
        return _NONE, id(None.__class__), 0, 0, 0, 0
    if isinstance(type, Callee):
        return _SAME, id(type.value.__class__), id(type.value), 0, 0, 0
    if isinstance(type, Tuple):
        # Computed ones are no arguments, and named ones are taken apart by Python.
        plain = type.__class__ is Tuple and type.cls is None
        return (_TUPLE_OF, id(tuple), len(type.items), 0, 0, 0) if plain else None
    if type is pyint:
        return _INTEGER, id(int), 0, 0, 0, 0
    if type is pyfloat:
        return _BITS, id(float), 0, 0, 0, 0
    if type is boolean:
        # NumPy's truth values go through Python.
        return _TRUTH, id(bool), 0, 0, 0, 0
    if isinstance(type, Time) or type is bfloat16:
        # Times of all units are of one class, and a slot for a bfloat16 has a float: Python sees to these.
        return None
    if isinstance(type, Scalar) and type.kind == "c":
        return _COMPLEX_NUMBER, id(complex if type.weak else type.dtype.type), 64 - type.bits // 2, 0, 0, 0
    if isinstance(type, Scalar) and not type.weak:
        return _BITS, id(type.dtype.type), 64 - type.bits, 0, 0, 0
    if isinstance(type, Array) and isinstance(type.dtype, Scalar) and type.space == 0 and type.shape is None:
        flags = (CONTIGUOUS if type.layout == "C" else 0) | (ALIGNED if type.aligned else 0)
        flags |= 0 if type.readonly else WRITEABLE
        return _ARRAY, id(np.ndarray), id(type.dtype.dtype), type.ndim, flags, type.dtype.size
    return None


def argument_slots(type: KernelType) -> int:
    """How many slots an argument has, of a type of which records are made."""
    if isinstance(type, Array):
        return 1 + type.ndim * (1 if type.layout == "C" else 2)
    if isinstance(type, Tuple):
        return sum(map(argument_slots, type.items))
    if isinstance(type, Scalar) and type.kind == "c":
        return 2
    return 0 if isinstance(type, (NoneType, Callee)) else 1

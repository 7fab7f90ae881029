"""Calls of elementwise functions by machine code: arrays of any shapes that broadcast together, and numbers.

What `weft.runtime.dispatch` is for functions, this is for objects of `weft.vectorize`: a ``__call__`` in machine code.
It finds the record for the types of the arguments, broadcasts their shapes, makes the result as NumPy would lay it out,
joins the axes that all operands go through in even steps, and runs the code of a loop over one axis, the innermost,
for each row. Rows of a few elements are put together in blocks, for which inputs that do not lie evenly are copied. So
are the inputs of little work that go in other steps than from element to element. Rows and blocks of much work are
shared among the pool's threads, long rows in the loop itself. Which code runs depends on the pattern: whether each
operand stays where it is, goes from element to element, or in other steps. Where there is no record, no code for the
pattern or no pool yet, and where a result overlaps an operand, it calls the method `_call`, which makes what was
missing; the pattern that was is in the second word of the lines.

All words have 64 bits. A record::

    next record or 0, number of inputs, dtype of the result, bytes of its elements, address of the lines,
    for each input from word `_HEADER` on: its Python type, kind (0 for arrays, else how the number is converted), dtype
    of its elements, their bytes, slots of one as a number, and the least and the greatest int that it may be

The lines of all records for the same types of elements are a list: ``first line or 0, pattern that was missing``, and
each line ``next line or 0, pattern, address of the code``. A pattern has two bits for each operand (inputs, mask if
there is one, result) and the bit `MASKED`. The code takes slots as any function of `weft.jit`, the inputs first.
"""

from __future__ import annotations

import ctypes
import string
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.frontend.python.types import Scalar
from weft.runtime.dispatch import METHOD_FLAGS, Method, calls, numpy_function, python_address
from weft.runtime.interrupts import ALONE, CALLERS, ENTER, interrupts, watch_main_thread
from weft.runtime.own_code import own_code
from weft.runtime.parallel import parallel_symbols, prepare_pool
from weft.runtime.settings import POOL_READY
from weft.target.machine import TargetSpec
from weft.target.once import once

_CALL = "weft_elementwise"
_PYTHON = (
    *(
        "PyObject_GetAttr",
        "PyLong_AsVoidPtr",
        "PyLong_AsLongLongAndOverflow",
        "PyErr_Occurred",
        "PyTuple_Size",
    ),
    *("PyTuple_GetItem", "Py_IncRef", "Py_DecRef", "PyObject_VectorcallMethod", "PyLong_FromVoidPtr"),
    "PyBytes_FromStringAndSize",
)
_NEW_FROM_DESCR, _SCALAR = 94, 60
"""Places in NumPy's table of functions."""

MOST_INPUTS, _DIMENSIONS = 8, 8
_OPERANDS_AT, _OPERAND_WORDS = 32, 24
_HEADER, _ARGUMENT_WORDS = 8, 8
UNIFORM, DENSE, STRIDED = range(3)
MASKED = 1 << 40

_ARRAY, _RAW, _FLOAT_TO_SINGLE, _INT_TO_INT, _INT_TO_DOUBLE, _INT_TO_SINGLE, _BOOL = range(7)
_EXACT = 1 << 53
"""Greater ints are not all floats."""

_SHORT_ROW, _MANY_ROWS = 16, 64
"""Rows of fewer elements, if there are more of them, are put together in blocks."""

_BLOCK = 512
"""Of so many elements at most."""

_LITTLE = 1 << 16
"""So many elements are in a cache, where a copy takes less time than to gather them; out of memory it takes more."""

_LARGE, _LONG_ROW, _CHUNK = 1 << 15, 1 << 14, 1 << 12
"""From so many elements on rows shorter than these are shared among threads, at least so many elements each."""


class ElementwiseCalls:
    """The machine code, in this process, and what it works with."""

    def __init__(self) -> None:
        operands = MOST_INPUTS + 2
        text = string.Template(Path(__file__).with_name("elementwise_calls.ll").read_text()).substitute(
            PLAN=_OPERANDS_AT + operands * _OPERAND_WORDS,
            VALUES=2 * MOST_INPUTS,
            SHAPE=8,
            ORDER=16,
            EXTENTS=24,
            OPERANDS=_OPERANDS_AT,
            OPERAND=_OPERAND_WORDS,
            OPERAND_COUNT=operands,
            STRIDES=8,
            STEPS=16,
            SLOTS=3 * operands,
            DIMENSIONS=_DIMENSIONS,
            HEADER=_HEADER,
            ARGUMENT=_ARGUMENT_WORDS,
            ALIGNED=0x100,
            ALIGNED_WRITEABLE=0x500,
            UNIFORM=UNIFORM,
            DENSE=DENSE,
            STRIDED=STRIDED,
            MASKED=MASKED,
            RAW=_RAW,
            FLOAT_TO_SINGLE=_FLOAT_TO_SINGLE,
            INT_TO_INT=_INT_TO_INT,
            INT_TO_DOUBLE=_INT_TO_DOUBLE,
            INT_TO_SINGLE=_INT_TO_SINGLE,
            BOOL=_BOOL,
            SHORT_ROW=_SHORT_ROW,
            MANY_ROWS=_MANY_ROWS,
            LARGE=_LARGE,
            LONG_ROW=_LONG_ROW,
            CHUNK=_CHUNK,
            BLOCK=_BLOCK,
            LITTLE=_LITTLE,
            CHUNK_BLOCKS=_CHUNK // _BLOCK,
        )
        self._names = tuple(map(sys.intern, ("_table", "_call", "_finish", "out", "where")))
        self._addresses = (ctypes.c_void_p * 5)(*map(id, self._names))
        self._truths = np.dtype(np.bool_)
        imports = {
            **{name: python_address(name) for name in _PYTHON},
            "weft_new_array": numpy_function(_NEW_FROM_DESCR),
            "weft_new_scalar": numpy_function(_SCALAR),
            "weft_array_type": id(np.ndarray),
            "weft_truths": id(self._truths),
            "_Py_TrueStruct": id(True),
            ENTER: interrupts().enter_address,
            ALONE: interrupts().alone_address,
            **parallel_symbols(),
            "weft_names": ctypes.addressof(self._addresses),
            "weft_callers": ctypes.addressof(CALLERS),
            "weft_pool_ready": ctypes.addressof(POOL_READY),
        }
        self._code = own_code("elementwise", text, (_CALL,), TargetSpec.chosen(), imports)
        self._methods: dict[type, Method] = {}

    def take_over(self, cls: type) -> bool:
        """Give a class of objects that have `_table`, `_call` and `_finish` its ``__call__``; whether that is new."""
        if cls in self._methods:
            return False
        doc = cls.__call__.__doc__ or ""
        method = self._methods[cls] = Method(
            b"__call__", self._code.address(_CALL), METHOD_FLAGS, doc.encode()
        )
        make = ctypes.pythonapi.PyDescr_NewMethod
        make.argtypes, make.restype = (ctypes.py_object, ctypes.c_void_p), ctypes.py_object
        cls.__call__ = make(cls, ctypes.addressof(method))
        return True

    def get_ready(self) -> bool:
        """Have what calls need of this process and thread; whether something was missing."""
        unready = not POOL_READY.value
        if unready:
            prepare_pool()
        return watch_main_thread() or unready


@once
def elementwise_calls() -> ElementwiseCalls | None:
    """The machine code of this process; None where calls go through Python."""
    if calls() is None or not _makes_numbers():
        return None
    return ElementwiseCalls()


def _makes_numbers() -> bool:
    """Whether that function is in NumPy's table which makes a number of memory."""
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    value, dtype = ctypes.c_float(2.5), np.dtype(np.float32)
    made = kind(numpy_function(_SCALAR))(ctypes.addressof(value), dtype, None)
    return type(made) is np.float32 and made == 2.5


class Lines:
    """The loops over one axis for some types of elements, by pattern."""

    __slots__ = ("_kept", "_words")

    def __init__(self) -> None:
        self._words = (ctypes.c_uint64 * 2)()
        self._kept: dict[int, object] = {}

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    def missing(self) -> int:
        """The pattern that a call has not found last, if it has not been asked for before; else 0."""
        pattern, self._words[1] = self._words[1], 0
        return 0 if pattern in self._kept else pattern

    def refuse(self, pattern: int) -> None:
        """Note that there is no code for a pattern which machine code may call."""
        self._kept[pattern] = None

    def add(self, pattern: int, entry: int, code: object) -> int:
        """Note the address of the code for a pattern, and keep the code; by which number `_finish` will call it."""
        line = (ctypes.c_uint64 * 3)(self._words[0], pattern, entry)
        self._kept[pattern] = line, code
        self._words[0] = ctypes.addressof(line)
        return ctypes.addressof(line)


class ElementwiseRecord:
    """What machine code knows of a function for arguments of some types.

    Attributes
    ----------
    types, result
        The types of their elements, and of the results'.
    lines
        The loops for these.
    """

    __slots__ = ("_kept", "_words", "lines", "result", "types")

    def __init__(
        self,
        words: Any,
        kept: Sequence[object],
        types: tuple[Scalar, ...],
        result: np.dtype[Any],
        lines: Lines,
    ) -> None:
        self._words = words
        self._kept = kept
        self.types = types
        self.result = result
        self.lines = lines

    def before(self, following: int) -> int:
        """Have it come before the record at an address, or before none if that is 0; its own address."""
        self._words[0] = following
        return ctypes.addressof(self._words)


def elementwise_record(
    args: Sequence[Any], types: tuple[Scalar, ...], result: np.dtype[Any], lines: Lines
) -> ElementwiseRecord | None:
    """The record for such arguments; None where one is of a kind that only Python code knows.

    Parameters
    ----------
    args
        Arguments: arrays, of which only the type of elements matters, and numbers, of which only the type does.
    types
        The types that their elements have for the function.
    result
        The type of its results.
    lines
        The loops for these types.
    """
    if len(args) > MOST_INPUTS:
        return None
    words: list[int] = [0, len(args), id(result), result.itemsize, lines.address]
    words += [0] * (_HEADER - len(words))
    kept: list[object] = [result]
    for value, type_ in zip(args, types, strict=True):
        dtype = value.dtype if type(value) is np.ndarray else type_.dtype
        described = _described(value, type_)
        if described is None:
            return None
        kind, least, greatest = described
        kept.append(dtype)
        words += [id(type(value)), kind, id(dtype), type_.size, 1 + (type_.kind == "c"), least, greatest, 0]
    made = (ctypes.c_uint64 * len(words))(*(w % (1 << 64) for w in words))
    return ElementwiseRecord(made, kept, types, result, lines)


def _described(value: Any, wanted: Scalar) -> tuple[int, int, int] | None:
    """How an argument is taken, and from where to where an int may be."""
    given, dtype = type(value), wanted.dtype
    if given is np.ndarray:
        return (_ARRAY, 0, 0) if value.dtype == dtype else None
    if given is dtype.type or (given, dtype.char) in ((float, "d"), (complex, "D")):
        return _RAW, 0, 0
    if given is bool and dtype.kind == "b":
        return _BOOL, 0, 0
    if given is float and dtype.char == "f":
        return _FLOAT_TO_SINGLE, 0, 0
    if given is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return _INT_TO_INT, limits.min, min(limits.max, (1 << 63) - 1)
    if given is int and dtype.char in "df":
        return (_INT_TO_DOUBLE if dtype.char == "d" else _INT_TO_SINGLE), -_EXACT, _EXACT
    return None


def kinds_of(pattern: int, count: int) -> tuple[int, ...]:
    """What a pattern says of so many operands."""
    return tuple((pattern >> 2 * k) & 3 for k in range(count))

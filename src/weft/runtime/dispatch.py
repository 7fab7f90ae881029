"""Calls of compiled functions by machine code: from Python's arguments to the slots, and from the result to its object.

Python code takes some microseconds for a call; most functions on few numbers take less to run. So a class of callable
objects gets a ``__call__`` in machine code. It goes through the records of what was compiled for an object, and runs
the first that has the types of the arguments. Those by name, and defaults, come from words that `_parameters` is the
address of (`parameter_words`), or 0. Where no record has the types, it calls the object's method `_call`, which knows
all cases. Any thread may call; launches of the main one end with Ctrl-C (`weft.runtime.interrupts`).

The records are those of `weft.runtime.dispatch_records`.

It rests on where CPython and NumPy keep the parts of floats, scalars and arrays. This is looked at before it is used;
where they lie elsewhere, calls go through Python.
"""

from __future__ import annotations

import ctypes
import string
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from weft.codegen.launch_record import ERROR_WORDS
from weft.machine.host import core_count
from weft.options import Overlap
from weft.runtime.arena import ArenaSet
from weft.runtime.array_memory import LONG
from weft.runtime.dispatch_records import (
    ALIGNED,
    ARRAY,
    BY_PYTHON,
    C_ORDER,
    COMPLEX,
    CONTIGUOUS,
    EACH,
    HEADER,
    ITEM_WORDS,
    LAUNCH,
    MOST_SLOTS,
    NO_FRAME,
    READONLY,
    RESULT_WORDS,
    TUPLE,
    WRITEABLE,
    LaunchArguments,
    Record,
    words_of,
)
from weft.runtime.heap import HEADER_BYTES
from weft.runtime.interrupts import ALONE, CALLERS, ENTER, interrupts
from weft.runtime.own_code import own_code
from weft.runtime.parallel import parallel_symbols
from weft.runtime.pool import thread_limit
from weft.runtime.settings import POOL_READY, get_num_threads
from weft.runtime.shape import LaunchShape
from weft.target.jit import LoadedCode
from weft.target.machine import TargetSpec
from weft.target.once import once

_DISPATCH, _CLAIM = "weft_dispatch", "weft_arena_claim"
_PYTHON = (
    *("PyObject_GetAttr", "PyLong_AsVoidPtr", "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong"),
    *(
        "PyLong_FromUnsignedLongLong",
        "PyFloat_FromDouble",
        "PyComplex_FromDoubles",
        "PyBool_FromLong",
        "PyErr_Occurred",
    ),
    *("PyErr_SetString", "Py_IncRef", "Py_DecRef", "PyTuple_Size", "PyObject_VectorcallMethod"),
    *("PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem"),
    *("PyLong_FromVoidPtr", "PyBytes_FromStringAndSize", "PyCapsule_New", "PyCapsule_GetPointer"),
)
_FILES = ("dispatch.ll", "result_objects.ll")
_TABLE, _SLOW, _FINISH, _PARAMETERS = "_table", "_call", "_finish", "_parameters"

_NEW_FROM_DESCR, _SET_BASE = 94, 282
"""Places in NumPy's table of functions."""
_OWN_FLAGS = CONTIGUOUS | ALIGNED | WRITEABLE
"""Of a new array."""
_ARENA_SETS = 16
_ARENAS = (ctypes.c_int64 * 4 * _ARENA_SETS)()
"""Scratch memory of launches by machine code, for one at a time each: a table, for how many threads, of how many bytes
each, and whether a launch has it."""
_ARENA_BYTES = 1 << 26
"""What all but the first may have together."""

METHOD_FLAGS = 0x82
"""``METH_FASTCALL`` and ``METH_KEYWORDS``."""


class Method(ctypes.Structure):
    """CPython's description of a method."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Calls:
    """The machine code, in this process, and what it works with."""

    def __init__(self) -> None:
        spec = TargetSpec.chosen()
        text = string.Template("\n".join(map(_text, _FILES))).substitute(
            SLOTS=MOST_SLOTS,
            PLACES=MOST_SLOTS + 1,
            FLAGS=CONTIGUOUS | ALIGNED | WRITEABLE,
            LAUNCH=LAUNCH,
            ARENA_SETS=_ARENA_SETS,
            LARGEST=LONG - 1,
            ERROR_WORDS=ERROR_WORDS,
            HEADER=HEADER,
            RESULT_WORDS=RESULT_WORDS,
            ARRAY=ARRAY,
            C_ORDER=C_ORDER,
            READONLY=READONLY,
            ITEM_WORDS=ITEM_WORDS,
            VIEW_FLAGS=ALIGNED | WRITEABLE,
            NOT_WRITEABLE=~WRITEABLE,
            PYTHON=BY_PYTHON,
            TUPLE=TUPLE,
            COMPLEX=COMPLEX,
            OWN_FLAGS=_OWN_FLAGS,
            HEADER_BYTES=HEADER_BYTES,
        )
        self._names = tuple(map(sys.intern, (_TABLE, _SLOW, _FINISH, _PARAMETERS)))
        self._addresses = (ctypes.c_void_p * 4)(*map(id, self._names))
        imports = {
            **{name: python_address(name) for name in _PYTHON},
            "free": _free_address(),
            "weft_new_array": numpy_function(_NEW_FROM_DESCR),
            "weft_set_base": numpy_function(_SET_BASE),
            "weft_array_type": id(np.ndarray),
            "weft_tuple_type": id(tuple),
            "weft_int_type": id(int),
            "_Py_NoneStruct": id(None),
            "_Py_TrueStruct": id(True),
            "_Py_RuntimeError": id(RuntimeError),
            ENTER: interrupts().enter_address,
            ALONE: interrupts().alone_address,
            **parallel_symbols(),
            "weft_arenas": ctypes.addressof(_ARENAS),
            "weft_names": ctypes.addressof(self._addresses),
            "weft_callers": ctypes.addressof(CALLERS),
            "weft_pool_ready": ctypes.addressof(POOL_READY),
        }
        self._arenas = [ArenaSet() for _ in range(_ARENA_SETS)]
        self._code = own_code("dispatch", text, (_DISPATCH, _CLAIM), spec, imports)
        # It keeps the GIL, as launches do until they have theirs.
        self._claim = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int64)(self._code.address(_CLAIM))
        self._methods: list[Method] = []
        self._taken: set[type] = set()

    def reserve(self, threads: int, size: int) -> None:
        """Have scratch memory for so many threads, but for that where a launch is going on."""
        sets = min(_ARENA_SETS, 1 + _ARENA_BYTES // max(1, threads * size))
        for i, (words, arenas) in enumerate(zip(_ARENAS[:sets], self._arenas[:sets], strict=True)):
            if self._claim(i):
                try:
                    words[0] = arenas.reserve(threads, size)
                    words[1], words[2] = arenas.workers, arenas.size
                finally:
                    words[3] = 0

    def take_over_once(self, cls: type) -> None:
        """Do so, if it has not been done."""
        if cls not in self._taken:
            self._taken.add(cls)
            self.take_over(cls)

    def take_over(self, cls: type) -> None:
        """Give a class of objects that have `_table`, `_parameters`, `_call` and `_finish` its ``__call__``."""
        doc = cls.__call__.__doc__ or ""
        method = Method(b"__call__", self._code.address(_DISPATCH), METHOD_FLAGS, doc.encode())
        self._methods.append(method)
        make = ctypes.pythonapi.PyDescr_NewMethod
        make.argtypes, make.restype = (ctypes.py_object, ctypes.c_void_p), ctypes.py_object
        cls.__call__ = make(cls, ctypes.addressof(method))


@once
def calls() -> Calls | None:
    """The machine code of this process; None where calls go through Python.

    The first call of all does not ask for it: a process that makes one would wait for what it has no use for.
    """
    _asked.append(True)
    return Calls() if _lies_as_expected() else None


_asked: list[bool] = []


def is_loaded() -> bool:
    """Whether there is the machine code already, or none at all."""
    return bool(_asked)


def _text(file: str) -> str:
    return Path(__file__).with_name(file).read_text()


def python_address(name: str) -> int:
    """The address of a function of Python's."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _free_address() -> int:
    address = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
    assert address is not None
    return address


@once
def _numpy_functions() -> Any:
    """NumPy's table of functions for other languages."""
    table = import_module("numpy._core._multiarray_umath")._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return ctypes.cast(pointer(table, None), ctypes.POINTER(ctypes.c_void_p))


def numpy_function(place: int) -> int:
    """The address of the function at a place in NumPy's table."""
    return int(_numpy_functions()[place])


def _makes_arrays() -> bool:
    """Whether the functions are in NumPy's table that are expected there."""
    kind = (
        ctypes.py_object,
        ctypes.py_object,
        ctypes.py_object,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )
    make = ctypes.PYFUNCTYPE(*kind, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
        numpy_function(_NEW_FROM_DESCR)
    )
    tie = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object)(numpy_function(_SET_BASE))
    memory, shape, dtype = (ctypes.c_float * 6)(*range(6)), (ctypes.c_int64 * 2)(2, 3), np.dtype(np.float32)
    for counted in (dtype, memory):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(counted))
    made = make(np.ndarray, dtype, 2, shape, None, ctypes.addressof(memory), _OWN_FLAGS, None)
    tied = tie(made, memory) == 0
    flags = made.flags
    return (
        tied
        and made.base is memory
        and made.tolist() == [[0, 1, 2], [3, 4, 5]]
        and made.dtype == dtype
        and flags.c_contiguous
        and flags.writeable
        and flags.aligned
        and not flags.owndata
    )


def _lies_as_expected() -> bool:
    """Whether floats, NumPy's scalars and arrays have their parts where the machine code looks for them."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False

    def read(value: object, offset: int, kind: Any) -> Any:
        return kind.from_address(id(value) + offset).value

    number, array = 1.5, np.zeros((3, 5), np.float32)[:, 1:]
    if read(number, 8, ctypes.c_void_p) != id(float) or read(number, 16, ctypes.c_double) != number:
        return False
    kinds = ((np.float32(2.5), ctypes.c_float), (np.int64(-7), ctypes.c_int64), (np.uint8(9), ctypes.c_uint8))
    if any(read(value, 16, kind) != value for value, kind in kinds):
        return False
    for value, kind in (
        (1.5 - 2.5j, ctypes.c_double),
        (np.complex128(1.5 - 2.5j), ctypes.c_double),
        (np.complex64(1.5 - 2.5j), ctypes.c_float),
    ):
        if (read(value, 16, kind), read(value, 16 + ctypes.sizeof(kind), kind)) != (1.5, -2.5):
            return False
    shape, strides = (read(array, at, ctypes.c_void_p) for at in (32, 40))
    words = ctypes.c_int64 * 2
    return (
        read(array, 16, ctypes.c_void_p) == array.ctypes.data
        and read(array, 24, ctypes.c_int) == 2
        and read(array, 48, ctypes.c_void_p) == id(array.base)
        and read(array, 56, ctypes.c_void_p) == id(array.dtype)
        and read(array, 64, ctypes.c_int) & (CONTIGUOUS | ALIGNED | WRITEABLE) == ALIGNED | WRITEABLE
        and tuple(words.from_address(shape)) == array.shape
        and tuple(words.from_address(strides)) == array.strides
        and _makes_arrays()
    )


def launch_record(
    arguments: LaunchArguments,
    code: LoadedCode,
    entry: int,
    shape: LaunchShape,
    chunk: int,
    threads: int,
    arena: int,
    overlap: Overlap,
    stops: bool,
) -> Record | None:
    """The record of a kernel that does not print.

    Parameters
    ----------
    arguments
        Those that it is for.
    code, entry
        Its machine code, and the address of the entry point.
    shape
        What is launched.
    chunk
        Of how many groups those that are handed out are a multiple, as a job says it.
    threads
        How many are of use.
    arena
        Bytes of scratch memory that a thread needs.
    overlap
        Whether its arrays may overlap.
    stops
        Whether it stops where threads wait at different barriers, which `Record.finish` tells then.
    """
    known = calls()
    if known is None:
        return None
    known.reserve(thread_limit(max(get_num_threads(), core_count())), arena)
    words = [entry, shape.groups, chunk, threads, *shape.grid, *shape.block]
    own = arguments.own
    launch = words_of([*words, shape.dynamic_bytes, arena, *arguments.memory, len(own), *own])
    header = [
        0,
        arguments.count,
        ctypes.addressof(launch),
        LAUNCH,
        0,
        1,
        NO_FRAME,
        0,
        8 * ERROR_WORDS * stops,
        overlap,
        EACH,
    ]
    return Record(words_of([*header, *arguments.words]), launch, code, arguments.kept)

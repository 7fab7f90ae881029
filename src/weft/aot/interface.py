"""What a library exports, as data: what makes the C, the header and the Python stub of it.

Code is made in a process for each level of instructions, so these classes come and go as JSON.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from weft.diag.errors import UnsupportedError
from weft.frontend.device.metadata import ArgumentInfo, Passing
from weft.frontend.python.components import parameter_components
from weft.frontend.python.types import Array, KernelType, Scalar, Tuple, none
from weft.ir.types import FloatType, IntType, PointerType, Type

KERNEL, FUNCTION, UFUNC, PLAIN = "kernel", "function", "ufunc", "plain"


class Slot(Struct, frozen=True):
    """One value that compiled code takes, in a slot of eight bytes.

    Parameters
    ----------
    name, ctype
        As C has them.
    role
        ``value``, ``real``, ``imag``, ``data``, ``extent`` or ``stride``; ``local``, bytes of local memory.
    dimension
        Of an extent or stride.
    """

    name: str
    ctype: str
    role: str
    dimension: int = 0


class Parameter(Struct, frozen=True):
    """An argument as Python has it.

    Parameters
    ----------
    name
        Its name.
    dtype
        NumPy's name of a number's type, or of an array's elements.
    ndim
        Dimensions of an array, -1 for a number, -2 for an array of any, -3 for bytes of local memory, -4 for a tuple.
    contiguous, readonly
        What an array is.
    slots
        What compiled code takes for it. Of a result that is an array, strides are not among them.
    items
        Of a tuple.
    """

    name: str
    dtype: str
    ndim: int
    contiguous: bool
    readonly: bool
    slots: tuple[Slot, ...]
    items: tuple[Parameter, ...] = ()

    @property
    def words(self) -> int:
        """How many words a result is."""
        return len(self.slots) + (0 if self.ndim < 0 or self.contiguous else self.ndim)


class Export(Struct, frozen=True):
    """A kernel, function, elementwise function, or function of C.

    Parameters
    ----------
    name, kind
        What it is called, and what it is.
    symbol
        Its entry point, without the name of the level before it.
    parameters
        Its arguments.
    results, returns_tuple
        What it returns, and whether that is a tuple of these.
    errors
        Kind and message of each error that it may end with, in the order of their numbers from 1.
    fails
        Whether it returns such a number, and its results through pointers.
    prints
        Whether it calls ``print``.
    parallel
        Whether it uses the thread pool itself.
    arena, run_unit
        Of a kernel: fixed bytes, bytes by lane group, lanes along x, y and z; and what is in
        `weft.codegen.order.run_unit`.
    declaration
        Of a function of C: its prototype.
    strided
        Of an elementwise function: the entry point for arrays of any stride; `symbol` is for contiguous ones.
    is_opencl
        Whether two slots follow those of the arguments: where the program's variables are, and the dimensions.
    """

    name: str
    kind: str
    symbol: str
    parameters: tuple[Parameter, ...] = ()
    results: tuple[Parameter, ...] = ()
    returns_tuple: bool = False
    errors: tuple[tuple[str, str], ...] = ()
    fails: bool = False
    prints: bool = False
    parallel: bool = False
    arena: tuple[int, int, int, int, int] = (0, 0, 1, 1, 1)
    run_unit: tuple[int, int, int, int, int] = (1, 0, -1, 1, 0)
    declaration: str = ""
    strided: str = ""
    is_opencl: bool = False

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What compiled code takes, in order."""
        return tuple(slot for parameter in self.parameters for slot in parameter.slots)

    @property
    def returned(self) -> str:
        """The C type of its only result, where C returns that; else it is empty."""
        one = not self.fails and len(self.results) == 1 and not self.returns_tuple
        return self.results[0].slots[0].ctype if one and len(self.results[0].slots) == 1 else ""


class Made(Struct):
    """What one process has made for one level.

    Parameters
    ----------
    exports
        What there is.
    objects
        Files with object code.
    scope, pointers
        Variables of an OpenCL program as hexadecimal digits, and where they hold addresses of each other.
    """

    exports: list[Export] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    scope: str = ""
    pointers: list[tuple[int, int]] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return to_builtins(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Made:
        """Read it back."""
        return cls(
            [_export(each) for each in data["exports"]],
            data["objects"],
            data["scope"],
            [(place, to) for place, to in data["pointers"]],
        )


def _export(data: dict[str, Any]) -> Export:
    parameters, results = tuple(map(_read, data["parameters"])), tuple(map(_read, data["results"]))
    sized = {"arena": tuple(data["arena"]), "run_unit": tuple(data["run_unit"])}
    errors = tuple((kind, message) for kind, message in data["errors"])
    return Export(**{**data, **sized, "parameters": parameters, "results": results, "errors": errors})


def _read(data: dict[str, Any]) -> Parameter:
    slots, items = tuple(Slot(**slot) for slot in data["slots"]), tuple(map(_read, data["items"]))
    return Parameter(**{**data, "slots": slots, "items": items})


def parameter(name: str, type: KernelType) -> Parameter:
    """An argument of a type.

    Raises
    ------
    UnsupportedError
        A library cannot take such an argument.
    """
    name = c_name(name)
    if isinstance(type, Scalar):
        slots = tuple(
            Slot(name + {"real": "_re", "imag": "_im"}.get(c.role, ""), c_type(c.type, type), c.role)
            for c in parameter_components(type)
        )
        return Parameter(name, numpy_name(type), -1, True, True, slots)
    if isinstance(type, Array) and isinstance(type.dtype, Scalar) and type.shape is None:
        return Parameter(
            name, numpy_name(type.dtype), type.ndim, type.layout == "C", type.readonly, _array(name, type)
        )
    if isinstance(type, Tuple):
        items = tuple(parameter(f"{name}_{k}", item) for k, item in enumerate(type.items))
        return Parameter(name, "", -4, True, True, tuple(s for item in items for s in item.slots), items)
    raise UnsupportedError(
        f"argument {name!r} is of type {type}: libraries take numbers, arrays of numbers, and tuples of these",
        hint="pass the parts of a record one by one",
    )


def opencl_parameter(argument: ArgumentInfo) -> Parameter:
    """An argument of a kernel in OpenCL C.

    Raises
    ------
    UnsupportedError
        It is a record, an image, a sampler, or a vector by value.
    """
    name = c_name(argument.name)
    if argument.passing is Passing.LOCAL:
        return Parameter(name, "", -3, True, True, (Slot(name, "int64_t", "local"),))
    if argument.passing is Passing.VALUE and argument.lanes == 1:
        dtype = np.dtype(argument.element)
        return Parameter(name, dtype.name, -1, True, True, (Slot(name, _ctype_of(dtype), "value"),))
    if argument.passing is Passing.BUFFER:
        dtype = np.dtype(argument.element) if argument.element else np.dtype(np.uint8)
        readonly = "const" in argument.qualifiers or argument.address_space == "constant"
        element = _ctype_of(dtype) if argument.element else "void"
        slot = Slot(name, f"{'const ' if readonly else ''}{element} *", "data")
        return Parameter(name, dtype.name if argument.element else "", -2, True, readonly, (slot,))
    raise UnsupportedError(
        f"argument {name!r} is a {argument.type_name}: libraries take numbers, buffers and local memory",
        hint="pass a buffer instead",
    )


def _ctype_of(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "f":
        return {2: "uint16_t", 4: "float", 8: "double"}[dtype.itemsize]
    return f"{'u' if dtype.kind in 'ub' else ''}int{8 * dtype.itemsize}_t"


def _array(name: str, type: Array) -> tuple[Slot, ...]:
    assert isinstance(type.dtype, Scalar)
    element = element_type(type.dtype)
    names = {"data": name, "extent": f"{name}_shape", "stride": f"{name}_stride"}
    found: list[Slot] = []
    for component in parameter_components(type):
        if component.role == "data":
            found.append(Slot(name, f"{'const ' if type.readonly else ''}{element} *", "data"))
        else:
            text = f"{names[component.role]}{component.dim}"
            found.append(Slot(text, "int64_t", component.role, component.dim))
    return tuple(found)


def results_of(type: KernelType) -> tuple[Parameter, ...]:
    """What a function returns, one by one.

    Raises
    ------
    UnsupportedError
        A library cannot return it.
    """
    if type == none:
        return ()
    if isinstance(type, Tuple):
        return tuple(_result(f"result{k}", item, type) for k, item in enumerate(type.items))
    return (_result("result", type, type),)


def _result(name: str, type: KernelType, whole: KernelType) -> Parameter:
    if isinstance(type, Array) and isinstance(type.dtype, Scalar) and type.shape is None:
        # It is the caller's, who may write to it.
        type = Array(type.dtype, type.ndim, type.layout)
    if isinstance(type, Scalar) or (isinstance(type, Array) and not type.readonly):
        found = parameter(name, type)
        return replace(found, slots=tuple(s for s in found.slots if s.role != "stride"))
    raise UnsupportedError(
        f"it returns {whole}: functions of libraries return numbers, arrays of numbers, or tuples of these",
        hint="write to an array that is an argument",
    )


def numpy_name(type: Scalar) -> str:
    """NumPy's name of a type."""
    if type.kind == "b":
        return "bool"
    return {"i": "int", "u": "uint", "f": "float", "c": "complex"}[type.kind] + str(type.bits)


def element_type(type: Scalar) -> str:
    """A number in memory as C has it."""
    if type.kind == "b":
        return "uint8_t"
    if type.kind == "c":
        # C++ has no such type.
        return "void"
    if type.kind == "f":
        return {16: "uint16_t", 32: "float", 64: "double"}[type.bits]
    return f"{'u' if type.kind == 'u' else ''}int{type.bits}_t"


def c_type(type: Type, of: Scalar) -> str:
    """A number in registers as C has it."""
    if isinstance(type, FloatType):
        return {"half": "uint16_t", "float": "float", "double": "double"}[str(type)]
    if isinstance(type, PointerType):
        return "void *"
    assert isinstance(type, IntType)
    return "uint8_t" if of.kind == "b" else element_type(of)


_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union unsigned
    void volatile while bool class delete new this true false operator private public template
    typename namespace grid block dynamic_bytes
        """,
    )
)
"""Words of C and C++, and the parameters that launches have."""


def c_name(name: str) -> str:
    """A name as C and C++ can have it."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{text}_" if text in _KEYWORDS else text

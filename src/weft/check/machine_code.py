"""The machine code of functions of other compilers: made, and called with the arguments that passes are checked with.

A call goes through a function that takes all values from memory, so that vectors and small integers arrive as LLVM
passes them. It is a module of its own: what is checked is compiled without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.diag.errors import CompileError, UnsupportedError
from weft.interp.lanes import Lanes, dtype_of
from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.reader import read_module
from weft.ir.types import I8, PTR, VOID, FloatType, FunctionType, IntType, PointerType, Type, VectorType
from weft.ir.writer import write_module
from weft.machine.host import host, is_runnable
from weft.machine.targets import Isa
from weft.machine.vecmath_load import find_function
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.own_math import is_own
from weft.target.passes import WHOLE
from weft.target.vector_math import MathSymbol

Array = NDArray[Any]

_CALLER = "weft.check.call"
_SLOT = 512
"""Bytes for each value: 64 lanes of 8 bytes."""

_EXTENDED = ("signext", "zeroext", "inreg")
"""Attributes of parameters that say how they are passed."""

_LOOSE_FLAGS = frozenset({"fast", "reassoc", "contract", "afn", "arcp", "nnan", "ninf", "nsz"})
"""Flags that let LLVM change what is computed."""


class MachineCode:
    """A function of a program as machine code.

    Parameters
    ----------
    text
        The program as the passes leave it.
    name
        The function.
    spec, isa
        What it is compiled for.
    math
        Vector math functions that it calls, by symbol.

    Attributes
    ----------
    function
        The function.
    rounds
        Whether it may round otherwise than the interpreter: it calls a vector math library, or multiplies and adds
        where the machine has no one instruction for both.

    Raises
    ------
    UnsupportedError
        The code cannot be called here.
    """

    def __init__(
        self, text: str, name: str, spec: TargetSpec, isa: Isa, math: Mapping[str, MathSymbol]
    ) -> None:
        module = read_module(text)
        here = host()
        if not is_runnable() or isa.arch not in ("", here.arch) or not isa.features <= here.features:
            raise UnsupportedError(f"code for {isa.name} cannot run here")
        self.function = module.functions[name]
        _require_callable(self.function)
        if _is_loose(module):
            raise UnsupportedError("its flags let LLVM change what floats become")
        self._symbols = _symbols(math, isa)
        self.rounds = bool(math) or ("llvm.fmuladd" in _called(module) and "fma" not in isa.features)
        _keep_alone(module, self.function)
        self._object = emit_object(write_module(module, plain=True), spec, WHOLE)
        self._caller = emit_object(write_module(_caller(module, self.function), plain=True), spec)

    def call(self, values: Sequence[Array]) -> Lanes | None:
        """Call it, with global variables as they are at the begin; what it returns, None for nothing.

        Parameters
        ----------
        values
            One for each parameter: an array of the elements of a vector, or of one number.

        Raises
        ------
        UnsupportedError
            It calls what nobody defines, or cannot be loaded.
        """
        name = self.function.name
        try:
            code = load_object(self._object, [name], self._symbols)
        except CompileError as error:
            raise UnsupportedError(error.message) from None
        caller: LoadedCode = load_object(self._caller, [_CALLER], {name: code.address(name)})
        slots = _room(_SLOT * (len(values) + 1))
        for k, (parameter, value) in enumerate(zip(self.function.args, values, strict=True)):
            data = np.ascontiguousarray(value).astype(dtype_of(parameter.type))
            slots[k * _SLOT : k * _SLOT + data.nbytes] = data.reshape(-1).view(np.uint8)
        result = slots[len(values) * _SLOT :]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(caller.address(_CALLER))(
            slots.ctypes.data, result.ctypes.data
        )
        type = self.function.fn_type.result
        if type.is_void:
            return None
        dtype, count = dtype_of(type), type.count if isinstance(type, VectorType) else 1
        return Lanes(result[: count * dtype.itemsize].view(dtype).reshape(1, -1).copy())


def _require_callable(function: Function) -> None:
    for type in (*function.fn_type.params, function.fn_type.result):
        scalar = type.scalar
        numbers = isinstance(scalar, IntType) and scalar.bits <= 64
        numbers = numbers or (isinstance(scalar, FloatType) and scalar.kind in ("half", "float", "double"))
        if not (numbers or isinstance(scalar, PointerType) or type.is_void):
            raise UnsupportedError(f"its machine code takes or returns {type}")
    if any(a.startswith(("byval", "sret", "inalloca", "nest")) for p in function.args for a in p.attributes):
        raise UnsupportedError("its machine code takes objects in memory")


def _is_loose(module: Module) -> bool:
    return any(
        not _LOOSE_FLAGS.isdisjoint(i.flags)
        for function in module.definitions()
        for i in function.instructions()
    )


def _called(module: Module) -> set[str]:
    names = (i.callee_name for function in module.definitions() for i in function.instructions())
    return {name.rsplit(".", 1)[0] for name in names if name is not None}


def _symbols(math: Mapping[str, MathSymbol], isa: Isa) -> dict[str, int]:
    symbols: dict[str, int] = {}
    for symbol, function in math.items():
        if is_own(symbol):
            continue
        found = find_function(function.name, function.bits, function.lanes, isa)
        if found is None:
            raise UnsupportedError(f"no library is installed that has {symbol}")
        symbols[symbol] = found[1]
    return symbols


def _keep_alone(module: Module, wanted: Function) -> None:
    """Leave nothing to be compiled that the function does not need."""
    for function in module.definitions():
        if function is not wanted:
            function.linkage.linkage = "internal"
    wanted.linkage.linkage = ""


def _caller(module: Module, function: Function) -> Module:
    """A module with ``void weft.check.call(ptr slots, ptr result)``, which calls the function."""
    made = Module(datalayout=module.datalayout, triple=module.triple)
    declared = made.add_function(Function(function.name, function.fn_type))
    attributes = [tuple(a for a in p.attributes if a in _EXTENDED) for p in function.args]
    for parameter, texts in zip(declared.args, attributes, strict=True):
        parameter.attributes = texts
    declared.return_attributes = tuple(a for a in function.return_attributes if a in _EXTENDED)
    caller = made.add_function(Function(_CALLER, FunctionType(VOID, (PTR, PTR)), ("slots", "result")))
    slots, result = caller.args
    builder = Builder(caller.add_block("entry"))
    values: list[Value] = []
    for k, type in enumerate(function.fn_type.params):
        stored, at = _stored(type), builder.gep(I8, slots, (const_int(k * _SLOT),))
        value: Value = builder.load(stored, at, align=64)
        values.append(value if stored == type else builder.cast("trunc", value, type))
    call = builder.call(declared, values)
    if any(attributes):
        call.attrs["arg_attrs"] = attributes
    type = function.fn_type.result
    if not type.is_void:
        stored = _stored(type)
        builder.store(call if stored == type else builder.cast("zext", call, stored), result, align=64)
    builder.ret()
    return made


def _stored(type: Type) -> Type:
    """The type of a value in memory: integers have the bytes of NumPy's."""
    scalar = type.scalar
    if not isinstance(scalar, IntType):
        return type
    whole = IntType(8 * dtype_of(scalar).itemsize)
    return VectorType(whole, type.count) if isinstance(type, VectorType) else whole


def _room(size: int) -> NDArray[np.uint8]:
    """Zeroed bytes that begin at a multiple of 64."""
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size]

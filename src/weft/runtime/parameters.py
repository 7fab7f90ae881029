"""The runtime's parameters for types of the kernel language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.diag.errors import SignatureError
from weft.frontend.python.bfloat import nearest
from weft.frontend.python.typeof import callee_type, is_callee, typeof
from weft.frontend.python.types import (
    Array,
    Callee,
    Enumeration,
    KernelType,
    NoneType,
    Record,
    Scalar,
    Tiled,
    Time,
    Tuple,
    bfloat16,
)
from weft.runtime.arguments import (
    ArrayParameter,
    CalleeParameter,
    ComplexParameter,
    EnumParameter,
    Parameter,
    RecordParameter,
    ScalarParameter,
    TiledParameter,
    TimeParameter,
    TupleParameter,
)
from weft.runtime.packing import ArgumentPacker


def packer_for(kernel: str, names: Sequence[str], types: Sequence[KernelType]) -> ArgumentPacker:
    """Return the packer of a kernel whose parameters have the names and types.

    Raises
    ------
    SignatureError
        A type is not one that arguments can have.
    """
    return ArgumentPacker(kernel, tuple(names), tuple(parameter_for(type) for type in types))


def parameter_for(type: KernelType) -> Parameter:
    """Return the parameter whose slots are the components of the type, in their order.

    Raises
    ------
    SignatureError
        The type is not one that arguments can have.
    """
    if isinstance(type, Time):
        return TimeParameter(type.dtype)
    if type is bfloat16:
        return ScalarParameter(np.dtype(np.float32), nearest)
    if isinstance(type, Scalar):
        if type.kind == "c":
            return ComplexParameter(np.dtype(f"f{type.size // 2}"))
        return ScalarParameter(type.dtype)
    if isinstance(type, Array) and type.space == 0 and type.shape is None:
        return ArrayParameter(
            type.dtype.dtype, type.ndim, type.layout == "C", not type.readonly, type.aligned
        )
    if isinstance(type, Tiled):
        return TiledParameter(type.dtype.dtype, type.block, type.origin, not type.readonly)
    if isinstance(type, Record):
        return RecordParameter(type.dtype)
    if isinstance(type, Tuple):
        return TupleParameter(tuple(parameter_for(item) for item in type.items))
    if isinstance(type, Enumeration):
        return EnumParameter(type.members)
    if isinstance(type, Callee):
        if isinstance(type.value, str):
            return CalleeParameter(
                f"the text {type}", lambda value: isinstance(value, str) and typeof(value) is type
            )
        return CalleeParameter(
            f"the function {type}", lambda value: is_callee(value) and callee_type(value) is type
        )
    if isinstance(type, NoneType):
        return TupleParameter(())
    raise SignatureError(f"an argument cannot be of type {type}")

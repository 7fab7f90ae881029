"""How a value of a kernel type is made of scalar IR values, and how a Python argument becomes parameters.

The front end emits no aggregates: a complex number is two floats, an array a data pointer with extents and
byte strides (one in blocks has none), a tuple the values of its items one after the other, a record a pointer to its
bytes.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from weft.frontend.python.types import Array, Enumeration, KernelType, Record, Scalar, Tiled, Tuple, bfloat16
from weft.frontend.python.typing_rules import real_type
from weft.ir import Function
from weft.ir.types import F16, F32, F64, I1, I8, I16, I64, PTR, FloatType, IntType, Type, int_type, pointer

_FLOATS: dict[int, FloatType] = {16: F16, 32: F32, 64: F64}


class Component(Struct, frozen=True):
    """One scalar IR value of a value.

    Parameters
    ----------
    role
        ``value``, ``real``, ``imag``, ``data``, ``extent``, ``stride`` or ``record`` (a pointer to its bytes).
    type
        The IR type.
    dim
        The dimension of an extent or stride.
    path
        Indices into nested tuples.
    """

    role: str
    type: Type
    dim: int = 0
    path: tuple[int, ...] = ()

    @property
    def suffix(self) -> str:
        """What follows the variable's name in the name of the component."""
        tail = {
            "real": ".real",
            "imag": ".imag",
            "extent": f".shape.{self.dim}",
            "stride": f".strides.{self.dim}",
        }.get(self.role, "")
        return "".join(f".{i}" for i in self.path) + tail


def bound_extents(function: Function, limit: int) -> None:
    """Note at the parameters of a function that arrays have fewer elements along each dimension than a limit.

    Those that results are stored to are pointers.
    """
    for argument in function.args:
        if ".shape." in argument.name and argument.type == I64:
            others = (a for a in argument.attributes if not a.startswith("range("))
            argument.attributes = (*others, f"range(i64 0, {limit})")


def ir_scalar(type: Scalar) -> IntType | FloatType:
    """The IR type of a real scalar in registers; a bool is an i1, a bfloat16 a float that has no further digits."""
    if type.kind == "b":
        return I1
    if type is bfloat16:
        return F32
    return _FLOATS[type.bits] if type.kind == "f" else int_type(type.bits)


def memory_scalar(type: Scalar) -> IntType | FloatType:
    """The IR type of a real scalar in memory; a bool is a byte, a bfloat16 its bits."""
    if type is bfloat16:
        return I16
    return I8 if type.kind == "b" else ir_scalar(type)


def has_extents(type: Array) -> bool:
    """Whether the extents of an array are run-time values."""
    return type.shape is None


@cache
def components(type: KernelType) -> tuple[Component, ...]:
    """The scalar IR values that make up a value of `type`, in order."""
    if isinstance(type, Scalar):
        if type.kind != "c":
            return (Component("value", ir_scalar(type)),)
        part = ir_scalar(real_type(type))
        return Component("real", part), Component("imag", part)
    if isinstance(type, Array):
        parts = [Component("data", pointer(type.space))]
        if has_extents(type):
            parts += [Component("extent", I64, dim) for dim in range(type.ndim)]
        if type.layout != "C":
            parts += [Component("stride", I64, dim) for dim in range(type.ndim)]
        return tuple(parts)
    if isinstance(type, Tiled):
        return (Component("data", PTR), *(Component("extent", I64, dim) for dim in range(type.ndim)))
    if isinstance(type, Tuple):
        return tuple(
            Component(c.role, c.type, c.dim, (i, *c.path))
            for i, item in enumerate(type.items)
            for c in components(item)
        )
    if isinstance(type, Enumeration):
        return (Component("value", I64),)
    return (Component("record", PTR),) if isinstance(type, Record) else ()


def item_type(type: KernelType, path: tuple[int, ...]) -> KernelType:
    """The type of an item of nested tuples."""
    for index in path:
        assert isinstance(type, Tuple)
        type = type.items[index]
    return type


@cache
def tuple_offsets(type: Tuple) -> tuple[int, ...]:
    """Where the components of each item begin, and at last where they end."""
    offsets = [0]
    for item in type.items:
        offsets.append(offsets[-1] + len(components(item)))
    return tuple(offsets)


@cache
def parameter_components(type: KernelType) -> tuple[Component, ...]:
    """The IR parameters for an argument of `type`: its components, but a bool is passed as a byte."""
    return tuple(Component(c.role, I8, c.dim, c.path) if c.type is I1 else c for c in components(type))

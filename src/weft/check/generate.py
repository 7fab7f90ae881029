"""Arguments for functions that nobody calls: numbers, and arrays of what is read through their pointers.

They keep what the parameters promise: no pointer is null, each leads to an array that begins at a multiple of 64 bytes
and has as many as the parameter says (``dereferenceable``), numbers are in their ranges, and nothing may be written
through what is ``readonly``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analysis.integers.declared_ranges import attributed
from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes import Shape
from weft.check.accesses import Field, Record, record_at
from weft.check.inputs import LaunchInputs, Operand, region_of
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.interp.lanes import dtype_of
from weft.ir import Argument, Function, Value
from weft.ir.types import FloatType, IntType, PointerType
from weft.runtime.arguments import POINTER

Array = NDArray[Any]

ELEMENTS = 1 << 9
"""Elements of an array that is made up."""

NUMBERS = ((19, 17), (5, 7), (-4, 3), (1, 1))
"""What integers are, one after the other: large numbers first, others where these lead out of arrays."""

_ALIGNMENT = 64

_READ_ONLY = frozenset({"readonly", "readnone"})
_BYTES = re.compile(r"dereferenceable(?:_or_null)?\((\d+)\)")


class Arguments:
    """Arguments of a function for one lane, or for several.

    Parameters
    ----------
    function
        The function.
    shapes
        How its parameters differ from lane to lane, with one lane not at all.
    lanes
        How many there are.
    given
        Arrays and numbers of the user, one for each parameter: an array for a pointer, and for a number that varies one
        with an element for each lane. None makes them up.

    Attributes
    ----------
    names
        Of the parameters.
    """

    def __init__(
        self,
        function: Function,
        shapes: dict[Value, Shape] | None = None,
        lanes: int = 1,
        given: Sequence[Any] | None = None,
    ) -> None:
        self._args = function.args
        self._layout = function.layout
        self._shapes = shapes or {}
        self._lanes = lanes
        self._given = given
        if given is not None and len(given) != len(function.args):
            raise ArgumentError(
                f"{function.name} has {len(function.args)} parameters, and {len(given)} values were given to check with"
            )

    def attempts(self) -> Iterator[tuple[LaunchInputs, tuple[Array, ...]]]:
        """Inputs, with arrays to be kept as long; each pointer of several lanes has a slot for each of them.

        Raises
        ------
        UnsupportedError
            A parameter is of a type of which none are made up.
        """
        if self._given is not None:
            yield self._of([self._from_user(a, v) for a, v in zip(self._args, self._given, strict=True)])
            return
        for numbers in NUMBERS:
            yield self._of([self._made_up(a, numbers[k % 2]) for k, a in enumerate(self._args)])

    def _of(self, values: list[Array]) -> tuple[LaunchInputs, tuple[Array, ...]]:
        operands: list[Operand] = []
        slots: list[Any] = []
        formats: list[str] = []
        for argument, value in zip(self._args, values, strict=True):
            is_pointer = isinstance(argument.type, PointerType)
            formats += [POINTER if is_pointer else "q"] * self._lanes
            if not is_pointer:
                slots += list(np.broadcast_to(value, (self._lanes,)))
                continue
            address = value.ctypes.data
            operands.append(
                Operand(
                    argument.name or f"parameter {argument.index}", address, value.shape, value.strides, value.dtype,
                    address, address + value.nbytes, _READ_ONLY.isdisjoint(argument.attributes),
                )
            )  # fmt: skip
            slots += [address + self._offset(argument, value, lane) for lane in range(self._lanes)]
        regions = tuple(region_of([operand]) for operand in operands)
        return LaunchInputs(tuple(slots), tuple(formats), regions), tuple(values)

    def _offset(self, argument: Argument, array: Array, lane: int) -> int:
        """Where a lane's pointer leads in an array."""
        shape = self._shapes.get(argument)
        if shape is None or shape.is_uniform:
            return 0
        if shape.is_strided:
            return int(shape.stride) * lane  # type: ignore[arg-type]
        if self._given is not None and array.ndim > 1:
            return array.strides[0] * lane
        unit = math.lcm(_ALIGNMENT, array.itemsize)
        return array.nbytes // self._lanes // unit * unit * lane

    def _from_user(self, argument: Argument, value: Any) -> Array:
        if isinstance(argument.type, PointerType):
            if not isinstance(value, np.ndarray) or not value.size:
                raise ArgumentError(
                    f"the parameter {argument.name} is a pointer, and takes an array to check with"
                )
            return _aligned(np.ascontiguousarray(value))
        return self._by_lane(argument, np.asarray(value).reshape(-1)[: self._lanes])

    def _made_up(self, argument: Argument, number: int) -> Array:
        type = argument.type
        random = np.random.default_rng(argument.index + 1)
        if isinstance(type, PointerType):
            return _aligned(self._records(argument, number, random))
        shape = self._shapes.get(argument)
        count = self._lanes if shape is not None and shape.is_varying else 1
        promised = attributed(argument.attributes, type.bits) if isinstance(type, IntType) else None
        field = Field(type, promised)
        values = _elements(field, count, number, random) if count > 1 else _one(field, number)
        return self._by_lane(argument, values)

    def _records(self, argument: Argument, number: int, random: np.random.Generator) -> Array:
        """What a pointer leads to: as many bytes as it is said to, at least."""
        record = record_at(argument, self._layout)
        if not record.fields:
            record = Record({0: Field(IntType(64))}, record.stride if record.stride % 8 == 0 else 0)
        record = record.folded(self._layout)
        size = record.stride
        count = max(ELEMENTS, -(-_dereferenceable(argument) // size))
        columns = {at: _elements(field, count, number, random) for at, field in record.fields.items()}
        if len(columns) == 1 and next(iter(columns.values())).itemsize == size:
            return next(iter(columns.values()))
        dtype = np.dtype({
            "names": [f"byte{at}" for at in columns], "formats": [c.dtype for c in columns.values()],
            "offsets": list(columns), "itemsize": size,
        })  # fmt: skip
        rows = np.zeros(count, dtype)
        for at, values in columns.items():
            rows[f"byte{at}"] = values
        return rows

    def _by_lane(self, argument: Argument, values: Array) -> Array:
        shape = self._shapes.get(argument)
        if shape is not None and not shape.is_varying:
            values = values[:1]
            if isinstance(argument.type, IntType):
                alignment = max(1, shape.alignment)
                values = -(-values.astype(np.int64) // alignment) * alignment
            if shape.is_strided:
                return values[0] + np.arange(self._lanes) * int(shape.stride)  # type: ignore[arg-type]
        return np.broadcast_to(values[:1], (self._lanes,)) if values.size < self._lanes else values


def _dereferenceable(argument: Argument) -> int:
    """How many bytes a pointer is said to lead to."""
    return max((int(m[1]) for a in argument.attributes if (m := _BYTES.fullmatch(a))), default=0)


def _one(field: Field, number: int) -> Array:
    type = field.type
    if isinstance(type, FloatType):
        return np.array([number / 4], dtype_of(type))
    if isinstance(type, IntType) and type.bits <= 64:
        return np.array([_within(field.promised, number) & ((1 << type.bits) - 1)])
    raise UnsupportedError(f"arguments of type {type} are not made up: give some to check with")


def _elements(field: Field, count: int, number: int, random: np.random.Generator) -> Array:
    """Elements of an array: floats around 0, and integers that are places in short arrays."""
    type = field.type
    if isinstance(type, FloatType):
        return random.normal(scale=3.0, size=count).astype(dtype_of(type))
    if isinstance(type, IntType) and type.bits <= 64:
        # As many in a row as there are iterations are different places.
        places = [_within(field.promised, int(place)) for place in random.permutation(abs(number) + 1)]
        return np.resize(np.array(places), count).astype(dtype_of(type))
    raise UnsupportedError(f"arrays of {type} are not made up: give some to check with")


def _within(promised: Interval | None, number: int) -> int:
    """A number of the range."""
    if promised is None or promised.holds(number):
        return number
    return promised.lo + number % (promised.hi - promised.lo + 1)


def _aligned(array: Array) -> Array:
    """A copy that begins at a multiple of 64 bytes."""
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy

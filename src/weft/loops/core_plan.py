"""How a call of `weft.guvectorize`'s takes its operands apart, which follows from their types and extents alone.

The loop over rows takes operands whose first dimension is the loop's, in one run for all loop dimensions. Making a plan
takes some 20 microseconds and following one a few, so functions keep their plans (`Plans`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from weft.diag.errors import ArgumentError
from weft.frontend.python.types import Array, KernelType, Scalar
from weft.loops.core_signature import CoreSignature

MOST_PLANS = 64
"""Plans that a function keeps; programs whose arrays have ever new extents make them anew."""

Values = np.ndarray[Any, Any]


class OperandPlan(Struct, frozen=True):
    """What becomes of an operand.

    Parameters
    ----------
    dtype
        The type of its elements in the function.
    is_number
        Whether it is one number, the same for all rows.
    is_same
        Whether it is one array, the same for all rows.
    whole
        Its shape with all loop dimensions, the core's behind them.
    rows
        The same with one loop dimension.
    """

    dtype: np.dtype[Any]
    is_number: bool
    is_same: bool
    whole: tuple[int, ...]
    rows: tuple[int, ...]

    def apply(self, array: Values) -> Any:
        """The operand as the loop takes it (`weft.loops.generalized_loops`); an array may be a view of `array`."""
        if array.dtype != self.dtype:
            array = array.astype(self.dtype)
        if self.is_number:
            return array[()]
        if self.is_same:
            # As NumPy's views for all rows are: what a function writes there, other rows would read.
            array = array.view()
            array.setflags(write=False)
            return (array,)
        if array.shape != self.whole:
            array = np.broadcast_to(array, self.whole)
        return array if array.shape == self.rows else array.reshape(self.rows)


class ResultPlan(Struct, frozen=True):
    """The shape and the type of a result, and its shape as rows."""

    dtype: np.dtype[Any]
    whole: tuple[int, ...]
    rows: tuple[int, ...]


class Plan(Struct, frozen=True):
    """A call: what becomes of operands, what results are like, and how many rows there are."""

    operands: tuple[OperandPlan, ...]
    results: tuple[ResultPlan, ...]
    count: int


class Plans:
    """The plans of a function, by what they follow from."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, Plan] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, arrays: Sequence[Values]) -> Plan | None:
        """The plan of a call with such arrays, if there has been one."""
        return self._known.get(_key(arrays))

    def keep(self, arrays: Sequence[Values], plan: Plan) -> None:
        """Keep the plan of calls with such arrays."""
        if len(self._known) >= MOST_PLANS:
            self._known = {}
        self._known[_key(arrays)] = plan


def _key(arrays: Sequence[Values]) -> Hashable:
    return tuple([(a.dtype, a.shape) for a in arrays])


def plan_call(name: str, core: CoreSignature, arrays: Sequence[Values], types: Sequence[KernelType]) -> Plan:
    """Plan a call.

    Parameters
    ----------
    name
        The function's, for what is said to the user.
    core
        The dimensions of its operands and results.
    arrays
        The operands.
    types
        The types of operands and results in the function.

    Raises
    ------
    ArgumentError
        The operands' extents do not fit each other.
    """
    sizes, loop = _extents(name, core, arrays)
    count = math.prod(loop)

    def core_shape(dims: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(sizes[dim] for dim in dims)

    operands: list[OperandPlan] = []
    for array, type, dims in zip(arrays, types, core.inputs, strict=False):
        shape, is_array = core_shape(dims), isinstance(type, Array)
        is_number = not dims and array.ndim == 0 and not is_array
        is_same = bool(loop) and bool(dims) and array.ndim == len(dims)
        rows = (count, *(shape or ((1,) if is_array else ())))
        operands.append(OperandPlan(dtype_of(type), is_number, is_same, (*loop, *shape), rows))
    results: list[ResultPlan] = []
    for dims, type in zip(core.outputs, types[len(arrays) :], strict=True):
        shape = core_shape(dims)
        results.append(ResultPlan(dtype_of(type), (*loop, *shape), (count, *(shape or (1,)))))
    return Plan(tuple(operands), tuple(results), count)


def _extents(
    name: str, core: CoreSignature, arrays: Sequence[Values]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """The sizes of the core's dimensions, and the shape of the loop."""
    sizes: dict[str, int] = {}
    loops: list[tuple[int, ...]] = []
    for position, (array, dims) in enumerate(zip(arrays, core.inputs, strict=True)):
        if array.ndim < len(dims):
            raise ArgumentError(
                f"argument {position + 1} of {name} has {array.ndim} dimensions, its core {len(dims)}"
            )
        split = array.ndim - len(dims)
        loops.append(array.shape[:split])
        for dim, size in zip(dims, array.shape[split:], strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ArgumentError(
                    f"dimension {dim} of {name} is {sizes[dim]}, and {size} in argument {position + 1}"
                )
    try:
        return sizes, np.broadcast_shapes(*loops)
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from None


def dtype_of(type: KernelType) -> np.dtype[Any]:
    """The type of an operand's elements."""
    if isinstance(type, Array):
        return type.dtype.dtype
    assert isinstance(type, Scalar), f"{type} is no operand"
    return type.dtype

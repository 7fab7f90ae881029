"""``axis=`` and ``axes=`` of calls of generalized ufuncs: which axes of an operand are the core's, as NumPy has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.diag.errors import ArgumentError
from weft.loops.core_signature import CoreSignature

Axes = tuple[tuple[int, ...], ...]


def core_axes(name: str, core: CoreSignature, axis: int | None, axes: Sequence[Any] | None) -> Axes:
    """The axes of each argument and result that are its core's dimensions, in order.

    Parameters
    ----------
    name
        What the function is called.
    core
        Its dimensions.
    axis
        The one axis, of a core that has one dimension in all.
    axes
        A tuple for each operand, or a number for one axis; those of results may be left out where they have none.

    Raises
    ------
    ArgumentError
        They are not those of the core.
    """
    operands = (*core.inputs, *core.outputs)
    if axes is None:
        if len({dimension for dims in operands for dimension in dims}) != 1 or max(map(len, operands)) > 1:
            raise ArgumentError(
                f"axis= is for functions whose core has one dimension; that of {name} is {core}",
                hint="give a tuple for each operand as axes=",
            )
        return tuple((axis,) * len(dims) if axis is not None else () for dims in operands)
    if axis is not None:
        raise ArgumentError(f"{name} is given both axis= and axes=")
    given = [tuple(item) if isinstance(item, Sequence) else (item,) for item in axes]
    if len(given) == len(core.inputs) and not any(core.outputs):
        given += [()] * len(core.outputs)
    if [len(item) for item in given] != [len(dims) for dims in operands]:
        raise ArgumentError(f"axes= of {name} is a list of tuples for {core}, not {axes!r}")
    return tuple(given)


def core_last(array: Any, axes: tuple[int, ...]) -> Any:
    """An operand with these axes last, where the core's are."""
    return np.moveaxis(np.asarray(array), axes, range(-len(axes), 0)) if axes else array


def core_back(result: Any, axes: tuple[int, ...]) -> Any:
    """A result whose last axes are where they were asked for."""
    return np.moveaxis(result, range(-len(axes), 0), axes) if axes else result

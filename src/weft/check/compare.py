"""Comparing what two runs of a kernel left in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.check.inputs import Content, LaunchInputs, Operand

Array = NDArray[Any]

LOOSE = 2.0**-10
"""Relative difference of floats within which results agree that went through a vector math library, or are sums that
were formed in another order."""


def first_difference(
    inputs: LaunchInputs, wanted: Sequence[Content], got: Sequence[Content], slack: float | None = None
) -> str | None:
    """Say where memory differs, None when it does not.

    NaN equals NaN. Where `wanted` is poison or undefined, anything will do; where only `got` is, they differ.

    Parameters
    ----------
    slack
        Let floats differ by this much and by a little of what they are, and integers, which may have been computed from
        them, at all; None compares bits.
    """
    for region, before, after in zip(inputs.regions, wanted, got, strict=True):
        if after.state is None and np.array_equal(before.data, after.data):
            continue
        covered = np.zeros(region.data.size, np.uint8)
        for operand in region.operands:
            operand.mark(covered, region.base)
            parts = _parts(operand, region.base, before, after)
            if (found := elements_differ(operand.name, parts, slack)) is not None:
                return found
        if (before.data != after.data)[covered == 0].any():
            return f"memory between the elements of {region.operands[0].name} is written"
    return None


def elements_differ(name: str, parts: tuple[Array | None, ...], slack: float | None) -> str | None:
    """Say which element of an array differs.

    Parameters
    ----------
    parts
        The elements before and after, and which bytes of them are not defined, None where all are.
    """
    for leaf_name, *leaf in _leaves(name, parts):
        where = np.argwhere(_differs(*leaf, slack=slack))
        if len(where):
            return _shown(leaf_name, leaf, tuple(where[0].tolist()))
    return None


def _shown(name: str, leaf: Sequence[Any], index: tuple[int, ...]) -> str:
    before, after, _, newly_undefined = leaf
    poison = newly_undefined is not None and _bits(newly_undefined)[index].any()
    place = f"{name}[{', '.join(map(str, index))}]" if index else name
    return f"{place} becomes {'poison' if poison else after[index]}, and was {before[index]}"


def _parts(operand: Operand, base: int, before: Content, after: Content) -> tuple[Array | None, ...]:
    """The operand's elements before and after, and which bytes of them are not defined."""
    return tuple(
        None if data is None else operand.elements(data, base)
        for data in (before.data, after.data, before.state, after.state)
    )


def _leaves(name: str, parts: tuple[Array | None, ...]) -> Iterator[tuple[Any, ...]]:
    """The parts by field of structures, and by real and imaginary part."""
    first = parts[0]
    assert first is not None
    if first.dtype.kind == "c":
        for part in ("real", "imag"):
            yield (f"{name}.{part}", *(None if p is None else getattr(p, part) for p in parts))
    elif first.dtype.names is None:
        yield (name, *parts)
    else:
        for field in first.dtype.names:
            yield from _leaves(f"{name}.{field}", tuple(None if p is None else p[field] for p in parts))


def _differs(
    before: Array, after: Array, undefined: Array | None, newly_undefined: Array | None, slack: float | None
) -> NDArray[np.bool_]:
    """Per element, whether it is not the same."""
    differs = np.asarray((_bits(before) != _bits(after)).any(axis=-1))
    if before.dtype.kind == "f":
        differs &= ~(np.isnan(before) & np.isnan(after))
        if slack is not None:
            slack = max(slack, float(np.finfo(before.dtype).tiny))
            with np.errstate(over="ignore", invalid="ignore"):
                differs &= ~np.isclose(after, before, rtol=LOOSE, atol=slack)
    elif slack is not None:
        differs[...] = False
    if newly_undefined is not None:
        differs |= _bits(newly_undefined).any(axis=-1)
    if undefined is not None:
        differs &= ~_bits(undefined).any(axis=-1)
    return differs


def _bits(array: Array) -> NDArray[np.uint8]:
    """The bytes of each element along a last axis."""
    whole = np.ascontiguousarray(array).reshape(array.shape)
    return np.frombuffer(whole.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)


def slack_of(inputs: LaunchInputs, contents: Sequence[Content], results: Iterable[Array]) -> float:
    """By how much floats may differ beside a little of what they are, where sums are formed in another order.

    The terms of a sum may cancel, so this is a little of the greatest number in sight.
    """
    arrays = [
        operand.elements(data, region.base)
        for region, content in zip(inputs.regions, contents, strict=True)
        for data in (region.data, content.data)
        for operand in region.operands
    ]
    arrays += [*map(np.asarray, inputs.slots), *results]
    return LOOSE * max((_greatest(a) for a in arrays), default=0.0)


def _greatest(array: Array) -> float:
    if array.dtype.kind not in "fc" or not array.size:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))

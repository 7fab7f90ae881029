"""The `cuda` namespace for plain Python execution of kernels."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance import reference_random
from conformance.reference_arrays import ReferenceArray
from conformance.reference_math import float_function
from conformance.reference_scalars import WeakInt, cast
from conformance.reference_threads import Meeting
from conformance.reference_warp import WarpOperations

Dim3 = tuple[int, int, int]


@cache
def _first(count: int) -> frozenset[int]:
    return frozenset(range(count))


@dataclass(slots=True)
class Place:
    """Where the running thread is, and what its work-group shares."""

    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    block_id: Dim3 = (0, 0, 0)
    thread_id: Dim3 = (0, 0, 0)
    shared: dict[Any, np.ndarray] = field(default_factory=dict)
    dynamic_bytes: int = 0

    @property
    def linear(self) -> int:
        (x, y, z), (width, height, _) = self.thread_id, self.block
        return x + width * (y + height * z)

    @property
    def members(self) -> frozenset[int]:
        return _first(self.block[0] * self.block[1] * self.block[2])


def _vector(values: Dim3) -> SimpleNamespace:
    x, y, z = map(WeakInt, values)
    return SimpleNamespace(x=x, y=y, z=z)


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of a dtype, a scalar type of NumPy, of weft or of numba."""
    try:
        return np.dtype(kind)
    except TypeError:
        return np.dtype(str(kind))


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)


class Atomic:
    """`cuda.atomic`: the threads run one at a time, so a plain update is atomic."""

    def _update(self, array: Any, index: Any, compute: Any) -> Any:
        old = array[index]
        array[index] = compute(old)
        return old

    def add(self, array, index, value):
        return self._update(array, index, lambda old: old + cast(value, old.dtype))

    def sub(self, array, index, value):
        return self._update(array, index, lambda old: old - cast(value, old.dtype))

    def max(self, array, index, value):
        return self._update(array, index, lambda old: max(old, cast(value, old.dtype)))

    def min(self, array, index, value):
        return self._update(array, index, lambda old: min(old, cast(value, old.dtype)))

    def nanmax(self, array, index, value):
        return self._update(array, index, lambda old: np.fmax(old, cast(value, old.dtype)))

    def nanmin(self, array, index, value):
        return self._update(array, index, lambda old: np.fmin(old, cast(value, old.dtype)))

    def and_(self, array, index, value):
        return self._update(array, index, lambda old: old & cast(value, old.dtype))

    def or_(self, array, index, value):
        return self._update(array, index, lambda old: old | cast(value, old.dtype))

    def xor(self, array, index, value):
        return self._update(array, index, lambda old: old ^ cast(value, old.dtype))

    def exch(self, array, index, value):
        return self._update(array, index, lambda old: value)

    def inc(self, array, index, value):
        return self._update(array, index, lambda old: 0 if old >= value else old + 1)

    def dec(self, array, index, value):
        return self._update(array, index, lambda old: value if old == 0 or old > value else old - 1)

    def cas(self, array, index, old, value):
        return self._update(array, index, lambda found: value if found == old else found)

    def compare_and_swap(self, array, old, value):
        return self.cas(array, (0,) * int(array.ndim), old, value)


class ReferenceCuda(WarpOperations):
    """What a kernel finds under the name `cuda`; `place` is set before each thread runs."""

    warpsize = WeakInt(32)

    def __init__(self) -> None:
        self.place = Place()
        self.atomic = Atomic()
        self.random = reference_random
        self.shared = SimpleNamespace(array=self._shared_array)
        self.local = SimpleNamespace(array=self._local_array)
        self.const = SimpleNamespace(array_like=lambda array: ReferenceArray.of(np.array(array)))
        self.cbrt = float_function("cbrt")

    @property
    def threadIdx(self) -> SimpleNamespace:
        return _vector(self.place.thread_id)

    @property
    def blockIdx(self) -> SimpleNamespace:
        return _vector(self.place.block_id)

    @property
    def blockDim(self) -> SimpleNamespace:
        return _vector(self.place.block)

    @property
    def gridDim(self) -> SimpleNamespace:
        return _vector(self.place.grid)

    @property
    def linear(self) -> int:
        return self.place.linear

    @property
    def group_size(self) -> int:
        return len(self.place.members)

    @property
    def laneid(self) -> WeakInt:
        return WeakInt(self.place.linear % 32)

    def grid(self, dimensions: int) -> Any:
        at = self.place
        ids = [WeakInt(b * w + t) for b, w, t in zip(at.block_id, at.block, at.thread_id, strict=True)]
        return ids[0] if dimensions == 1 else tuple(ids[:dimensions])

    def gridsize(self, dimensions: int) -> Any:
        sizes = [WeakInt(g * w) for g, w in zip(self.place.grid, self.place.block, strict=True)]
        return sizes[0] if dimensions == 1 else tuple(sizes[:dimensions])

    def _local_array(self, shape: Any, dtype: Any) -> ReferenceArray:
        return ReferenceArray.of(np.zeros(_shape(shape), _dtype(dtype)))

    def _shared_array(self, shape: Any, dtype: Any) -> ReferenceArray:
        dtype, extents = _dtype(dtype), _shape(shape)
        if extents == (0,):
            arena = self.place.shared.setdefault("dynamic", np.zeros(self.place.dynamic_bytes, np.uint8))
            return ReferenceArray.of(arena[: len(arena) // dtype.itemsize * dtype.itemsize].view(dtype))
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        return ReferenceArray.of(self.place.shared.setdefault(site, np.zeros(extents, dtype)))

    def _group(self, name: str, predicate: Any = None, combine: Any = None) -> Meeting:
        return Meeting(
            name,
            self.place.members,
            bool(predicate),
            lambda offers: combine and WeakInt(combine(offers.values())),
        )

    def syncthreads(self) -> Meeting:
        return self._group("syncthreads")

    def syncthreads_count(self, predicate: Any) -> Meeting:
        return self._group("syncthreads_count", predicate, sum)

    def syncthreads_and(self, predicate: Any) -> Meeting:
        return self._group("syncthreads_and", predicate, all)

    def syncthreads_or(self, predicate: Any) -> Meeting:
        return self._group("syncthreads_or", predicate, any)

    def threadfence(self) -> None:
        """Do nothing: one thread runs at a time."""

    threadfence_block = threadfence_system = threadfence

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        kind = type(a + b + c)
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = kind(float(exact))
        candidates = (near, np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf)))
        return min(candidates, key=lambda value: abs(Fraction(float(value)) - exact))

    def popc(self, value: Any) -> WeakInt:
        return WeakInt(_bits(value).count("1"))

    def clz(self, value: Any) -> WeakInt:
        bits = _bits(value)
        return WeakInt(len(bits) - len(bits.lstrip("0")))

    def ffs(self, value: Any) -> WeakInt:
        bits = _bits(value)
        return WeakInt(len(bits) - bits.rindex("1") if "1" in bits else 0)

    def brev(self, value: Any) -> Any:
        reverse = int(_bits(value)[::-1], 2)
        return WeakInt(reverse) if isinstance(value, int) else cast(reverse, value.dtype)

    def selp(self, predicate: Any, a: Any, b: Any) -> Any:
        return a if predicate else b


def _bits(value: Any) -> str:
    width = 64 if isinstance(value, int) else 8 * value.dtype.itemsize
    return format(int(value) & ((1 << width) - 1), f"0{width}b")


def positions(extents: Dim3) -> list[Dim3]:
    """Return the ids of a grid or block with x fastest."""
    width, height, depth = extents
    return [(x, y, z) for z, y, x in itertools.product(range(depth), range(height), range(width))]

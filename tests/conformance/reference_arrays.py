"""Arrays as a kernel sees them: weak sizes, stores that convert as the dialect does, records by attribute."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.reference_scalars import WeakInt, cast


class ReferenceArray(np.ndarray):
    """A view of a caller's array for plain Python execution of a kernel."""

    @classmethod
    def of(cls, array: np.ndarray) -> ReferenceArray:
        view = array.view(cls)
        if array.dtype.names:
            view = view.view(np.dtype((np.record, array.dtype)))
        return view

    @property
    def shape(self) -> tuple[WeakInt, ...]:
        return tuple(WeakInt(extent) for extent in np.ndarray.shape.__get__(self))

    @property
    def size(self) -> WeakInt:
        return WeakInt(np.ndarray.size.__get__(self))

    @property
    def ndim(self) -> WeakInt:
        return WeakInt(np.ndarray.ndim.__get__(self))

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_plain_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.dtype.names is None and np.isscalar(value):
            value = cast(value, self.dtype)
        super().__setitem__(_plain_index(index), value)


def _plain_index(index: Any) -> Any:
    """Weak integers defer every NumPy operation, indexing included: hand NumPy ordinary ones."""
    if isinstance(index, tuple):
        return tuple(_plain_index(part) for part in index)
    if isinstance(index, slice):
        return slice(*(_plain_index(part) for part in (index.start, index.stop, index.step)))
    return int(index) if isinstance(index, (int, np.integer)) else index


def as_argument(value: Any) -> Any:
    """Convert a launch argument to what the kernel's parameter is."""
    if isinstance(value, np.ndarray):
        return ReferenceArray.of(value)
    if isinstance(value, tuple):
        items = [as_argument(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, int) and not isinstance(value, bool):
        return WeakInt(value)
    return value

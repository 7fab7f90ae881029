"""``cuda.Reduce``: an array folded by a binary function of the user's, in lanes on all cores."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from weft.cuda.device_function import DeviceFunction
from weft.cuda.kernel import Kernel
from weft.cuda.transfers import host_value
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.cuda_names import CUDA

_PARTIALS = 1024
"""Results of parts that the array is folded into first: neighbours belong to neighbouring parts."""


class Reduce:
    """A reduction by a binary function, which has to be associative and commutative.

    >>> total = Reduce(lambda a, b: a + b)
    >>> float(total(np.arange(5.0)))
    10.0

    Parameters
    ----------
    functor
        The function of two elements, as Python or a device function.
    """

    @located
    def __init__(self, functor: Callable[[Any, Any], Any] | DeviceFunction) -> None:
        if isinstance(functor, FunctionType):
            functor = DeviceFunction(functor)
        if not isinstance(functor, DeviceFunction):
            raise SignatureError(f"{functor!r} is no Python function", hint="give a function of two elements")
        self._functor = functor
        self._fold: Kernel | None = None

    @located
    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: object = 0
    ) -> Any:
        """Fold an array of one dimension.

        Parameters
        ----------
        arr
            The array.
        size
            How many of its elements, from the first on; all by default.
        res
            An array whose element 0 gets the result; nothing is returned then.
        init
            What the fold begins with.
        stream
            Changes nothing.

        Raises
        ------
        ArgumentError
            The array has more than one dimension, or fewer elements than `size`.
        """
        array = np.asarray(host_value(arr))
        if array.ndim != 1:
            raise ArgumentError(
                f"an array of {array.ndim} dimensions is not reduced", hint="give array.ravel()"
            )
        if size is not None:
            if not 0 <= size <= array.size:
                raise ArgumentError(f"{size} elements of an array of {array.size}")
            array = array[:size]
        made = self._folded(array, array.dtype.type(init))
        if res is None:
            return made
        res[0] = made
        return None

    def _folded(self, array: np.ndarray[Any, Any], init: Any) -> Any:
        if self._fold is None:
            self._fold = _fold_by(self._functor)
        parts = np.empty(min(_PARTIALS, array.size // 2), array.dtype)
        if parts.size:
            self._fold.forall(parts.size)(array, parts)
            array = parts
        return self._last(array, init)

    def _last(self, array: np.ndarray[Any, Any], init: Any) -> Any:
        function, made = self._functor.py_func, init
        with np.errstate(all="ignore"):
            for value in array:
                made = function(made, value)
        return array.dtype.type(made)


def _fold_by(functor: DeviceFunction) -> Kernel:
    """The kernel that folds an array into parts: the elements i, i + n, i + 2 n, ... into part i of n."""
    grid = CUDA.grid

    def fold(array: Any, parts: Any) -> None:
        i, n = grid(1), parts.size
        if i < n:
            made = array[i]
            for j in range(i + n, array.size, n):
                made = functor(made, array[j])
            parts[i] = made

    return Kernel(fold)

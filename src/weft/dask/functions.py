"""Compiled functions as what Dask calls on blocks, and the types of what they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from msgspec import Struct

from weft.cuda.configuration import Configurable
from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.types import Array, KernelType, Scalar
from weft.frontend.python.wording import described
from weft.loops.elementwise import VectorizedFunction
from weft.loops.generalized import GeneralizedFunction
from weft.loops.jit_function import JitFunction


class OnBlocks(Struct, frozen=True):
    """Calls a function on blocks that it may not write to: other tasks may be given the same ones.

    Parameters
    ----------
    function
        What is called.
    """

    function: Any

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*[guarded(self.function, a) for a in args], **keywords)


def guarded(function: Any, value: Any) -> Any:
    """An argument, as an array that is read-only if it is one; a copy for a signature that asks to write."""
    if not isinstance(value, np.ndarray):
        return value
    if isinstance(function, JitFunction) and function.signatures:
        return value if value.flags.writeable else value.copy()
    block = value.view()
    block.flags.writeable = False
    return block


class Returned(Struct, frozen=True):
    """What a function returns for blocks of some types: `ndim` is None for a number."""

    dtype: np.dtype[Any]
    ndim: int | None


def require_function(function: Any, what: str) -> None:
    """Refuse what is no compiled function.

    Raises
    ------
    SignatureError
        It is a kernel, or nothing that weft compiles.
    """
    if isinstance(function, Configurable):
        raise SignatureError(
            f"{what} takes a function, and {function.__name__} is a kernel",
            hint="weft.dask.launch runs kernels on chunked arrays",
        )
    if not isinstance(function, (JitFunction, VectorizedFunction, GeneralizedFunction)):
        raise SignatureError(
            f"{what} takes what weft.jit, weft.vectorize or weft.guvectorize made, not {described(function)}",
            hint="decorate the function, or use Dask's own function of that name",
        )


def returned(function: JitFunction | VectorizedFunction, blocks: Sequence[Any]) -> Returned:
    """What a function returns for such blocks, found without running it.

    Parameters
    ----------
    function
        The function.
    blocks
        Arrays of the blocks' types, of any extents, and the other arguments.

    Raises
    ------
    WeftError
        It cannot be compiled for these types, or returns neither an array nor a number.
    """
    if isinstance(function, VectorizedFunction):
        return Returned(function.result_dtype(blocks), max(np.ndim(b) for b in blocks))
    type = function.result_type(*[guarded(function, b) for b in blocks])
    if isinstance(type, Array) and isinstance(type.dtype, Scalar):
        return Returned(type.dtype.dtype, type.ndim)
    if isinstance(type, Scalar):
        return Returned(type.dtype, None)
    raise _no_array(function, type)


def returned_array(function: Any, blocks: Sequence[Any]) -> Returned:
    """Return the same of a function that is to return an array."""
    found = returned(function, blocks)
    if found.ndim is None:
        raise _no_array(function, found.dtype)
    return found


def _no_array(function: Any, type: KernelType | np.dtype[Any]) -> ArgumentError:
    return ArgumentError(
        f"{function.__name__} returns {type}, and a function of blocks returns an array",
        hint="weft.dask.reduce combines what a function returns for each block",
    )


def like_blocks(args: Sequence[Any]) -> list[Any]:
    """Arguments with Dask's arrays replaced by empty arrays of their blocks' types."""
    return [np.empty((0,) * a.ndim, a.dtype) if is_chunked(a) else a for a in args]


def is_chunked(value: Any) -> bool:
    """Whether a value is an array of Dask."""
    return isinstance(value, da.Array)

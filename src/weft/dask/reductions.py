"""``weft.dask.reduce``: what a function makes of each block, combined in a tree."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.delayed import delayed
from msgspec import Struct

from weft.cuda.configuration import Configurable
from weft.dask.functions import OnBlocks, is_chunked, require_function
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError


class _Combine(Struct, frozen=True):
    """Combines what came of several blocks, from the first to the last."""

    two: Callable[[Any, Any], Any]

    def __call__(self, parts: Sequence[Any]) -> Any:
        return functools.reduce(self.two, parts)


@located
def reduce(function: Any, *args: Any, combine: Callable[[Any, Any], Any], split_every: int = 4) -> Any:
    """Call a function on each block, and combine what it returns.

    The blocks' results are combined `split_every` at a time, neighbours first, and what comes of that in the same way,
    until one is left. Which are combined with which depends on the chunks and on `split_every` alone, never on who is
    done first: the result is the same in every run, on any number of workers, float sums included.

    Parameters
    ----------
    function
        A function of `weft.jit`: a loop over `weft.prange` with reductions, for one. It may return a number, a tuple,
        or an array, a histogram perhaps.
    *args
        Chunked arrays of one shape, and what all blocks get.
    combine
        Of two results makes one: ``operator.add``, ``max``, ``np.add``, or a function of `weft.jit`.
    split_every
        How many results a task combines.

    Returns
    -------
    dask.delayed.Delayed
        Its ``compute()`` gives what the function would return, as Python has it.

    Raises
    ------
    SignatureError
        The function is none of weft's, or a kernel.
    ArgumentError
        There is no chunked array, or they are chunked in different ways.
    """
    require_function(function, "weft.dask.reduce")
    if isinstance(combine, Configurable):
        require_function(combine, "combine=")
    if split_every < 2:
        raise ArgumentError(f"split_every={split_every}", hint="at least two results are combined")
    # Dask says too little of its types.
    arrays: list[Any] = [a for a in args if is_chunked(a)]
    if not arrays:
        raise ArgumentError("weft.dask.reduce got no chunked array", hint="call the function itself")
    if any(a.chunks != arrays[0].chunks for a in arrays):
        chunks = ", ".join(str(a.chunks) for a in arrays)
        raise ArgumentError(f"arrays in chunks of {chunks}", hint="call array.rechunk(...) first")
    blocks = [np.ravel(a.to_delayed()) if is_chunked(a) else a for a in args]
    count = arrays[0].npartitions
    call = delayed(OnBlocks(function), name=None, pure=True)
    parts = [
        call(*(b[n] if is_chunked(a) else a for a, b in zip(args, blocks, strict=True))) for n in range(count)
    ]
    together = delayed(_Combine(combine), pure=True)
    while len(parts) > 1:
        parts = [together(parts[n : n + split_every]) for n in range(0, len(parts), split_every)]
    return parts[0]

"""``weft.dask.map_blocks``: a compiled function on each block."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from weft.dask.functions import OnBlocks, like_blocks, require_function, returned_array
from weft.diag.call_site import located
from weft.loops.generalized import GeneralizedFunction


@located
def map_blocks(
    function: Any,
    *args: Any,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: Any = None,
    new_axis: Any = None,
    name: str | None = None,
) -> Any:
    """Call a compiled function on each block of chunked arrays.

    As Dask's function of that name, but for two things. The type of the result is found without a call: Dask would call
    the function on empty arrays, where compiled code, which does not check indices, may read what is not there. And
    blocks come read-only, since other tasks may be given the same ones: a function that writes to one is refused, with
    its line.

    Parameters
    ----------
    function
        What `weft.jit`, `weft.vectorize` or `weft.guvectorize` made. It returns an array; of `weft.guvectorize`, the
        core dimensions lie in one chunk each.
    *args
        Chunked arrays, broadcast together block by block, and what all blocks get: numbers, NumPy arrays.
    dtype
        The type of the result's elements; found by default.
    chunks, drop_axis, new_axis
        As for Dask's function, where the blocks of the result have other extents or other axes; not for
        `weft.guvectorize`.
    name
        The name of the result in the graph.

    Returns
    -------
    dask.array.Array
        The result; a tuple of them for a function of `weft.guvectorize` with several results.

    Raises
    ------
    SignatureError
        The function is none of weft's, or a kernel.
    ArgumentError
        It returns no array.
    """
    require_function(function, "weft.dask.map_blocks")
    if isinstance(function, GeneralizedFunction):
        return _along_core(function, args)
    blocks = like_blocks(args)
    if dtype is None:
        dtype = returned_array(function, blocks).dtype
    ndim = max((a.ndim for a in args if isinstance(a, da.Array)), default=0)
    ndim += _count(new_axis) - _count(drop_axis)
    return da.map_blocks(
        OnBlocks(function),
        *args,
        dtype=dtype,
        meta=np.empty((0,) * ndim, dtype),
        chunks=chunks,
        drop_axis=drop_axis,
        new_axis=new_axis,
        name=name,
        token=function.__name__,
    )


def _along_core(function: GeneralizedFunction, args: tuple[Any, ...]) -> Any:
    """A generalized function, whose core dimensions Dask knows of."""
    types = function.result_dtypes(like_blocks(args))
    return da.apply_gufunc(
        OnBlocks(function),
        str(function.core),
        *args,
        output_dtypes=types if len(types) > 1 else types[0],
        vectorize=False,
    )


def _count(axes: Any) -> int:
    return 0 if axes is None else int(np.size(axes))

"""``weft.dask.stencil``: functions and kernels whose elements depend on their neighbours."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from msgspec import Struct

from weft.cuda.configuration import Configurable
from weft.dask.functions import OnBlocks, like_blocks, require_function, returned_array
from weft.dask.threads import threads_of
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError


class _Stencil(Struct, frozen=True):
    """Launches a kernel with a thread for each element of a block, and returns what it has written.

    Parameters
    ----------
    kernel
        Takes the block, the result, and other arguments.
    dtype
        Of the result, which has the block's shape and begins as zeros.
    """

    kernel: Any
    dtype: np.dtype[Any]

    def __call__(self, block: Any, *args: Any) -> Any:
        made = np.zeros(block.shape, self.dtype)
        source = block.view()
        source.flags.writeable = False
        if made.size:
            self.kernel[threads_of(made.shape)](source, made, *args)
        return made


@located
def stencil(
    function: Any,
    array: Any,
    depth: Any,
    boundary: Any = "none",
    *args: Any,
    dtype: Any = None,
) -> Any:
    """Compute each element from its neighbours, which may lie in other chunks.

    Each block comes with `depth` elements of its neighbours around it; the function computes a result of the same
    shape, and what stands for the neighbours' elements is cut off (Dask's ``map_overlap``). So an element is what it
    would be without chunks, to the last bit, if it depends on elements that are no further off than `depth`.

    Parameters
    ----------
    function
        A function of `weft.jit` that takes a block and returns an array of its shape, or a kernel that takes a block
        and the array that it fills, with a thread for each element: ``x, y = cuda.grid(2)`` is column and row. Elements
        that the kernel leaves alone are zero.
    array
        The chunked array.
    depth
        How many elements beyond its own a block needs: a number, one for each axis, or a dictionary by axis.
    boundary
        What lies beyond the array: ``"none"`` (the block ends there), ``"reflect"``, ``"periodic"``, ``"nearest"`` or
        a number; one for each axis in a tuple or dictionary.
    *args
        Further arguments of the function, the same for all blocks.
    dtype
        The type of the result's elements. By default it is found, and for a kernel it is the array's.

    Returns
    -------
    dask.array.Array
        The result, chunked as the array is. Chunks that are smaller than the depth are joined first.

    Raises
    ------
    SignatureError
        The function is none of weft's.
    ArgumentError
        It returns no array with as many axes.
    """
    call: OnBlocks | _Stencil
    if isinstance(function, Configurable):
        call = _Stencil(function, np.dtype(dtype or array.dtype))
        dtype = call.dtype
    else:
        require_function(function, "weft.dask.stencil")
        found = returned_array(function, like_blocks([array, *args]))
        if found.ndim != array.ndim:
            raise ArgumentError(
                f"{function.__name__} returns an array of {found.ndim} dimensions for one of {array.ndim}",
                hint="a stencil returns an array of the block's shape",
            )
        dtype, call = dtype or found.dtype, OnBlocks(function)
    return da.map_overlap(
        call,
        array,
        *args,
        depth=depth,
        boundary=boundary,
        dtype=dtype,
        meta=np.empty((0,) * array.ndim, dtype),
        token=function.__name__,
    )

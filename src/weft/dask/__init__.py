"""Compiled functions and kernels on Dask's chunked arrays, on one machine or many.

Functions of `weft.jit`, `weft.vectorize` and `weft.guvectorize` can be pickled, so they work in Dask's own
``map_blocks``, ``apply_gufunc`` and ``reduction``, and in what is built on these. What is here knows more of them: the
types of their results without a call, threads for each element of a chunk, where in the whole array a chunk lies, and
that blocks belong to others too and are not to be written to.

What a pickle carries is the function's source and byte code, never machine code: each worker compiles for its own
processor, or takes the code from its machine's compile cache. docs/dask.md has what that means for security.
"""

from __future__ import annotations

try:
    import dask.array as _  # noqa: F401
except ImportError as error:
    raise ImportError("weft.dask needs Dask: pip install 'weft[dask]'") from error

from weft.dask.blocks import map_blocks
from weft.dask.launches import Extent, Origin, Result, Updated, launch
from weft.dask.reductions import reduce
from weft.dask.stencils import stencil
from weft.dask.workers import share_cores

__all__ = [
    "Extent",
    "Origin",
    "Result",
    "Updated",
    "launch",
    "map_blocks",
    "reduce",
    "share_cores",
    "stencil",
]

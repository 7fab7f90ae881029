"""Arrays of other kinds that take results."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError


def result_array(name: str, out: Any) -> np.ndarray[Any, Any]:
    """The NumPy array whose memory `out` is, so that results of the function `name` are seen in it.

    Raises
    ------
    ArgumentError
        It is no array: NumPy would make a copy, and the results would be lost.
    """
    # A device array of weft.cuda, which this room does not know.
    found = getattr(out, "array", None)
    if not isinstance(found, np.ndarray):
        raise ArgumentError(
            f"the result of {name} cannot go to a {type(out).__qualname__}",
            hint="give a NumPy array or a device array: cuda.as_cuda_array(out)",
        ).at(call_site())
    return found

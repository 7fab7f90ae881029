"""bfloat16 as an argument of a kernel: numbers of Python, of the package ``ml_dtypes``, or their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.frontend.python.bfloat import nearest


def bfloats_of(given: Any) -> np.ndarray[Any, Any] | None:
    """The bits of numbers, as uint16; None of what has none.

    Integers of NumPy with 16 bits are bits, what ``ml_dtypes`` has keeps its own, and other numbers are rounded.
    """
    try:
        array = np.atleast_1d(np.asarray(given))
    except ValueError:
        return None
    if isinstance(given, (np.ndarray, np.generic)):
        holds_bits = array.dtype.itemsize == 2 and array.dtype.kind in "iuV" and not array.dtype.fields
        if holds_bits or array.dtype.kind == "V" or array.dtype.kind not in "iufb":
            return array.view(np.uint16) if holds_bits else None
    elif array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return array.view(np.uint16)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        return None
    floats = np.array([nearest(float(item)) for item in array.tolist()], np.float32)
    return (floats.view(np.uint32) >> 16).astype(np.uint16)


def name_of(dtype: np.dtype[Any]) -> str:
    """What users call a number's type; the code of bfloat16 is a number of bytes to NumPy."""
    return "ml_dtypes.bfloat16 or, for its bits, uint16" if dtype.kind == "V" else str(dtype)

"""The ``fastmath`` option: which of LLVM's fast-math flags float operations carry."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from weft.diag.errors import SignatureError

FastMath = bool | tuple[str, ...]
"""True for all flags, False for none, or the names of some in order."""

FLAGS = ("afn", "arcp", "contract", "ninf", "nnan", "nsz", "reassoc")
"""LLVM's flags: approximate functions, reciprocals, contraction to FMA, no infinities, no NaN, no signed zeros,
reassociation."""


def fast_math(given: Any) -> FastMath:
    """Return the option from what the user gave: a truth value, or as in numba a set of flags.

    Raises
    ------
    SignatureError
        It is neither, or a flag is unknown.
    """
    if isinstance(given, bool):
        return given
    if isinstance(given, (Set, list, tuple)) and all(isinstance(flag, str) for flag in given):
        if "fast" in given:
            return True
        if set(given) <= set(FLAGS):
            return tuple(sorted(set(given)))
    raise SignatureError(
        f"fastmath={given!r}", hint=f"it may be True, False, or a set of the flags {', '.join(FLAGS)}"
    )

"""What a user can ask of a function with parallel loops; cheap to import."""

from __future__ import annotations

from dataclasses import dataclass

from weft.fast_math import FastMath


@dataclass(frozen=True, slots=True)
class JitOptions:
    """How functions with parallel loops are compiled.

    Parameters
    ----------
    fastmath
        The fast-math flags of float operations.
    width
        Lanes; None lets weft choose.
    if_legal
        Whether a loop over `prange` that is not parallel runs in order, with a remark, instead of being refused.
    """

    fastmath: FastMath = False
    width: int | None = None
    if_legal: bool = False

    @property
    def key(self) -> str:
        """The options as text, for the compile cache."""
        return f"fastmath={self.fastmath} width={self.width} if_legal={self.if_legal}"

"""What the caller of a function promises of its pointers: that they lead to arrays that do not overlap."""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Argument, Function, Value
from weft.ir.intrinsics import ARRAYS_APART_ATTRIBUTE


class Promise(Struct):
    """That the arguments of a function lead to objects that do not overlap, as its launcher sees to.

    Attributes
    ----------
    is_used
        Whether an answer was given because of it.
    """

    is_used: bool = False

    @classmethod
    def of(cls, function: Function) -> Promise | None:
        """The promise that a function has, if any."""
        return None if function.attribute(ARRAYS_APART_ATTRIBUTE) is None else cls()

    def parts(self, a: Value, b: Value) -> bool:
        """Whether two pointers, not derived from others, are apart by the promise; it is used then."""
        apart = a is not b and isinstance(a, Argument) and isinstance(b, Argument)
        self.is_used |= apart
        return apart

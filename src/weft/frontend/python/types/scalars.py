"""Numbers, truth values, dates and None, the base of all types, and signatures."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from weft.frontend.python.types.arrays import Array


class KernelType:
    """Base of all types; compared by identity."""

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return str(self)


class Signature:
    """Argument types and, when known, the type of the result: ``void(float32[:], int32)``."""

    __slots__ = ("args", "result")

    def __init__(self, args: Iterable[KernelType], result: KernelType | None = None) -> None:
        self.args = tuple(args)
        self.result = result

    @property
    def return_type(self) -> KernelType | None:
        """The type of the result, by numba's name."""
        return self.result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and (self.args, self.result) == (other.args, other.result)

    def __hash__(self) -> int:
        return hash((self.args, self.result))

    def __repr__(self) -> str:
        return f"{self.result or ''}({', '.join(map(str, self.args))})"


class _Callable(KernelType):
    """A type that may stand for the result in a signature written as a call."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Any:
        return Signature(args, self)


class Scalar(_Callable):
    """A number or truth value.

    Parameters
    ----------
    name
        NumPy's name of the type, or Python's for a weak one.
    kind
        NumPy's letter: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex.
    bits
        Width of the value (a bool counts as 8, its width in memory).
    weak
        Whether the type yields to its partner's in an operation.
    """

    __slots__ = ("bits", "kind", "name", "weak")

    def __init__(self, name: str, kind: str, bits: int, weak: bool = False) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.weak = weak

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return scalar_named, (self.name,)

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array:
        from weft.frontend.python.types.arrays import array_of

        return array_of(self, index)

    def __call__(self, *args: Any) -> Any:
        """Make a signature from types, or convert one number as a NumPy scalar."""
        if len(args) == 1 and not isinstance(args[0], KernelType):
            return self.dtype.type(args[0])
        return Signature(args, self)

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def bitwidth(self) -> int:
        """Bits of a value, by numba's name."""
        return self.bits

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.bits // 8

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest value of an integer type."""
        if self.kind == "i":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type."""
        import numpy as np

        return np.dtype(f"{self.kind}{self.size}" if self.kind != "b" else "?")


class Time(Scalar):
    """A date or a span of time in a unit, an int64 by itself; the least one is NaT. Made by `time_named`."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type."""
        import numpy as np

        return np.dtype(self.name)


class BFloat16(Scalar):
    """The upper half of a float32: 8 bits of exponent, 8 of precision. There is one of it, `bfloat16`."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the package ``ml_dtypes`` where that is installed, else uint16, the bits."""
        import numpy as np

        try:
            from ml_dtypes import bfloat16 as found
        except ImportError:
            return np.dtype(np.uint16)
        return np.dtype(found)

    def __call__(self, *args: Any) -> Any:
        """Make a signature from types, or convert one number, for which ``ml_dtypes`` is needed."""
        import numpy as np

        if len(args) == 1 and not isinstance(args[0], KernelType) and self.dtype == np.uint16:
            from weft.diag.errors import UnsupportedError

            raise UnsupportedError(
                "a bfloat16 outside of compiled functions needs the package ml_dtypes",
                hint='pip install "weft[bfloat16]", or use arrays of uint16 and x.view(bfloat16) in the function',
            )
        return super().__call__(*args)


class NoneType(_Callable):
    """The type of None; as a result type it is spelled ``void``."""

    __slots__ = ()

    def __str__(self) -> str:
        return "none"

    def __reduce__(self) -> str:
        return "none"


boolean = Scalar("bool", "b", 8)
int8, int16, int32, int64 = (Scalar(f"int{n}", "i", n) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Scalar(f"uint{n}", "u", n) for n in (8, 16, 32, 64))
float16, float32, float64 = (Scalar(f"float{n}", "f", n) for n in (16, 32, 64))
complex64, complex128 = (Scalar(f"complex{n}", "c", n) for n in (64, 128))
bfloat16 = BFloat16("bfloat16", "f", 16)
pyint, pyfloat, pycomplex = (
    Scalar("int", "i", 64, weak=True),
    Scalar("float", "f", 64, weak=True),
    Scalar("complex", "c", 128, weak=True),
)
none = void = NoneType()
bool_, intp, uintp = boolean, int64, uint64

STRONG = (
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, float32, float64, complex64, complex128,
)  # fmt: skip
"""NumPy's own types."""
_BY_NAME = {type.name: type for type in (*STRONG, bfloat16, pyint, pyfloat, pycomplex)}


def scalar_named(name: str) -> Scalar:
    """The scalar type of that name; KeyError when there is none."""
    return time_named(name) if name.startswith(("datetime64", "timedelta64")) else _BY_NAME[name]


@cache
def time_named(name: str) -> Time:
    """The type of dates or spans that NumPy calls so: ``datetime64[D]``."""
    return Time(name, "M" if name.startswith("d") else "m", 64)

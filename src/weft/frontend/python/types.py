"""Types of the kernel language.

Types are interned: equal types are the same object, so a tuple of them is a fast key. The scalar types are
module constants (``float32``, ``int64``, ...), and ``float32[:, ::1]`` is an array of them in numba's notation:
``::1`` as the last dimension says C-contiguous. `pyint`, `pyfloat` and `pycomplex` are *weak* in the sense of
NEP 50: Python numbers, thread ids, sizes and range counters have them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from weft.tiled_arrays import block_of, origin_of

if TYPE_CHECKING:
    import numpy as np


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
        return array_type(self, *_array_notation(index))

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


class Array(KernelType):
    """An array or a view of one.

    Parameters
    ----------
    dtype
        Scalar or `Record`.
    ndim
        Number of dimensions.
    layout
        ``C`` when contiguous in C order, ``A`` when each dimension has a stride of its own; so has numba's ``F``.
    readonly, aligned
        As NumPy's flags.
    space
        Address space: 0, or that of shared memory.
    shape
        Extents known at compile time (shared and local arrays), with -1 for the one of dynamic shared memory,
        which is never known; None when extents are run-time values.
    """

    __slots__ = ("aligned", "dtype", "layout", "ndim", "readonly", "shape", "space")

    dtype: Scalar | Record
    ndim: int
    layout: str
    readonly: bool
    aligned: bool
    space: int
    shape: tuple[int, ...] | None

    def __new__(
        cls,
        dtype: Scalar | Record,
        ndim: int,
        layout: str = "A",
        readonly: bool = False,
        aligned: bool = True,
        space: int = 0,
        shape: tuple[int, ...] | None = None,
    ) -> Array:
        key = dtype, ndim, layout if layout == "C" else "A", readonly, aligned, space, shape
        found = _arrays.get(key)
        if found is None:
            made = super().__new__(cls)
            made.dtype, made.ndim, made.layout, made.readonly, made.aligned, made.space, made.shape = key
            found = _arrays.setdefault(key, made)
        return found

    def __str__(self) -> str:
        dims = [":"] * self.ndim
        if self.layout == "C" and dims:
            dims[-1] = "::1"
        return f"{'readonly ' if self.readonly else ''}{self.dtype}[{', '.join(dims)}]"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.dtype, self.ndim, self.layout, self.readonly, self.aligned, self.space, self.shape)
        return Array, fields

    def replace(self, **changes: Any) -> Array:
        """The type with some of its parameters changed."""
        names = ("dtype", "ndim", "layout", "readonly", "aligned", "space", "shape")
        return Array(*(changes.get(name, getattr(self, name)) for name in names))


class Tiled(KernelType):
    """An array that lies in blocks in memory (`weft.tiled_arrays.TiledArray`).

    Parameters
    ----------
    dtype
        Scalar or `Record`.
    block
        The extents of a block, powers of two; there are as many dimensions.
    origin
        The first element that begins a block.
    readonly
        Whether it must not be written.
    """

    __slots__ = ("block", "dtype", "origin", "readonly")

    def __init__(
        self, dtype: Scalar | Record, block: tuple[int, ...], origin: tuple[int, ...], readonly: bool
    ) -> None:
        self.dtype = dtype
        self.block = block
        self.origin = origin
        self.readonly = readonly

    @property
    def ndim(self) -> int:
        return len(self.block)

    def __str__(self) -> str:
        origin = f", {self.origin}" if any(self.origin) else ""
        return f"{'readonly ' if self.readonly else ''}tiled({self.dtype}, {self.block}{origin})"

    def __reduce__(self) -> tuple[Any, ...]:
        return tiled_type, (self.dtype, self.block, self.origin, self.readonly)

    def lies_as(self, other: Tiled) -> bool:
        """Whether arrays of both types have the same elements at the same places."""
        return (self.dtype, self.block, self.origin) == (other.dtype, other.block, other.origin)


class Tuple(KernelType):
    """A tuple, or a named tuple when `cls` is its class."""

    __slots__ = ("cls", "items")

    items: tuple[KernelType, ...]
    cls: type | None

    def __new__(cls, items: Iterable[KernelType], named: type | None = None) -> Tuple:
        key = tuple(items), named
        found = _tuples.get(key)
        if found is None:
            made = super().__new__(cls)
            made.items, made.cls = key
            found = _tuples.setdefault(key, made)
        return found

    @property
    def fields(self) -> tuple[str, ...]:
        return getattr(self.cls, "_fields", ())

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"{self.cls.__name__}({inner})" if self.cls else f"({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tuple, (self.items, self.cls)


class Computed(Tuple):
    """The elements of an array expression that are computed when they are asked for, within one compilation.

    It is a tuple of their number and of what they are computed from (`weft.frontend.python.lowering.arrays.fused`).

    Parameters
    ----------
    items
        The types of these.
    dtype
        The type of an element.
    number
        Of the expression.
    """

    __slots__ = ("dtype", "number")

    dtype: Scalar
    number: int

    def __new__(cls, items: Iterable[KernelType], dtype: Scalar, number: int) -> Computed:
        key = tuple(items), (dtype, number)
        found = _tuples.get(key)
        if found is None:
            made = KernelType.__new__(cls)
            made.items, made.cls, made.dtype, made.number = key[0], None, dtype, number
            found = _tuples.setdefault(key, made)
        assert isinstance(found, Computed)
        return found


class Field:
    """A field of a record at a byte offset; `shape` is not empty for an array inside the record."""

    __slots__ = ("offset", "shape", "type")

    def __init__(self, type: Scalar | Record, offset: int, shape: tuple[int, ...]) -> None:
        self.type = type
        self.offset = offset
        self.shape = shape


class Record(KernelType):
    """A structured dtype; a value of it is a reference to the bytes in memory."""

    __slots__ = ("align", "fields", "numpy_dtype")

    def __init__(self, numpy_dtype: np.dtype[Any], fields: dict[str, Field], align: int) -> None:
        self.numpy_dtype = numpy_dtype
        self.fields = fields
        self.align = align

    @property
    def size(self) -> int:
        return self.numpy_dtype.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.numpy_dtype

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array:
        return array_type(self, *_array_notation(index))

    def __str__(self) -> str:
        return f"record({', '.join(f'{name}: {f.type}' for name, f in self.fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        from weft.frontend.python.typeof import record_type

        return record_type, (self.numpy_dtype, self.align)


class Text(Record):
    """Bytes or characters of a fixed number, padded with zeros; a value of it is a reference to them in memory."""

    __slots__ = ()

    def __init__(self, numpy_dtype: np.dtype[Any], align: int) -> None:
        super().__init__(numpy_dtype, {}, align)

    @property
    def unit(self) -> int:
        """Bytes of a character."""
        return 1 if self.numpy_dtype.kind == "S" else 4

    def __str__(self) -> str:
        return self.numpy_dtype.str.lstrip("<|")

    def __reduce__(self) -> tuple[Any, ...]:
        return text_type, (self.numpy_dtype, self.align)


class Enumeration(KernelType):
    """A class of `enum.Enum` members that are no numbers; a value is the position of the member in the class."""

    __slots__ = ("cls", "members")

    cls: type[enum.Enum]
    members: tuple[enum.Enum, ...]

    def __new__(cls, named: type[enum.Enum]) -> Enumeration:
        found = _enumerations.get(named)
        if found is None:
            made = super().__new__(cls)
            made.cls, made.members = named, tuple(named)
            found = _enumerations.setdefault(named, made)
        return found

    def __str__(self) -> str:
        return self.cls.__qualname__

    def __reduce__(self) -> tuple[Any, ...]:
        return Enumeration, (self.cls,)


class NoneType(_Callable):
    """The type of None; as a result type it is spelled ``void``."""

    __slots__ = ()

    def __str__(self) -> str:
        return "none"

    def __reduce__(self) -> str:
        return "none"


class Static(KernelType):
    """The type of a value that exists at compile time only: a function, module, dtype or string."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __str__(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "__name__", None)
        return str(name or repr(self.value))


class Callee(Static):
    """The type of one function that is an argument: code is compiled for that function.

    Parameters
    ----------
    value
        The function, or what has it as ``py_func``.
    digest
        The fingerprint of all that it reaches (`weft.frontend.python.fingerprint`); functions that have one digest have
        one type. None where it has none: then each object has a type of its own, in this process.
    """

    __slots__ = ("digest",)

    def __init__(self, value: object, digest: str | None) -> None:
        super().__init__(value)
        self.digest = digest


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


def callees_of(types: Iterable[KernelType]) -> tuple[Any, ...]:
    """The functions that arguments of these types are, those in tuples included."""
    found: list[Any] = []
    for type in types:
        if isinstance(type, Callee):
            found.append(type.value)
        elif isinstance(type, Tuple):
            found += callees_of(type.items)
    return tuple(found)


def text_type(dtype: np.dtype[Any], align: int = 4) -> Text:
    """The type of text of a NumPy type ``S12`` or ``U12`` that lies at multiples of `align`, or of its characters."""
    return _text_type(dtype, min(align, dtype.alignment))


_arrays: dict[tuple[Any, ...], Array] = {}
_tuples: dict[tuple[Any, ...], Tuple] = {}
_enumerations: dict[type[enum.Enum], Enumeration] = {}

array_type = Array
tuple_type = Tuple


def tiled_type(
    dtype: Scalar | Record,
    block: Iterable[int],
    origin: Iterable[int] | None = None,
    readonly: bool = False,
) -> Tiled:
    """The type of an array in blocks (see `Tiled`).

    Raises
    ------
    ArgumentError
        The block or the origin is none.
    """
    extents = block_of(block)
    return _tiled_type(dtype, extents, origin_of(origin or (0,) * len(extents), extents), readonly)


_tiled_type = cache(Tiled)
_text_type = cache(Text)


def uni_tuple(item: KernelType, count: int) -> Tuple:
    """The type of a tuple of `count` items of one type."""
    return Tuple((item,) * count)


def _array_notation(index: slice | tuple[slice, ...]) -> tuple[int, str]:
    dims = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(d, slice) and d.start is None and d.stop is None for d in dims):
        raise TypeError("an array type is written with slices: float32[:], float32[:, ::1]")
    return len(dims), "C" if dims[-1].step == 1 else "A"

"""Types of kernel arguments and values: ``float32[:, ::1]``, ``void(float32[:], int32)``, `typeof`."""

from weft.frontend.python.signatures import as_type, parse_signature
from weft.frontend.python.typeof import from_dtype, typeof
from weft.frontend.python.types import (
    Array,
    KernelType,
    NoneType,
    Record,
    Scalar,
    Signature,
    Tiled,
    Tuple,
    array_type,
    bfloat16,
    bool_,
    boolean,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    intp,
    none,
    pycomplex,
    pyfloat,
    pyint,
    tiled_type,
    tuple_type,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    uni_tuple,
    void,
)

UniTuple = uni_tuple
int_ = int64
uint = uint64
float_ = float64
double = float64
byte = uint8
char = int8
uchar = uint8
short = int16
ushort = uint16
intc = int32
uintc = uint32
long_ = int64
ulong = uint64
longlong = int64
ulonglong = uint64
b1 = boolean
i1 = int8
i2 = int16
i4 = int32
i8 = int64
u1 = uint8
u2 = uint16
u4 = uint32
u8 = uint64
f2 = float16
f4 = float32
f8 = float64
c8 = complex64
c16 = complex128

__all__ = [
    "UniTuple",
    "int_",
    "uint",
    "float_",
    "double",
    "byte",
    "char",
    "uchar",
    "short",
    "ushort",
    "intc",
    "uintc",
    "long_",
    "ulong",
    "longlong",
    "ulonglong",
    "b1",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "Array",
    "KernelType",
    "NoneType",
    "Record",
    "Scalar",
    "Signature",
    "Tiled",
    "Tuple",
    "array_type",
    "as_type",
    "bfloat16",
    "bool_",
    "boolean",
    "complex128",
    "complex64",
    "float16",
    "float32",
    "float64",
    "from_dtype",
    "int16",
    "int32",
    "int64",
    "int8",
    "intp",
    "none",
    "parse_signature",
    "pycomplex",
    "pyfloat",
    "pyint",
    "tiled_type",
    "tuple_type",
    "typeof",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintp",
    "uni_tuple",
    "void",
]

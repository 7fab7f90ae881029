"""Signatures as users write them: weft's types, numba's types, dtypes, and strings.

``"void(float32[:, ::1], int32)"``, ``(float32[:], int32)`` and ``void(float32[:], int32)`` all say the same.
Objects of numba are recognized by their attributes; numba is not imported.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from weft.diag.errors import ArgumentError, SignatureError
from weft.diag.source import SourceSpan
from weft.frontend.python import types
from weft.frontend.python.typeof import from_dtype
from weft.frontend.python.types import (
    Array,
    KernelType,
    Record,
    Scalar,
    Signature,
    Tiled,
    array_type,
    tiled_type,
    tuple_type,
)

_NAMES: dict[str, KernelType] = {
    **{type.name: type for type in types.STRONG},
    "bfloat16": types.bfloat16,
    "__nv_bfloat16": types.bfloat16,
    **{f"{type.kind}{type.size}": type for type in types.STRONG if type.kind != "b"},
    "boolean": types.boolean,
    "bool_": types.boolean,
    "b1": types.boolean,
    "void": types.none,
    "none": types.none,
    "intp": types.int64,
    "uintp": types.uint64,
    "int_": types.int64,
    "float_": types.float64,
    "double": types.float64,
    "byte": types.uint8,
    "char": types.int8,
    "uchar": types.uint8,
    "short": types.int16,
    "ushort": types.uint16,
    "intc": types.int32,
    "uintc": types.uint32,
    "long_": types.int64,
    "ulong": types.uint64,
    "longlong": types.int64,
    "ulonglong": types.uint64,
}
_PYTHON: dict[type, KernelType] = {
    int: types.pyint,
    float: types.pyfloat,
    bool: types.boolean,
    complex: types.pycomplex,
}


def parse_signature(text: Any) -> Signature:
    """Return the signature that a string, tuple, `Signature` or numba signature stands for.

    Raises
    ------
    SignatureError
        It cannot be read, or names a type that kernels do not have; the span points into a string.
    """
    if isinstance(text, Signature):
        return text
    if isinstance(text, str):
        return _parse_text(text)
    if isinstance(text, (tuple, list)):
        return Signature(as_type(item) for item in text)
    args, result = getattr(text, "args", None), getattr(text, "return_type", None)
    if isinstance(args, tuple):
        return Signature((as_type(a) for a in args), None if result is None else as_type(result))
    raise SignatureError(
        f"{text!r} is no signature",
        hint="write a string such as 'void(float32[:], int32)' or a tuple of types",
    )


def declared_signatures(target: Any) -> tuple[Signature, ...]:
    """The signatures that a decorated function was declared with."""
    found = getattr(target, "signatures", None)
    if not isinstance(found, tuple) or not all(isinstance(item, Signature) for item in found):
        return ()
    return found


def as_type(value: Any) -> KernelType:
    """Return the kernel type that `value` names: a weft or numba type, NumPy dtype or scalar type, or string."""
    if isinstance(value, KernelType):
        return value
    if isinstance(value, str):
        return _type_of(_parse_expression(value), value)
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    if value is None:
        return types.none
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return from_dtype(np.dtype(value))
    found = _numba_type(value)
    if found is None:
        raise SignatureError(f"{value!r} is no type that a kernel can take")
    return found


def _numba_type(value: Any) -> KernelType | None:
    """Translate a type object of numba by its attributes."""
    dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
    name = str(getattr(value, "name", ""))
    if name in _NAMES:
        return _NAMES[name]
    if dtype is not None and isinstance(ndim, int):
        element = as_type(dtype)
        assert isinstance(element, (Scalar, Record))
        layout = "C" if getattr(value, "layout", "A") == "C" else "A"
        readonly = not getattr(value, "mutable", True)
        return array_type(element, ndim, layout, readonly, bool(getattr(value, "aligned", True)))
    # Before the dtype: that of a tuple of several types is a union of all.
    members = getattr(value, "types", None)
    if isinstance(members, tuple):
        return tuple_type(tuple(map(as_type, members)), getattr(value, "instance_class", None))
    if dtype is not None and isinstance(getattr(value, "count", None), int):
        return tuple_type((as_type(dtype),) * value.count, getattr(value, "instance_class", None))
    if isinstance(dtype, np.dtype):
        return from_dtype(dtype)
    return None


def _parse_expression(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        span = SourceSpan("<signature>", 1, error.offset or 1, text=text)
        hint = "write it as in 'void(float32[:, ::1], int32)'"
        raise SignatureError(f"signature cannot be read: {error.msg}", span, hint) from None


def _parse_text(text: str) -> Signature:
    node = _parse_expression(text)
    if isinstance(node, ast.Call) and not _is_tiled(node):
        return Signature((_type_of(arg, text) for arg in node.args), _type_of(node.func, text))
    if isinstance(node, ast.Tuple):
        return Signature(_type_of(item, text) for item in node.elts)
    return Signature((_type_of(node, text),))


def _type_of(node: ast.expr, text: str) -> KernelType:
    if isinstance(node, ast.Constant) and node.value is None:
        return types.none
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in _NAMES:
            return _NAMES[name]
    if isinstance(node, ast.Subscript):
        element = _type_of(node.value, text)
        if isinstance(element, (Scalar, Record)):
            return _array_of(element, node.slice, text)
    if isinstance(node, ast.Tuple):
        return tuple_type(tuple(_type_of(item, text) for item in node.elts))
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if _is_tiled(node) and len(node.args) in (2, 3):
            return _tiled_of(node, text)
        if name == "Tuple" and len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)):
            return tuple_type(tuple(_type_of(item, text) for item in node.args[0].elts))
        if name == "UniTuple" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            return tuple_type((_type_of(node.args[0], text),) * int(node.args[1].value))  # type: ignore[arg-type]
    raise _error(f"{ast.unparse(node)!r} is no type that a kernel can take", node, text)


def _array_of(element: Scalar | Record, index: ast.expr, text: str) -> Array:
    dims = index.elts if isinstance(index, ast.Tuple) else [index]
    for dim in dims:
        if not isinstance(dim, ast.Slice) or dim.lower is not None or dim.upper is not None:
            raise _error("a dimension of an array type is written ':' or '::1'", dim, text)
    last = dims[-1]
    assert isinstance(last, ast.Slice)
    contiguous = isinstance(last.step, ast.Constant) and last.step.value == 1
    return array_type(element, len(dims), "C" if contiguous else "A")


def _is_tiled(node: ast.Call) -> bool:
    return isinstance(node.func, (ast.Name, ast.Attribute)) and ast.unparse(node.func).endswith("tiled")


def _tiled_of(node: ast.Call, text: str) -> Tiled:
    """The type that ``tiled(float64, (2, 2))`` stands for."""
    element = _type_of(node.args[0], text)
    try:
        if isinstance(element, (Scalar, Record)):
            return tiled_type(element, *map(ast.literal_eval, node.args[1:]))
    except (ArgumentError, ValueError):
        pass
    raise _error("an array in blocks is written as tiled(float64, (2, 2))", node, text)


def _error(message: str, node: ast.expr, text: str) -> SignatureError:
    column = node.col_offset + 1
    end = node.end_col_offset or node.col_offset
    return SignatureError(message, SourceSpan("<signature>", 1, column, 1, end + 1, text=text.strip()))

"""Arguments of kernels: what debug information says of their types."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.frontend.device.arguments import (
    fields_of,
    file_of,
    has_union,
    local_bytes,
    private_bytes,
    record_type,
)
from weft.frontend.device.metadata import ArgumentInfo, KernelInfo, Passing
from weft.ir import Argument, Function, Module
from weft.ir.intrinsics import is_lane_operation
from weft.ir.metadata import MDNode, MDTuple
from weft.ir.types import FloatType, IntType, PointerType

WARP = 32

_NAMES = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_ENCODINGS = {
    "DW_ATE_float": "f", "DW_ATE_signed": "i", "DW_ATE_signed_char": "i", "DW_ATE_unsigned": "u",
    "DW_ATE_unsigned_char": "u", "DW_ATE_boolean": "?", "DW_ATE_UTF": "u",
}  # fmt: skip
_VECTORS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "longlong": "i8", "ulonglong": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
_VECTOR = re.compile(rf"({'|'.join(_VECTORS)})([1-4])")
BFLOAT = "V2"
"""NumPy's code of a bfloat16, which it has no type for."""
_RECORDS = {
    "__half": ("f2", 1), "__half2": ("f2", 2), "__nv_bfloat16": (BFLOAT, 1), "__nv_bfloat162": (BFLOAT, 2),
    "dim3": ("u4", 3),
}  # fmt: skip
NUMBERS = ("__half", "__nv_bfloat16")
"""Classes that are numbers."""


def kernel_infos(kernels: Sequence[Function]) -> dict[str, KernelInfo]:
    """What is known of the kernels, by symbol."""
    return {kernel.name: _kernel_info(kernel) for kernel in kernels}


def _kernel_info(kernel: Function) -> KernelInfo:
    module = kernel.module
    assert module is not None
    subprogram = kernel.subprogram
    variables = _parameters(subprogram)
    arguments = tuple(
        _argument(argument, module, variables.get(k + 1)) for k, argument in enumerate(kernel.args)
    )
    return KernelInfo(
        kernel.name,
        arguments,
        sub_group_size=WARP,
        uses_sub_groups=any(map(is_lane_operation, module.functions)),
        local_bytes=local_bytes(kernel, module),
        private_bytes=private_bytes(kernel),
        file=file_of(subprogram),
        line=subprogram.number("line") if subprogram is not None else 0,
    )


def _parameters(subprogram: MDNode | None) -> dict[int, MDNode]:
    """The variables of a function's parameters, counted from 1."""
    retained = subprogram.fields.get("retainedNodes") if subprogram is not None else None
    nodes = retained.items if isinstance(retained, MDTuple) else []
    return {node.number("arg"): node for node in nodes if isinstance(node, MDNode) and node.number("arg")}


def _argument(argument: Argument, module: Module, variable: MDNode | None) -> ArgumentInfo:
    type, layout = argument.type, module.layout
    declared = variable.node("type") if variable is not None else None
    name = (variable.text("name") or "") if variable is not None else ""
    line = variable.number("line") if variable is not None else 0
    record = record_type(argument, module)
    if record is not None:
        element, lanes = element_of(declared)
        fields = () if has_union(record) else tuple(fields_of(record, layout, 0))
        return ArgumentInfo(
            name, type_text(declared), "private", "none", (), Passing.RECORD, layout.size(record),
            layout.align(record), element, lanes, fields, line,
        )  # fmt: skip
    if isinstance(type, PointerType):
        target, qualifiers = _target(declared)
        element, lanes = element_of(target)
        return ArgumentInfo(
            name, type_text(declared), "global", "none", qualifiers, Passing.BUFFER, 8,
            _align(target, element, lanes), element, lanes, (), line,
        )  # fmt: skip
    element, lanes = element_of(declared)
    if not element:
        kind = "f" if isinstance(type, FloatType) else "u"
        element = "?" if isinstance(type, IntType) and type.bits == 1 else f"{kind}{layout.size(type)}"
    return ArgumentInfo(
        name, type_text(declared), "private", "none", (), Passing.VALUE, layout.size(type),
        layout.align(type), element, 1, (), line,
    )  # fmt: skip


def plain(type: MDNode | None) -> MDNode | None:
    """A type without names and qualifiers."""
    while type is not None and type.kind == "DIDerivedType" and type.text("tag") in _NAMES:
        type = type.node("baseType")
    return type


def _target(type: MDNode | None) -> tuple[MDNode | None, tuple[str, ...]]:
    """What a pointer or reference leads to, and how it is qualified."""
    pointer = plain(type)
    target = pointer.node("baseType") if pointer is not None else None
    qualifiers: list[str] = []
    inner = target
    while inner is not None and inner.kind == "DIDerivedType" and inner.text("tag") in _NAMES:
        qualifiers += ["const"] if inner.text("tag") == "DW_TAG_const_type" else []
        inner = inner.node("baseType")
    if pointer is not None and target is None:
        return None, ()
    # `const void` has no base type that the loop could end on.
    return target, tuple(qualifiers)


def element_of(type: MDNode | None) -> tuple[str, int]:
    """NumPy's code of a number, or of the elements of a vector type, and how many there are; empty for others."""
    bare = plain(type)
    if bare is None:
        return "", 1
    size = bare.number("size") // 8
    if bare.kind == "DIBasicType":
        code = _ENCODINGS.get(bare.text("encoding") or "", "")
        name = bare.text("name") or ""
        if not code or size > 8 or "bf16" in name:
            return "", 1
        return code if code == "?" else f"{code}{size}", 1
    tag, name = bare.text("tag"), bare.text("name") or ""
    if tag == "DW_TAG_enumeration_type":
        return f"i{size}", 1
    if tag == "DW_TAG_pointer_type":
        return "u8", 1
    if name in _RECORDS:
        return _RECORDS[name]
    found = _VECTOR.fullmatch(name)
    return (_VECTORS[found[1]], int(found[2])) if found is not None else ("", 1)


def _align(target: MDNode | None, element: str, lanes: int) -> int:
    """The alignment of what a pointer leads to, as code relies on it."""
    bare = plain(target)
    if bare is not None and bare.number("align"):
        return bare.number("align") // 8
    if element == "?":
        return 1
    return int(element[1:]) if element else 1


def type_text(type: MDNode | None) -> str:
    """A type as the source names it."""
    if type is None:
        return "void"
    if type.kind != "DIDerivedType" or type.text("tag") == "DW_TAG_typedef":
        return type.text("name") or "struct"
    inner = type_text(type.node("baseType"))
    match type.text("tag"):
        case "DW_TAG_pointer_type":
            return f"{inner} *" if not inner.endswith("*") else f"{inner}*"
        case "DW_TAG_reference_type" | "DW_TAG_rvalue_reference_type":
            return f"{inner} &"
        case "DW_TAG_const_type":
            return f"const {inner}" if not inner.endswith("*") else f"{inner} const"
        case _:
            return inner

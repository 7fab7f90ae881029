"""Arguments of kernels: what the program's metadata says of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.frontend.device.arguments import (
    declared_align,
    fields_of,
    file_of,
    has_union,
    lines_of,
    local_bytes,
    private_bytes,
    record_type,
)
from weft.frontend.device.metadata import ArgumentInfo, KernelInfo, Passing
from weft.frontend.device.primitives import PREFIX
from weft.ir import Argument, ConstInt, Function, Module
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.metadata import MDString, MDTuple, MDValue
from weft.ir.types import (
    FloatType,
    IntType,
    PointerType,
    VectorType,
)

_COPIES = ("llvm.memcpy.p0.p0.i64",)
_SPACES = {0: "private", 1: "global", 2: "constant", 3: "local", 4: "generic"}
_BYVAL = re.compile(r"byval\((.*)\)")
_VECTOR = re.compile(r"(.*?) __attribute__\(\(ext_vector_type\((\d+)\)\)\)")
_NUMBERS = {
    "bool": "u1", "char": "i1", "uchar": "u1", "unsigned char": "u1", "short": "i2", "ushort": "u2",
    "unsigned short": "u2", "int": "i4", "uint": "u4", "unsigned int": "u4", "long": "i8", "ulong": "u8",
    "unsigned long": "u8", "half": "f2", "float": "f4", "double": "f8",
}  # fmt: skip
"""NumPy's codes of the types that metadata names."""

MAX_LOCAL_BYTES = 1 << 31

_KEPT = (
    "noundef",
    "zeroext",
    "signext",
    "readonly",
    "readnone",
    "writeonly",
    "nocapture",
    "captures",
    "align",
    "noalias",
)


def kernel_infos(kernels: Sequence[Function], sub_group_size: int) -> dict[str, KernelInfo]:
    """What is known of the kernels, by name."""
    return {kernel.name: _kernel_info(kernel, sub_group_size) for kernel in kernels}


def _kernel_info(kernel: Function, sub_group_size: int) -> KernelInfo:
    metadata, module = dict(kernel.metadata), kernel.module
    assert module is not None
    texts = {key: _texts(metadata.get(f"kernel_arg_{key}")) for key in _ARGUMENT_KEYS}
    spaces = _numbers(metadata.get("kernel_arg_addr_space"))
    subprogram = kernel.subprogram
    lines = lines_of(subprogram)
    arguments = tuple(
        _argument(argument, module, spaces[k], {key: texts[key][k] for key in texts}, lines.get(k + 1, 0))
        for k, argument in enumerate(kernel.args)
    )
    asked = _numbers(metadata.get("intel_reqd_sub_group_size"))
    return KernelInfo(
        kernel.name,
        arguments,
        _three(metadata.get("reqd_work_group_size")),
        _three(metadata.get("work_group_size_hint")),
        _vector_hint(metadata.get("vec_type_hint")),
        asked[0] if asked else sub_group_size,
        any((i.callee_name or "").startswith(f"{PREFIX}sub_group_") for i in kernel.instructions()),
        local_bytes(kernel, module),
        private_bytes(kernel),
        file=file_of(subprogram),
        line=subprogram.number("line") if subprogram is not None else 0,
    )


_ARGUMENT_KEYS = ("access_qual", "type", "base_type", "type_qual", "name")


def _argument(
    argument: Argument, module: Module, space: int, texts: dict[str, str], line: int
) -> ArgumentInfo:
    type, layout = argument.type, module.layout
    base = texts["base_type"]
    element, lanes = _element(base.rstrip("*").strip())
    size, align = layout.size(type), layout.align(type)
    fields: tuple[tuple[int, str], ...] = ()
    record = record_type(argument, module)
    if record is not None:
        passing, size, align = Passing.RECORD, layout.size(record), layout.align(record)
        fields = () if has_union(record) else tuple(fields_of(record, layout, 0))
    elif base.startswith("image"):
        passing = Passing.IMAGE
    elif base == "sampler_t":
        passing = Passing.SAMPLER
    elif isinstance(type, PointerType):
        passing = Passing.LOCAL if type.space == SHARED_SPACE else Passing.BUFFER
        align = declared_align(argument)
    else:
        passing = Passing.VALUE
    return ArgumentInfo(
        texts["name"], texts["type"], _SPACES.get(space, "private"), texts["access_qual"],
        tuple(texts["type_qual"].split()), passing, size, align, element, lanes, fields, line,
    )  # fmt: skip


def _element(name: str) -> tuple[str, int]:
    """NumPy's code of a number's or vector's elements, and how many there are; an empty code for other types."""
    found = _VECTOR.fullmatch(name)
    element, lanes = (found[1], int(found[2])) if found is not None else (name, 1)
    return _NUMBERS.get(element, ""), lanes


def _texts(node: object) -> list[str]:
    items = node.items if isinstance(node, MDTuple) else []
    return [item.text if isinstance(item, MDString) else "" for item in items]


def _numbers(node: object) -> list[int]:
    items = node.items if isinstance(node, MDTuple) else []
    values = [item.value for item in items if isinstance(item, MDValue)]
    return [value.value for value in values if isinstance(value, ConstInt)]


def _three(node: object) -> tuple[int, int, int] | None:
    numbers = _numbers(node)
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None


def _vector_hint(node: object) -> str:
    """The type of ``vec_type_hint`` in OpenCL C's words; clang keeps a value of it, and whether it is signed."""
    items = node.items if isinstance(node, MDTuple) else []
    if len(items) != 2 or not isinstance(items[0], MDValue):
        return ""
    type, signed = items[0].value.type, _numbers(node)[-1:] == [1]
    element = type.scalar
    if isinstance(element, FloatType):
        name = element.kind
    else:
        name = (
            {8: "char", 16: "short", 32: "int", 64: "long"}.get(element.bits, "")
            if isinstance(element, IntType)
            else ""
        )
        name = name if signed or not name else f"u{name}"
    return name + (str(type.count) if isinstance(type, VectorType) else "")

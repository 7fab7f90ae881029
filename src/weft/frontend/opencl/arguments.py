"""Arguments of kernels: what the program's metadata says of them, and parameters of scalars and pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from weft.frontend.opencl.flatten import MAX_ALIGN
from weft.frontend.opencl.metadata import ArgumentInfo, KernelInfo, Passing
from weft.frontend.opencl.primitives import PREFIX, SCRATCH_BYTES
from weft.ir import FALSE, Argument, Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.builder import address_space
from weft.ir.global_addresses import mentions
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.layout import DataLayout
from weft.ir.metadata import MDNode, MDString, MDTuple, MDValue
from weft.ir.types import (
    I1,
    I8,
    I64,
    PTR,
    VOID,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
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
    lines = _lines(subprogram)
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
        _local_bytes(kernel, module),
        _private_bytes(kernel),
        file=_file(subprogram),
        line=subprogram.number("line") if subprogram is not None else 0,
    )


_ARGUMENT_KEYS = ("access_qual", "type", "base_type", "type_qual", "name")


def _local_bytes(kernel: Function, module: Module) -> int:
    """Local memory that a kernel declares, and what work-group functions need."""
    total = 0
    for variable in module.globals.values():
        uses = (mentions(o, {variable}) for i in kernel.instructions() for o in i.operands)
        if address_space(variable) == SHARED_SPACE and any(uses):
            total += module.layout.size(variable.value_type)
    scratch = any(i.callee_name == f"{PREFIX}scratch" for i in kernel.instructions())
    return total + (SCRATCH_BYTES if scratch else 0)


def _private_bytes(kernel: Function) -> int:
    """Private memory of a work-item, as the source declares it."""
    allocas = [i for i in kernel.instructions() if i.op == "alloca"]
    return sum(kernel.layout.size(i.allocated_type) for i in allocas)


def _argument(
    argument: Argument, module: Module, space: int, texts: dict[str, str], line: int
) -> ArgumentInfo:
    type, layout = argument.type, module.layout
    base = texts["base_type"]
    element, lanes = _element(base.rstrip("*").strip())
    size, align = layout.size(type), layout.align(type)
    fields: tuple[tuple[int, str], ...] = ()
    record = _record_type(argument, module)
    if record is not None:
        passing, size, align = Passing.RECORD, layout.size(record), layout.align(record)
        fields = () if _has_union(record) else tuple(_fields(record, layout, 0))
    elif base.startswith("image"):
        passing = Passing.IMAGE
    elif base == "sampler_t":
        passing = Passing.SAMPLER
    elif isinstance(type, PointerType):
        passing = Passing.LOCAL if type.space == SHARED_SPACE else Passing.BUFFER
        align = _declared_align(argument)
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


def _fields(type: Type, layout: DataLayout, at: int) -> Iterator[tuple[int, str]]:
    """The numbers in a type: where each is, and NumPy's code of its kind and size (``i`` for any integer)."""
    if isinstance(type, StructType):
        offsets, _ = layout.struct_layout(type)
        for offset, field in zip(offsets, type.fields or (), strict=True):
            yield from _fields(field, layout, at + offset)
    elif isinstance(type, (ArrayType, VectorType)):
        size = layout.size(type.element)
        for k in range(type.count):
            yield from _fields(type.element, layout, at + k * size)
    elif isinstance(type, (IntType, FloatType)):
        yield at, f"{'f' if isinstance(type, FloatType) else 'i'}{layout.size(type)}"


def _has_union(type: Type) -> bool:
    """Whether LLVM's type, which has one member of each union, says less than the source."""
    if isinstance(type, StructType):
        return (type.name or "").startswith("union.") or any(map(_has_union, type.fields or ()))
    return isinstance(type, ArrayType) and _has_union(type.element)


def _record_type(argument: Argument, module: Module) -> Type | None:
    """The type of what is passed by value in memory."""
    for text in argument.attributes:
        found = _BYVAL.fullmatch(text)
        if found is not None:
            name = found[1].removeprefix("%").strip('"')
            return module.types[name]
    return None


def _declared_align(argument: Argument) -> int:
    for text in argument.attributes:
        if text.startswith("align "):
            return int(text.removeprefix("align "))
    return 1


def _lines(subprogram: MDNode | None) -> dict[int, int]:
    """The line of each argument, counted from 1."""
    retained = subprogram.fields.get("retainedNodes") if subprogram is not None else None
    nodes = retained.items if isinstance(retained, MDTuple) else []
    variables = [node for node in nodes if isinstance(node, MDNode)]
    return {node.number("arg"): node.number("line") for node in variables}


def _file(subprogram: MDNode | None) -> str:
    file = subprogram.node("file") if subprogram is not None else None
    return (file.text("filename") or "") if file is not None else ""


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


def adopt_arguments(kernel: Function) -> None:
    """Give `kernel` parameters of scalars and pointers, one slot each.

    A vector is made of its elements, local memory found at an offset in the work-group's dynamic local memory. What is
    passed by value in memory comes as a pointer to the caller's bytes, which the kernel has copied if it writes to
    them.
    """
    builder = Builder.after_phis(kernel.entry)
    old = kernel.args
    kernel.args, kernel.fn_type = [], FunctionType(kernel.fn_type.result, ())
    for argument in old:
        value = _adopted(kernel, builder, argument)
        if value is not argument:
            copying = [u for u in argument.users if isinstance(u, Instruction) and u.callee_name in _COPIES]
            argument.replace_all_uses(value)
            for call in copying:
                call.set_operand(1, argument)


def _adopted(kernel: Function, builder: Builder, argument: Argument) -> Value:
    type, name = argument.type, argument.name
    if isinstance(type, VectorType):
        value: Value = Poison(type)
        for k in range(type.count):
            element = kernel.append_parameter(type.element, f"{name}.{k}")
            value = builder.insert_element(value, element, ConstInt(I64, k))
        return value
    if isinstance(type, PointerType) and type.space == SHARED_SPACE:
        offset = kernel.append_parameter(
            I64, f"{name}.offset", ("noundef", f"range(i64 0, {MAX_LOCAL_BYTES})")
        )
        start = builder.call(declare(builder.module, "weft.shared.dynamic"), ())
        return builder.gep(I8, start, (offset,), ("inbounds",))
    record = _record_type(argument, builder.module)
    argument.attributes = tuple(a for a in argument.attributes if a.startswith(_KEPT))
    argument.index = len(kernel.args)
    kernel.args.append(argument)
    kernel.fn_type = FunctionType(kernel.fn_type.result, (*kernel.fn_type.params, type))
    return argument if record is None else _copied(builder, argument, record)


def _copied(builder: Builder, argument: Argument, type: Type) -> Value:
    """A work-item's own copy of what is passed by value in memory."""
    layout = builder.module.layout
    align = min(layout.align(type), MAX_ALIGN)
    copy = builder.alloca(type, align=align, name=f"{argument.name}.copy")
    name = "llvm.memcpy.p0.p0.i64"
    memcpy = builder.module.functions.get(name) or builder.module.declare(
        name, FunctionType(VOID, (PTR, PTR, I64, I1)), ("nocallback", "nofree", "nounwind", "willreturn")
    )
    call = builder.call(memcpy, (copy, argument, ConstInt(I64, layout.size(type)), FALSE))
    call.attrs["arg_attrs"] = ((f"align {align}",), (f"align {align}",), (), ())
    return copy

"""Arguments of kernels: what LLVM's types and debug information say of them, and parameters of scalars and pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.frontend.device.flatten import MAX_ALIGN
from weft.frontend.device.primitives import PREFIX, SCRATCH_BYTES
from weft.ir import FALSE, Argument, Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.builder import address_space
from weft.ir.global_addresses import mentions
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.layout import DataLayout
from weft.ir.metadata import MDNode, MDTuple
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
_BYVAL = re.compile(r"byval\((.*)\)")

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


def local_bytes(kernel: Function, module: Module) -> int:
    """Local memory that a kernel declares, and what work-group functions need."""
    total = 0
    for variable in module.globals.values():
        uses = (mentions(o, {variable}) for i in kernel.instructions() for o in i.operands)
        if address_space(variable) == SHARED_SPACE and any(uses):
            total += module.layout.size(variable.value_type)
    scratch = any(i.callee_name == f"{PREFIX}scratch" for i in kernel.instructions())
    return total + (SCRATCH_BYTES if scratch else 0)


def private_bytes(kernel: Function) -> int:
    """Private memory of a work-item, as the source declares it."""
    allocas = [i for i in kernel.instructions() if i.op == "alloca"]
    return sum(kernel.layout.size(i.allocated_type) for i in allocas)


def fields_of(type: Type, layout: DataLayout, at: int) -> Iterator[tuple[int, str]]:
    """The numbers in a type: where each is, and NumPy's code of its kind and size (``i`` for any integer)."""
    if isinstance(type, StructType):
        offsets, _ = layout.struct_layout(type)
        for offset, field in zip(offsets, type.fields or (), strict=True):
            yield from fields_of(field, layout, at + offset)
    elif isinstance(type, (ArrayType, VectorType)):
        size = layout.size(type.element)
        for k in range(type.count):
            yield from fields_of(type.element, layout, at + k * size)
    elif isinstance(type, (IntType, FloatType)):
        yield at, f"{'f' if isinstance(type, FloatType) else 'i'}{layout.size(type)}"


def has_union(type: Type) -> bool:
    """Whether LLVM's type, which has one member of each union, says less than the source."""
    if isinstance(type, StructType):
        return (type.name or "").startswith("union.") or any(map(has_union, type.fields or ()))
    return isinstance(type, ArrayType) and has_union(type.element)


def record_type(argument: Argument, module: Module) -> Type | None:
    """The type of what is passed by value in memory."""
    for text in argument.attributes:
        found = _BYVAL.fullmatch(text)
        if found is not None:
            name = found[1].removeprefix("%").strip('"')
            return module.types[name]
    return None


def declared_align(argument: Argument) -> int:
    """The alignment that a parameter's pointer has by its attributes."""
    for text in argument.attributes:
        if text.startswith("align "):
            return int(text.removeprefix("align "))
    return 1


def lines_of(subprogram: MDNode | None) -> dict[int, int]:
    """The line of each argument, counted from 1."""
    retained = subprogram.fields.get("retainedNodes") if subprogram is not None else None
    nodes = retained.items if isinstance(retained, MDTuple) else []
    variables = [node for node in nodes if isinstance(node, MDNode)]
    return {node.number("arg"): node.number("line") for node in variables}


def file_of(subprogram: MDNode | None) -> str:
    """The file that a function is in; empty where that is not known."""
    file = subprogram.node("file") if subprogram is not None else None
    return (file.text("filename") or "") if file is not None else ""


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
    record = record_type(argument, builder.module)
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

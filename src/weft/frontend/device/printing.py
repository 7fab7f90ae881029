"""``printf``: one call of the runtime, with a letter and eight bytes for each value (`weft.diag.print_format`)."""

from __future__ import annotations

from collections.abc import Iterator

from weft.diag.errors import UnsupportedError
from weft.ir import Builder, ConstBytes, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.locations import span_of
from weft.ir.types import (
    F64,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    VectorType,
)

PRINTF = "printf"
_SLOT = 8


def adopt_printf(kernel: Function) -> None:
    """Put calls of the runtime in the place of those of ``printf``."""
    module = kernel.module
    assert module is not None
    for call in [i for i in kernel.instructions() if i.callee_name == PRINTF]:
        _lower(kernel, call)
    if PRINTF in module.functions:
        del module.functions[PRINTF]


def _lower(kernel: Function, call: Instruction) -> None:
    module = kernel.module
    assert module is not None
    builder = Builder(before=call)
    builder.loc = call.loc
    entries: list[tuple[str, Value]] = [("s", builder.cast("ptrtoint", call.args[0], I64))]
    for value in call.args[1:]:
        entries += _slots(builder, value, call)
    letters = "%" + "".join(letter for letter, _ in entries)
    slots = Builder.after_phis(kernel.entry).alloca(ArrayType(I64, len(entries)), align=_SLOT, name="printf")
    for number, (_, part) in enumerate(entries):
        place = builder.gep(I64, slots, (ConstInt(I64, number),), ("inbounds",))
        builder.store(part, place, _SLOT)
    function = module.declare("weft.print", FunctionType(VOID, (PTR, PTR)), ("nounwind", "willreturn"))
    builder.call(function, (_text(kernel, letters), slots))
    replace_and_erase(call, ConstInt(I32, 0))


def _slots(builder: Builder, value: Value, call: Instruction) -> Iterator[tuple[str, Value]]:
    """The letter and content of each slot of a value."""
    type = value.type
    if isinstance(type, VectorType):
        for k in range(type.count):
            yield from _slots(builder, builder.extract_element(value, ConstInt(I64, k)), call)
    elif isinstance(type, FloatType):
        yield "f", value if type is F64 else builder.cast("fpext", value, F64)
    elif isinstance(type, IntType):
        yield "u", value if type is I64 else builder.cast("zext", value, I64)
    elif type.is_pointer:
        yield "s", builder.cast("ptrtoint", value, I64)
    else:
        raise UnsupportedError(f"printf cannot write a value of type {type}", span_of(call))


def _text(kernel: Function, text: str) -> GlobalVariable:
    """A constant C string."""
    module = kernel.module
    assert module is not None
    data = text.encode() + b"\0"
    type = ArrayType(I8, len(data))
    variable = GlobalVariable(module.unused_name("printf"), type, ConstBytes(type, data), is_constant=True)
    variable.linkage.linkage = "private"
    variable.linkage.unnamed_addr = "unnamed_addr"
    return module.add_global(variable)

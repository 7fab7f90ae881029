"""The entry point of a compiled function: arguments come in 8-byte slots, results go into such."""

from __future__ import annotations

from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.types import I1, I8, I64, PTR, VOID, FunctionType, IntType, Type


def build_slot_entry(module: Module, function: Function, result_pointers: int = 0) -> Function:
    """Add ``void NAME.call(ptr slots, ptr results)`` to `module`.

    A result that the function gives back goes into the first slot of `results`; its last `result_pointers`
    parameters, which it stores results through, point to one slot each.
    """
    entry = Function(f"{function.name}.call", FunctionType(VOID, (PTR, PTR)), ("slots", "results"))
    entry.attributes = ("nounwind",)
    module.add_function(entry)
    slots, results = entry.args
    builder = Builder(entry.add_block("entry"))
    own = len(function.args) - result_pointers

    def slot(base: Value, index: int) -> Value:
        return builder.gep(I64, base, (const_int(index),), ("inbounds",))

    arguments: list[Value] = [
        _load(builder, slot(slots, i), a.type) for i, a in enumerate(function.args[:own])
    ]
    arguments += [slot(results, i) for i in range(result_pointers)]
    value = builder.call(function, arguments)
    if not function.fn_type.result.is_void:
        stored = builder.cast("zext", value, I8) if value.type is I1 else value
        builder.store(stored, results, align=8)
    builder.ret()
    return entry


def _load(builder: Builder, address: Value, type: Type) -> Value:
    if isinstance(type, IntType) and type.bits % 8:
        return builder.cast("trunc", builder.load(I8, address, align=8), type)
    return builder.load(type, address, align=8)

"""The entry point of a compiled function: arguments come in 8-byte slots, results go into such.

Precondition: arguments and results are scalars. Postcondition: the module has the entry point besides, and nothing else
of it has changed.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.types import I1, I8, I64, PTR, VOID, FunctionType, IntType, Type


class SlotInterface(Struct, frozen=True):
    """What a function does with its last parameters.

    Parameters
    ----------
    results
        Scalars in its result. One is returned; several are stored through as many parameters, the last ones.
    has_frame
        Whether the parameter before these is a frame that blocks are handed over to (`weft.ir.heap`).
    """

    results: int
    has_frame: bool = False


def build_slot_entry(module: Module, function: Function, interface: SlotInterface) -> Function:
    """Add ``void NAME.call(ptr slots, ptr results)`` to `module`.

    Each scalar of the result goes into a slot of `results`; the frame is behind them.
    """
    pointers = interface.results if interface.results > 1 else 0
    entry = Function(f"{function.name}.call", FunctionType(VOID, (PTR, PTR)), ("slots", "results"))
    entry.attributes = ("nounwind",)
    module.add_function(entry)
    slots, results = entry.args
    builder = Builder(entry.add_block("entry"))
    own = len(function.args) - pointers - interface.has_frame

    def slot(base: Value, index: int) -> Value:
        return builder.gep(I64, base, (const_int(index),), ("inbounds",))

    arguments: list[Value] = [
        _load(builder, slot(slots, i), a.type) for i, a in enumerate(function.args[:own])
    ]
    if interface.has_frame:
        arguments.append(slot(results, interface.results))
    arguments += [slot(results, i) for i in range(pointers)]
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

"""Functions of the device's runtime: ``vprintf`` and ``__assertfail``, as calls that the rest of the way knows.

nvcc passes what ``printf`` writes in memory, each value at a multiple of its size. What is there follows from the
format, which has to be a constant, so calls are rewritten when addresses have become objects
(`weft.ptx.lift.addresses`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.diag.errors import UnsupportedError
from weft.ir import (
    Builder,
    ConstBytes,
    ConstExpr,
    ConstInt,
    Function,
    GlobalVariable,
    Instruction,
    Module,
    Value,
)
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.locations import span_of
from weft.ir.types import F64, I8, I32, I64, PTR, VOID, ArrayType, FunctionType, Type
from weft.ptx.lift.calls import ASSERTION, PRINTF

_CONVERSION = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([a-zA-Z%])")


def settle_runtime(function: Function) -> None:
    """Put calls of ``printf`` and ``__assert_fail`` in the place of those of the device's runtime.

    Raises
    ------
    UnsupportedError
        A format is no constant.
    """
    module = function.module
    assert module is not None
    for call in list(function.instructions()):
        if call.callee_name == PRINTF:
            _print(module, call)
        elif call.callee_name == ASSERTION:
            _assert(module, call)
    for name in (PRINTF, ASSERTION):
        known = module.functions.get(name)
        if known is not None and not known.is_used:
            used = (i.callee_name for f in module.definitions() for i in f.instructions())
            if name not in used:
                del module.functions[name]


def _print(module: Module, call: Instruction) -> None:
    text = string_at(call.args[0])
    if text is None:
        raise UnsupportedError("printf has a format that is no constant", span_of(call))
    builder = Builder(before=call)
    builder.loc = call.loc
    values: list[Value] = []
    at = 0
    for type, size in _passed(text):
        at = -(-at // size) * size
        place = builder.gep(I8, call.args[1], (ConstInt(I64, at),)) if at else call.args[1]
        values.append(builder.load(type, place, size))
        at += size
    function = module.functions.get("printf") or module.declare(
        "printf", FunctionType(I32, (PTR,), vararg=True), ("nounwind",)
    )
    result = builder.call(function, (call.args[0], *values), function.fn_type)
    replace_and_erase(call, result)


def _passed(text: str) -> Iterator[tuple[Type, int]]:
    """Type and size of each value that a format writes."""
    for width, precision, length, letter in _CONVERSION.findall(text):
        if letter == "%":
            continue
        for star in (width, precision):
            if star == "*":
                yield I32, 4
        if letter in "fFeEgGaA":
            yield F64, 8
        elif letter in "sp":
            yield PTR, 8
        else:
            yield (I64, 8) if length in ("l", "ll", "j", "z", "t") else (I32, 4)


def _assert(module: Module, call: Instruction) -> None:
    text, file, line = call.args
    kind = FunctionType(VOID, (PTR, PTR, I32, PTR))
    function = module.functions.get("__assert_fail") or module.declare("__assert_fail", kind, ("nounwind",))
    if string_at(text) is None:
        text = constant_text(module, "trap")
    builder = Builder(before=call)
    builder.loc = call.loc
    builder.call(
        function, (text, file if string_at(file) is not None else constant_text(module, ""), line, text)
    )
    call.erase()


def string_at(address: Value) -> str | None:
    """The C string at an address that is a constant; None for others."""
    offset = 0
    if isinstance(address, ConstExpr) and address.op == "getelementptr":
        index = address.operands[1]
        offset = index.value if isinstance(index, ConstInt) else 0
        address = address.operands[0]
    if isinstance(address, GlobalVariable) and isinstance(address.initializer, ConstBytes):
        return address.initializer.data[offset:].partition(b"\0")[0].decode(errors="replace")
    return None


def constant_text(module: Module, text: str) -> Value:
    """The address of a C string."""
    name = f"weft.text.{text}"
    if name not in module.globals:
        data = text.encode() + b"\0"
        type = ArrayType(I8, len(data))
        variable = GlobalVariable(name, type, ConstBytes(type, data), is_constant=True)
        variable.linkage.linkage = "private"
        module.add_global(variable)
    return module.globals[name]

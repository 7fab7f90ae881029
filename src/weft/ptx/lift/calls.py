"""Calls: of functions by their names and by their addresses, and of the device's runtime.

The address of a function is a number, which is the same in all kernels of a module, so that it may stand in variables
and be passed from the host. A call by address is a choice among the functions of its type whose addresses the module
takes; an address of none is a trap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.ir import BasicBlock, ConstInt, Value
from weft.ir.constants import ConstNull
from weft.ir.types import I32, I64, PTR, VOID, FunctionType
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.types import bits_of, ir_type

PRINTF = "weft.ptx.vprintf"
ASSERTION = "weft.ptx.assertfail"
"""Runtime functions of the device, whose texts are known only when registers have become values."""

_RUNTIME = ("vprintf", "__assertfail", "malloc", "free")

_FIRST_ADDRESS, _STEP = 1 << 16, 16


def function_address(text: syntax.Module, name: str) -> int | None:
    """The number that stands for the address of a function; None for what is none, or is a kernel."""
    names = [f.name for f in text.functions() if not f.entry]
    # A function may be declared before it is defined.
    return _FIRST_ADDRESS + _STEP * names.index(name) if name in names else None


def is_by_address(i: syntax.Instruction) -> bool:
    """Whether an instruction calls a function by its address."""
    return i.opcode == "call" and not isinstance(_target(i), syntax.Symbol)


def taken(text: syntax.Module) -> set[str]:
    """The functions whose addresses a module takes."""
    functions = {f.name for f in text.functions() if not f.entry}
    found: set[str] = set()
    for variable in text.variables():
        found.update(s.name for s in _symbols(variable.initializer) if s.name in functions)
    for function in text.functions():
        for i in function.instructions():
            operands = (
                i.operands if i.opcode != "call" else [o for o in i.operands if isinstance(o, syntax.Group)]
            )
            found.update(s.name for s in _symbols(tuple(operands)) if s.name in functions)
    return found


def _symbols(item: object) -> Iterator[syntax.Symbol]:
    if isinstance(item, syntax.Symbol):
        yield item
    elif isinstance(item, tuple):
        for part in item:
            yield from _symbols(part)
    elif isinstance(item, syntax.Group | syntax.Vector):
        yield from _symbols(tuple(item.elements))


def call(body: Body, i: syntax.Instruction) -> None:
    """A call."""
    groups = [o for o in i.operands if isinstance(o, syntax.Group)]
    target = _target(i)
    first = i.operands[0]
    returns = groups[0].elements if isinstance(first, syntax.Group) else ()
    arguments = groups[-1].elements if groups and groups[-1] is not first else ()
    if not isinstance(target, syntax.Symbol) or target.name in body.registers:
        _call_by_address(body, i, target, returns, arguments)
        return
    if target.name in _RUNTIME:
        _runtime_call(body, target.name, returns, arguments)
        return
    if target.name not in body.functions or body.functions[target.name][0].body is None:
        body.refuse(i, f"calls {target.name}, which is defined elsewhere")
    _call_function(body, target.name, returns, arguments)


def _target(i: syntax.Instruction) -> syntax.Operand:
    return next(o for o in i.operands if not isinstance(o, syntax.Group))


def _call_function(
    body: Body, name: str, returns: Sequence[syntax.Operand], arguments: Sequence[syntax.Operand]
) -> None:
    source, function = body.functions[name]
    values = [_passed(body, a, p) for a, p in zip(arguments, source.parameters, strict=True)]
    if returns and function.fn_type.result is VOID:
        values.append(_place(body, returns[0]))
    result = body.builder.call(function, values)
    if returns and function.fn_type.result is not VOID:
        _keep(body, returns[0], result, source.returns[0])


def _call_by_address(
    body: Body,
    i: syntax.Instruction,
    target: syntax.Operand,
    returns: Sequence[syntax.Operand],
    arguments: Sequence[syntax.Operand],
) -> None:
    address = body.read(target, "u64")
    behind, none = body.block(), body.block()
    targets = [(function_address(body.text, name), name) for name in _possible(body, i)]
    cases: list[tuple[int, BasicBlock]] = []
    blocks: list[tuple[str, BasicBlock]] = []
    for number, name in targets:
        assert number is not None
        blocks.append((name, body.block()))
        cases.append((number, blocks[-1][1]))
    body.builder.switch(address, none, cases)
    for name, block in blocks:
        body.builder.at_end(block)
        _call_function(body, name, returns, arguments)
        body.builder.br(behind)
    body.builder.at_end(none)
    fail(body, ConstNull(PTR), ConstNull(PTR), ConstInt(I32, i.line))
    body.builder.br(behind)
    body.builder.at_end(behind)


def _possible(body: Body, i: syntax.Instruction) -> list[str]:
    """The functions that a call by address may mean."""
    last = i.operands[-1]
    name = last.name if isinstance(last, syntax.Symbol) else ""
    for statement in body.source.body or ():
        if isinstance(statement, syntax.CallTargets) and statement.name == name:
            return [n for n in statement.targets if n in body.functions]
    kind = _prototype(body, name)
    if kind is None:
        body.refuse(i, "calls a function by its address without a prototype")
    known = taken(body.text)
    return [n for n, (f, _) in body.functions.items() if n in known and _shape(f) == _shape(kind)]


def _prototype(body: Body, name: str) -> syntax.CallPrototype | syntax.Function | None:
    for statement in body.source.body or ():
        if isinstance(statement, syntax.CallPrototype) and statement.name == name:
            return statement
    return next((f for f in body.text.functions() if f.name == name), None)


def _shape(function: syntax.CallPrototype | syntax.Function) -> tuple[object, ...]:
    """What a function takes and gives, in bits."""

    def bits(variable: syntax.Variable) -> tuple[int, tuple[int | None, ...], int]:
        return bits_of(variable.type), tuple(variable.extents), variable.vector

    return tuple(map(bits, function.returns)), tuple(map(bits, function.parameters))


def _place(body: Body, operand: syntax.Operand) -> Value:
    assert isinstance(operand, syntax.Symbol)
    return body.variables[operand.name]


def is_memory(parameter: syntax.Variable) -> bool:
    """Whether a parameter is passed in memory: an array or a vector."""
    return bool(parameter.extents or parameter.vector) and parameter.space != "reg"


def _passed(body: Body, operand: syntax.Operand, parameter: syntax.Variable) -> Value:
    if is_memory(parameter):
        return _place(body, operand)
    if isinstance(operand, syntax.Symbol) and operand.name in body.variables:
        return body.builder.load(ir_type(parameter.type), body.variables[operand.name])
    return body.read(operand, parameter.type)


def _keep(body: Body, operand: syntax.Operand, value: Value, parameter: syntax.Variable) -> None:
    if isinstance(operand, syntax.Symbol):
        body.builder.store(value, body.variables[operand.name])
    else:
        body.write(operand, value, parameter.type)


def fail(body: Body, text: Value, file: Value, line: Value) -> None:
    """Let the launch fail."""
    function = body.module.declare(ASSERTION, FunctionType(VOID, (PTR, PTR, I32)), ("nounwind",))
    body.builder.call(function, (text, file, line))


def _runtime_call(
    body: Body, name: str, returns: Sequence[syntax.Operand], arguments: Sequence[syntax.Operand]
) -> None:
    builder = body.builder

    def given(k: int, type: str) -> Value:
        operand = arguments[k]
        if isinstance(operand, syntax.Symbol):
            return builder.load(ir_type(type), body.variables[operand.name])
        return body.read(operand, type)

    def address(k: int) -> Value:
        return builder.cast("inttoptr", given(k, "b64"), PTR)

    if name == "__assertfail":
        fail(body, address(0), address(1), given(2, "b32"))
        return
    if name == "free":
        function = body.module.declare("free", FunctionType(VOID, (PTR,)), ("nounwind",))
        builder.call(function, (address(0),))
        return
    if name == "malloc":
        function = body.module.declare("malloc", FunctionType(PTR, (I64,)), ("nounwind",))
        result, type = builder.cast("ptrtoint", builder.call(function, (given(0, "b64"),)), I64), "b64"
    else:
        function = body.module.declare(PRINTF, FunctionType(I32, (PTR, PTR)), ("nounwind",))
        result, type = builder.call(function, (address(0), address(1))), "b32"
    if returns and isinstance(returns[0], syntax.Symbol):
        builder.store(result, body.variables[returns[0].name])
    elif returns:
        body.write(returns[0], result, type)

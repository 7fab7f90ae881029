"""Branches, calls, returns, and the end of a thread."""

from __future__ import annotations

from weft.ir import BasicBlock, ConstInt, Value
from weft.ir.constants import ConstNull
from weft.ir.types import I32, PTR, VOID, FunctionType
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.integers import Operation
from weft.ptx.lift.types import ir_type

PRINTF = "weft.ptx.vprintf"
ASSERTION = "weft.ptx.assertfail"
"""Runtime functions of the device, whose texts are known only when registers have become values."""

_REFUSED = {
    "malloc": "memory is allocated while the kernel runs",
    "free": "memory is freed while the kernel runs",
}


def branch_target(body: Body, i: syntax.Instruction, operand: syntax.Operand) -> BasicBlock:
    """The block of a label."""
    found = body.labels.get(operand.name) if isinstance(operand, syntax.Symbol) else None
    if found is None:
        body.refuse(i, "leads to no label of this function")
    return found


def _bra(body: Body, i: syntax.Instruction) -> None:
    body.builder.br(branch_target(body, i, i.operands[0]))


def _brx(body: Body, i: syntax.Instruction) -> None:
    """A jump into a list of labels; an index beyond it has no meaning, and takes the last."""
    index, listed = body.read(i.operands[0], "u32"), i.operands[1]
    assert isinstance(listed, syntax.Symbol)
    targets = [
        body.labels[name]
        for statement in body.source.body or ()
        if isinstance(statement, syntax.BranchTargets) and statement.name == listed.name
        for series in statement.targets
        for name in series.names()
    ]
    body.builder.switch(index, targets[-1], [(k, block) for k, block in enumerate(targets[:-1])])


def _ret(body: Body, i: syntax.Instruction) -> None:
    end(body)


def end(body: Body) -> None:
    """Return from the function with what its return parameter holds."""
    result = body.function.fn_type.result
    if result is VOID:
        body.builder.ret()
        return
    slot = body.variables[body.source.returns[0].name]
    body.builder.ret(body.builder.load(result, slot))


def _exit(body: Body, i: syntax.Instruction) -> None:
    if not body.source.entry:
        body.refuse(i, "ends a thread within a function", "return from the function, and exit in the kernel")
    end(body)


def _trap(body: Body, i: syntax.Instruction) -> None:
    """The launch fails; the thread is done."""
    _assert(body, ConstNull(PTR), ConstNull(PTR), ConstInt(I32, i.line))
    if body.source.entry:
        end(body)
    else:
        body.builder.unreachable()


def _assert(body: Body, text: Value, file: Value, line: Value) -> None:
    function = body.module.declare(ASSERTION, FunctionType(VOID, (PTR, PTR, I32)), ("nounwind",))
    body.builder.call(function, (text, file, line))


def _call(body: Body, i: syntax.Instruction) -> None:
    groups = [o for o in i.operands if isinstance(o, syntax.Group)]
    target = next(o for o in i.operands if not isinstance(o, syntax.Group))
    first = i.operands[0]
    returns = groups[0].elements if isinstance(first, syntax.Group) else ()
    arguments = groups[-1].elements if groups and groups[-1] is not first else ()
    if not isinstance(target, syntax.Symbol) or target.name in body.registers:
        body.refuse(i, "calls a function by its address", "call it by its name")
    if target.name in ("vprintf", "__assertfail"):
        _runtime_call(body, i, target.name, returns, arguments)
        return
    if target.name in _REFUSED:
        body.refuse(i, f"calls {target.name}: {_REFUSED[target.name]}", "allocate it before the launch")
    formal = body.functions.get(target.name)
    if formal is None or formal[0].body is None:
        body.refuse(i, f"calls {target.name}, which is defined elsewhere")
    source, function = formal
    values = [_passed(body, a, p) for a, p in zip(arguments, source.parameters, strict=True)]
    if returns and function.fn_type.result is VOID:
        values.append(_place(body, returns[0]))
    result = body.builder.call(function, values)
    if returns and function.fn_type.result is not VOID:
        _keep(body, returns[0], result, source.returns[0])


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


def _runtime_call(
    body: Body,
    i: syntax.Instruction,
    name: str,
    returns: tuple[syntax.Operand, ...],
    arguments: tuple[syntax.Operand, ...],
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
        _assert(body, address(0), address(1), given(2, "b32"))
        return
    function = body.module.declare(PRINTF, FunctionType(I32, (PTR, PTR)), ("nounwind",))
    result = builder.call(function, (address(0), address(1)))
    if returns and isinstance(returns[0], syntax.Symbol):
        builder.store(result, body.variables[returns[0].name])
    elif returns:
        body.write(returns[0], result, "b32")


def _nothing(body: Body, i: syntax.Instruction) -> None:
    """What concerns time, debuggers and other grids."""


CONTROL: dict[str, Operation] = {
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _exit,
    "trap": _trap,
    "call": _call,
    "nanosleep": _nothing,
    "pmevent": _nothing,
    "brkpt": _nothing,
    "setmaxnreg": _nothing,
    "griddepcontrol": _nothing,
}
"""What these opcodes mean."""

TERMINATORS = ("bra", "brx", "ret", "exit", "trap")
"""Opcodes behind which a thread does not go on."""

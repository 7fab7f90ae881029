"""Branches, returns, and the end of a thread."""

from __future__ import annotations

from weft.ir import BasicBlock, ConstInt
from weft.ir.constants import ConstNull
from weft.ir.types import I32, PTR, VOID
from weft.ptx import syntax
from weft.ptx.lift.body import Body
from weft.ptx.lift.calls import call, fail
from weft.ptx.lift.integers import Operation


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
    fail(body, ConstNull(PTR), ConstNull(PTR), ConstInt(I32, i.line))
    if body.source.entry:
        end(body)
    else:
        body.builder.unreachable()


def _nothing(body: Body, i: syntax.Instruction) -> None:
    """What concerns time, debuggers and other grids."""


CONTROL: dict[str, Operation] = {
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _exit,
    "trap": _trap,
    "call": call,
    "nanosleep": _nothing,
    "pmevent": _nothing,
    "brkpt": _nothing,
    "setmaxnreg": _nothing,
    "griddepcontrol": _nothing,
}
"""What these opcodes mean."""

TERMINATORS = ("bra", "brx", "ret", "exit", "trap")
"""Opcodes behind which a thread does not go on."""

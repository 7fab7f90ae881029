"""The heap of compiled functions: what a program calls to have arrays, and who frees them.

A function that allocates has a *frame*, ``{ ptr head, i64 error, ptr around }`` on its stack: the list of its blocks,
the first error that happened to it or to what it called (0 for none), and the frame that was entered before it, so that
an interrupt finds them all (`weft.runtime.interrupts`). Blocks are freed by their frame only::

    enter(frame)                      at its beginning
    p = allocate(frame, bytes, zero)  null when there is no memory; 64-byte aligned
    m = mark(frame)                   before a loop
    keep(frame, m, q)                 at the end of an iteration: the block younger than m that q points into stays
    sweep(frame, m)                   ... and all others younger than m are freed
    keep(frame, null, q)              before the return, for each pointer of the result
    leave(frame, parent)              kept blocks, and the error, go to the caller's frame; all others are freed
    fail(frame, error), error(frame)  set the error if there is none; read it

So a block lives at least as long as a variable of the function leads into it, and no longer than to the end of the
iteration in which the last of these was set. Any thread may leave to a frame into which it keeps nothing.
"""

from __future__ import annotations

from weft.ir.function import Function, Module
from weft.ir.instruction import Instruction
from weft.ir.types import I64, PTR, VOID, ArrayType, FunctionType
from weft.ir.values import Value

PREFIX = "weft_heap_"
FRAME = ArrayType(I64, 3)

_TYPES = {
    "enter": FunctionType(VOID, (PTR,)),
    "allocate": FunctionType(PTR, (PTR, I64, I64)),
    "mark": FunctionType(PTR, (PTR,)),
    "keep": FunctionType(VOID, (PTR, PTR, PTR)),
    "sweep": FunctionType(VOID, (PTR, PTR)),
    "leave": FunctionType(VOID, (PTR, PTR)),
    "fail": FunctionType(VOID, (PTR, I64)),
    "error": FunctionType(I64, (PTR,)),
    "bytes": FunctionType(I64, (I64, I64)),
}
"""``bytes`` is the product of two sizes, all ones when that is more than 64 bits hold."""

SYMBOLS = tuple(PREFIX + name for name in _TYPES)


def declare(module: Module, name: str) -> Function:
    """The heap's function `name` as a function of `module`, declared on first use."""
    attributes = ("nounwind", "willreturn")
    if name == "bytes":
        attributes = (*attributes, "speculatable", "memory(none)")
    function = module.declare(PREFIX + name, _TYPES[name], attributes)
    if name == "allocate":
        function.return_attributes = ("noalias", "align 64")
    return function


def heap_call(instruction: Instruction) -> str | None:
    """Which of the heap's functions an instruction calls with a frame, None when it calls none."""
    name = instruction.callee_name or ""
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) and name != PREFIX + "bytes" else None


def is_allocation(value: Value) -> bool:
    """Whether a value is the address of a new block."""
    return isinstance(value, Instruction) and heap_call(value) == "allocate"


def uses_heap(module: Module) -> bool:
    """Whether a function of the module allocates."""
    return any(name.startswith(PREFIX) for name in module.functions)

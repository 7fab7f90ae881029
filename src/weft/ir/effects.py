"""What an instruction may do beside computing its result, from the opcode table and callee attributes."""

from __future__ import annotations

from weft.ir.constants import ConstInt
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.opcodes import OPCODES


def _call_has(call: Instruction, attribute: str) -> bool:
    for text in call.attrs.get("fn_attrs", ()):
        if text == attribute or text.startswith(f"{attribute}("):
            return True
    callee = call.callee
    return isinstance(callee, Function) and callee.has_attribute(attribute)


def _memory_effect(call: Instruction) -> str:
    """The argument of the innermost ``memory(...)`` attribute; empty when there is none."""
    callee = call.callee
    texts = list(call.attrs.get("fn_attrs", ()))
    if isinstance(callee, Function):
        texts += callee.attributes
    for text in texts:
        if text.startswith("memory("):
            return text[len("memory(") : -1]
    return ""


def may_read(instruction: Instruction) -> bool:
    """Whether the instruction may read memory."""
    if instruction.op != "call":
        return OPCODES[instruction.op].reads
    effect = _memory_effect(instruction)
    return not effect or "read" in effect


def may_write(instruction: Instruction) -> bool:
    """Whether the instruction may write memory or otherwise be observed (volatile loads included)."""
    if instruction.op == "load":
        return bool(instruction.attrs.get("volatile")) or bool(instruction.attrs.get("ordering"))
    if instruction.op != "call":
        return OPCODES[instruction.op].writes
    effect = _memory_effect(instruction)
    return not effect or "write" in effect


def may_trap(instruction: Instruction) -> bool:
    """Whether executing the instruction for a thread that should not execute it can be undefined behaviour."""
    if instruction.op == "call":
        return not _call_has(instruction, "speculatable")
    if instruction.op in ("udiv", "urem", "sdiv", "srem"):
        divisor = instruction.operands[1]
        if isinstance(divisor, ConstInt) and divisor.value != 0:
            return instruction.op in ("sdiv", "srem") and divisor.signed == -1
        return True
    return OPCODES[instruction.op].traps


def may_not_return(instruction: Instruction) -> bool:
    """Whether what follows the instruction may never run: it calls what ends the program, or loops for ever."""
    return instruction.op == "call" and not _call_has(instruction, "willreturn")


def is_convergent(instruction: Instruction) -> bool:
    """Whether the instruction's meaning depends on which threads execute it together."""
    return instruction.op == "call" and _call_has(instruction, "convergent")


def is_speculatable(instruction: Instruction) -> bool:
    """Whether it may run for more threads than it should: no effects, no trap, not convergent."""
    if instruction.op in ("phi", "alloca") or instruction.is_terminator:
        return False
    return not (
        may_write(instruction) or may_read(instruction) or may_trap(instruction) or is_convergent(instruction)
    )


def is_removable(instruction: Instruction) -> bool:
    """Whether the instruction can go when nothing uses its result."""
    if instruction.is_terminator or may_write(instruction):
        return False
    if instruction.op == "call":
        return _call_has(instruction, "willreturn") and _call_has(instruction, "nounwind")
    return True

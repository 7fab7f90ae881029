"""Which bits of integers anything depends on: those that no user asks for may be any.

    wide = 77 * r + 150 * g + 29 * b        of which bits 8 to 15 are used, and so bits 0 to 15 of each product
    byte = trunc(wide >> 8)

Precondition: none. Facts are about the users that there are now. Wrap-around flags of users count for nothing: who lets
bits be others drops them.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType

_CARRYING = {"add", "sub", "mul"}
_BITWISE = {"and", "or", "xor", "select", "phi"}


class UsedBits:
    """The used bits of a function's integers, as masks.

    Parameters
    ----------
    function
        The function.
    """

    def __init__(self, function: Function) -> None:
        view = cfg_of(function)
        blocks = [view.blocks[n] for n in reverse_postorder(view.cfg.succs)]
        numbers = [
            i
            for block in reversed(blocks)
            for i in reversed(block.instructions)
            if isinstance(i.type, IntType)
        ]
        self._masks: dict[Value, int] = dict.fromkeys(numbers, 0)
        changed = True
        while changed:
            changed = False
            for number in numbers:
                mask = self._asked_of(number)
                if mask != self._masks[number]:
                    self._masks[number] = mask
                    changed = True

    def of(self, value: Value) -> int:
        """The bits of an integer that are used; all, if nothing is known of it."""
        mask = self._masks.get(value)
        return mask if mask is not None else _all(value)

    def _asked_of(self, number: Instruction) -> int:
        mask, every = 0, _all(number)
        for user in number.instruction_users():
            for index, operand in enumerate(user.operands):
                if operand is number:
                    mask |= self._asked_by(user, index) & every
            if mask == every:
                break
        return mask

    def _asked_by(self, user: Instruction, index: int) -> int:
        """The bits that `user` needs of an operand."""
        every = _all(user.operands[index])
        op, mask = user.op, self._masks.get(user)
        if op == "trunc":
            return _all(user)
        if mask is None or (op == "select" and index == 0):
            return every
        if op in _CARRYING:
            return (1 << mask.bit_length()) - 1
        other = user.operands[1 - index] if len(user.operands) == 2 and index < 2 else None
        if op == "and" and isinstance(other, ConstInt):
            return mask & other.value
        if op in _BITWISE:
            return mask
        if op in ("zext", "sext"):
            return mask | (every ^ every >> 1 if op == "sext" and mask > every else 0)
        if op in ("shl", "lshr", "ashr") and index == 0 and isinstance(other, ConstInt):
            if op == "shl":
                return mask >> other.value
            sign = every ^ every >> 1 if op == "ashr" and mask << other.value > every else 0
            return mask << other.value | sign
        return every


def _all(value: Value) -> int:
    return (1 << value.type.bits) - 1 if isinstance(value.type, IntType) else -1

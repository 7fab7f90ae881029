"""Parameters whose numbers may be addresses, although no access is seen to lead through them.

Where a kernel keeps one in memory, passes it to a function, or adds it to another one that may be an address, too, no
access says whether it is an address, so that callers may pass an array for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.ir import Argument, Function, Instruction, Value
from weft.ir.types import I64

_SUMS = frozenset(("add", "sub", "phi", "select"))


def may_be_addresses(function: Function) -> frozenset[int]:
    """The numbers of those parameters of a kernel that are such."""
    return frozenset(a.index for a in function.args if a.type == I64 and _leaves(a))


def _leaves(argument: Argument) -> bool:
    seen: set[Value] = {argument}
    work: list[Value] = [argument]
    while work:
        value = work.pop()
        for user in value.instruction_users():
            if user.op == "inttoptr" or _is_kept(user, value):
                return True
            if user.op in _SUMS and user not in seen:
                seen.add(user)
                work.append(user)
    return False


def _is_kept(user: Instruction, value: Value) -> bool:
    if user.op == "store":
        return user.operands[0] is value
    return user.op == "call" and not _computes(user.callee_name) and _is_among(user.args, value)


def _computes(name: str | None) -> bool:
    return name is not None and name.startswith(("llvm.", "weft.", "__weft_"))


def _is_among(values: Iterable[Value], value: Value) -> bool:
    return any(v is value for v in values)

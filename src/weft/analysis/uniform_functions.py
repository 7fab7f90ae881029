"""Functions that nothing but their arguments decides: which of those without a body are known to be so.

``memory(none)`` does not say that. An id of the thread, of its lane or its stack needs no memory, and differs where the
arguments do not. So a call of what has no body counts as uniform for uniform arguments where the name is in the table
of `weft.ir.known_functions`, or where the user vouches for the function with the attribute ``"weft.uniform"``; every
other one is varying.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.diag.errors import ArgumentError
from weft.ir import Function, Instruction, Module
from weft.ir.effects import is_convergent, may_read, may_write
from weft.ir.known_functions import follows_from_arguments

VOUCHED = '"weft.uniform"'
"""The attribute, of a function or a call, by which a user says that its result depends on the arguments alone."""


def is_vouched(call: Instruction) -> bool:
    """Whether the user vouches for the function that is called."""
    callee = call.callee
    own: tuple[str, ...] = call.attrs.get("fn_attrs", ())
    return VOUCHED in own or (isinstance(callee, Function) and VOUCHED in callee.attributes)


def vouch_for(module: Module, names: Iterable[str]) -> None:
    """Mark functions of a module as such that nothing but their arguments decides.

    Raises
    ------
    ArgumentError
        The module has no such function.
    """
    for name in names:
        function = module.functions.get(name)
        if function is None:
            known = ", ".join(f.name for f in module.functions.values() if f.is_declaration) or "nothing"
            raise ArgumentError(f"there is no function {name!r} to vouch for", hint=f"declared are: {known}")
        if VOUCHED not in function.attributes:
            function.attributes = (*function.attributes, VOUCHED)


def depends_on_operands_alone(call: Instruction) -> bool:
    """Whether the result of a call of a function without a body is known to follow from its arguments."""
    if is_vouched(call):
        return True
    name = call.callee_name
    if name is None or may_read(call) or may_write(call) or is_convergent(call):
        return False
    return follows_from_arguments(name)

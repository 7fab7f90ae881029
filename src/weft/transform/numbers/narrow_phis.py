"""φs of which only the low bits are used: cut off before the φ instead of behind it.

A Python counter has 64 bits; the array that it is stored to has 32 more often than not. Where lanes leave a loop in
different iterations the result is chosen anew in each iteration (the trackers of Moll, §9.1), with twice the
registers and masks that it needs. So an integer φ whose uses all are ``trunc`` to one type, directly or through other
such φs, becomes a φ of that type, and the ``trunc`` goes to the ends of the edges that come in.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no φ has only uses that cut it to one
narrower type. Preserves the program under FR; the no-wrap flags of the ``trunc`` are dropped, since it now runs for
threads that went another way later on.
"""

from __future__ import annotations

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import arriving
from weft.ir.types import IntType, Type


def narrow_phis(function: Function) -> int:
    """Narrow what can be narrowed in `function`; return how many φs that was."""
    wanted = _narrowable(function)
    truncs = [user for phi in wanted for user in phi.instruction_users() if not user.is_phi]
    built: dict[Value, Instruction] = {}
    for phi, type in wanted.items():
        built[phi] = Builder(before=phi).build("phi", type, name=phi.name)
        built[phi].loc = phi.loc
    for phi, type in wanted.items():
        for value, source in arriving(phi, lambda v, b, type=type: _cut(v, type, built, b.terminator)):
            built[phi].add_incoming(value, source)
    for trunc in truncs:
        trunc.replace_all_uses(built[trunc.operands[0]])
        trunc.erase()
    for phi in wanted:
        phi.drop_operands()
    for phi in wanted:
        phi.erase()
    return len(wanted)


def _cut(value: Value, type: IntType, built: dict[Value, Instruction], end: Instruction) -> Value:
    """The low bits of a value at the end of a block."""
    if value in built:
        return built[value]
    if isinstance(value, ConstInt):
        return ConstInt(type, value.value)
    return Builder(before=end).cast("trunc", value, type)


def _narrowable(function: Function) -> dict[Instruction, IntType]:
    """The φs of which all uses, seen through φs, are cut to one type."""
    phis = [phi for block in function.blocks for phi in block.phis() if isinstance(phi.type, IntType)]
    widths: dict[Value, set[Type]] = {phi: _direct_widths(phi) for phi in phis}
    _spread(phis, widths)
    unused = [phi for phi in phis if not widths[phi]]
    for phi in unused:
        widths[phi].add(phi.type)
    _spread(unused, widths)
    found: dict[Instruction, IntType] = {}
    for phi in phis:
        (type, *others) = widths[phi]
        if isinstance(type, IntType) and type != phi.type and not others:
            found[phi] = type
    return found


def _direct_widths(phi: Instruction) -> set[Type]:
    """The types that uses cut a φ to, its own where one uses all of it; uses by φs are left out."""
    users = list(phi.instruction_users())
    widths = {user.type if user.op == "trunc" else phi.type for user in users if not user.is_phi}
    return widths if len(users) == len(phi.users) else widths | {phi.type}


def _spread(changed: list[Instruction], widths: dict[Value, set[Type]]) -> None:
    """Let what a φ is used for be what its operands are used for, to a fixed point."""
    work = list(changed)
    while work:
        user = work.pop()
        for value in user.operands:
            seen = widths.get(value)
            if seen is not None and not widths[user] <= seen:
                seen |= widths[user]
                assert isinstance(value, Instruction)
                work.append(value)

"""φs of which only the low bits are used: cut off before the φ instead of behind it.

A Python counter has 64 bits; the array that it is stored to has 32 more often than not. Where lanes leave a loop in
different iterations the result is chosen anew in each iteration (the trackers of Moll, §9.1), with twice the
registers and masks that it needs. So an integer φ whose uses all are ``trunc`` to one type, directly or through other
such φs, or sums, products and choices of which the low bits follow from low bits, becomes a φ of that type, as these
do, and the ``trunc`` goes to the ends of the edges that come in.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no φ has only uses that cut it to one
narrower type. Preserves the program under FR; the no-wrap flags of the ``trunc`` and of sums are dropped, since it now
runs for threads that went another way later on.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import arriving
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType, Type

_LOW_BITS = frozenset(("add", "sub", "mul", "and", "or", "xor", "select", "phi"))
"""What needs of its operands no more than the low bits that are used of it."""


def narrow_phis(function: Function) -> int:
    """Narrow what can be narrowed in `function`; return how many φs that was."""
    wanted = _narrowable(function)
    truncs = [user for value in wanted for user in value.instruction_users() if user.op == "trunc"]
    built: dict[Value, Value] = {}
    for phi, type in wanted.items():
        if phi.is_phi:
            built[phi] = twin = Builder(before=phi).build("phi", type, name=phi.name)
            twin.loc = phi.loc
    for value, type in wanted.items():
        if not value.is_phi:
            built[value] = _twin(value, type, built)
    for phi, type in wanted.items():
        if phi.is_phi:
            twin = built[phi]
            assert isinstance(twin, Instruction)
            for value, source in arriving(phi, lambda v, b, type=type: _cut(v, type, built, b.terminator)):
                twin.add_incoming(value, source)
    for trunc in truncs:
        trunc.replace_all_uses(built[trunc.operands[0]])
        trunc.erase()
    for value in wanted:
        value.drop_operands()
    for value in wanted:
        value.erase()
    return sum(value.is_phi for value in wanted)


def _twin(value: Instruction, type: IntType, built: dict[Value, Value]) -> Instruction:
    """The low bits of a sum, product or choice, made of those of its operands."""
    builder = Builder(before=value)
    builder.loc = value.loc
    if value.op == "select":
        condition, *arms = value.operands
        then, otherwise = (_cut(v, type, built, value) for v in arms)
        return builder.select(condition, then, otherwise)
    left, right = (_cut(v, type, built, value) for v in value.operands)
    return builder.binary(value.op, left, right)


def _cut(value: Value, type: IntType, built: dict[Value, Value], end: Instruction) -> Value:
    """The low bits of a value before an instruction."""
    if value in built:
        return built[value]
    if isinstance(value, ConstInt):
        return ConstInt(type, value.value & (1 << type.bits) - 1)
    if isinstance(value, Instruction) and value.op in ("zext", "sext") and value.operands[0].type == type:
        return value.operands[0]
    return Builder(before=end).cast("trunc", value, type)


def _narrowable(function: Function) -> dict[Instruction, IntType]:
    """The φs of which all uses are cut to one type, and what is between them; operands first, those of φs apart."""
    view = cfg_of(function)
    order = (view.blocks[n] for n in reverse_postorder(view.cfg.succs))
    values = [i for block in order for i in block if isinstance(i.type, IntType) and i.op in _LOW_BITS]
    widths: dict[Value, set[Type]] = {value: _direct_widths(value) for value in values}
    _spread(values, widths)
    unused = [value for value in values if not widths[value]]
    for value in unused:
        widths[value].add(value.type)
    _spread(unused, widths)
    narrow: dict[Value, IntType] = {}
    for value in values:
        (type, *others) = widths[value]
        if isinstance(type, IntType) and type != value.type and not others:
            narrow[value] = type
    # What is not between φs LLVM narrows by itself.
    work = [value for value in values if value.is_phi and value in narrow]
    kept = set(work)
    while work:
        value = work.pop()
        for other in (*value.operands, *value.instruction_users()):
            if other in narrow and other not in kept:
                assert isinstance(other, Instruction)
                kept.add(other)
                work.append(other)
    return {value: narrow[value] for value in values if value in kept}


def _passes_on(user: Instruction, value: Value) -> bool:
    """Whether a user needs of a value no more than the low bits that are used of it."""
    return (
        user.op in _LOW_BITS
        and user.type == value.type
        and (user.op != "select" or user.operands[0] is not value)
    )


def _direct_widths(value: Instruction) -> set[Type]:
    """The types that uses cut a value to, its own where one uses all of it; those that pass it on are left out."""
    users = list(value.instruction_users())
    widths = {u.type if u.op == "trunc" else value.type for u in users if not _passes_on(u, value)}
    return widths if len(users) == len(value.users) else widths | {value.type}


def _spread(changed: list[Instruction], widths: dict[Value, set[Type]]) -> None:
    """Let what a value is used for be what its operands are used for, to a fixed point."""
    work = list(changed)
    while work:
        user = work.pop()
        for value in user.operands:
            seen = widths.get(value)
            if seen is not None and _passes_on(user, value) and not widths[user] <= seen:
                seen |= widths[user]
                assert isinstance(value, Instruction)
                work.append(value)

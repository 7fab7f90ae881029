"""In which order and where lanes compute what a loop hands on, if some of it needs other such values.

    for i: a[i] = y; y = x * 2; x = b[i]        x has to be there before y, and both before the store

A scan or a value that is handed on (`weft.analysis.loops.carried_forms`) needs another one if what it is combined
with, or the value, is computed from that. So the other one comes first, and before everything that needs the one. What
stands behind the first of these is computed earlier: what may be computed at any time, and loads that no store between
meets.

Precondition: as for `carried_forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from weft.analysis.loops.carried_forms import HandedOn, Scan, is_read_at_end
from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.quiet_iterations import computed_from
from weft.graph.dominators import DominatorTree
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable, may_write

Form = Scan | HandedOn


def in_order(
    view: CFGView,
    dominators: DominatorTree,
    loop: CountedLoop,
    forms: Sequence[Form],
    are_apart: Callable[[Instruction, Instruction], bool],
) -> tuple[Form, ...] | None:
    """The forms, each behind those that it needs, with what needs it, and what is moved; None if that cannot be done.

    Two accesses may be known to be apart.
    """
    if not is_read_at_end(loop, [(form.phi, result_of(form)) for form in forms]):
        return None
    inside = set(loop.blocks)
    phis = {form.phi for form in forms}
    if any(isinstance(f, HandedOn) and f.value.is_phi and f.value not in phis for f in forms):
        return None
    needs = {form: _needs(form, forms, inside) for form in forms}
    order: list[Form] = []
    while len(order) < len(forms):
        ready = [f for f in forms if f not in order and all(n in order for n in needs[f])]
        if not ready:
            return None
        order += ready
    own = {value for form in forms for value in (form.phi, result_of(form)) if isinstance(form, Scan)}
    before: dict[Form, list[Instruction]] = {}
    placed: list[Form] = []
    for form in reversed(order):
        users = _users(form, loop, inside)
        if users is None:
            return None
        users += [user for other in order if form in needs[other] for user in before[other]]
        before[form] = list(dict.fromkeys(users))
        result = result_of(form)
        if result.is_phi:
            # It is where that φ is computed.
            moved: tuple[Instruction, ...] | None = ()
        else:
            early = [
                u
                for u in before[form]
                if u is not result and not _is_behind(u, form.phi, result, view, dominators)
            ]
            operand = form.operand if isinstance(form, Scan) else result
            moved = _to_be_moved(result, operand, early, own, inside, are_apart)
        if moved is None:
            return None
        placed.append(replace(form, before=tuple(before[form]), moved=moved))
    return tuple(reversed(placed))


def result_of(form: Form) -> Instruction:
    """What the next iteration has."""
    return form.update if isinstance(form, Scan) else form.value


def _needs(form: Form, forms: Sequence[Form], inside: Collection[BasicBlock]) -> list[Form]:
    """The other forms that have to be computed before one."""
    operand = form.operand if isinstance(form, Scan) else form.value
    read = {operand, *computed_from(operand, (), inside)}
    others = [other for other in forms if other is not form]
    return [o for o in others if o.phi in read or (isinstance(o, Scan) and o.update in read)]


def _users(form: Form, loop: CountedLoop, inside: Collection[BasicBlock]) -> list[Instruction] | None:
    """What uses a form's φ in the loop, but for φs that hand it on again; None for other φs that it is handed on in."""
    users = [u for u in form.phi.instruction_users() if u.block in inside]
    users = [u for u in users if not (u.is_phi and u.block is loop.header)]
    if isinstance(form, HandedOn) and any(user.is_phi for user in users):
        return None
    return users


def _to_be_moved(
    update: Instruction,
    operand: Value,
    early: Collection[Instruction],
    own: Collection[Instruction],
    inside: Collection[BasicBlock],
    are_apart: Callable[[Instruction, Instruction], bool],
) -> tuple[Instruction, ...] | None:
    """What an update needs that is computed behind the first of some users; None if that cannot be done earlier.

    Scans, and their φs and loads, come before it anyway.
    """
    if not early:
        return ()
    block = update.block
    if block is None or any(user.block is not block or user.is_phi for user in early):
        return None
    body = block.instructions
    first = min(body.index(user) for user in early)
    needed = [i for i in computed_from(operand, own, inside) if i.block is block and body.index(i) > first]
    for instruction in needed:
        if instruction in own:
            continue
        if instruction.op == "load" and instruction.is_plain_access:
            passed = body[first : body.index(instruction)]
            if any(may_write(i) and not (i.op == "store" and are_apart(i, instruction)) for i in passed):
                return None
        elif not is_speculatable(instruction):
            return None
    return tuple(sorted((i for i in needed if i not in own), key=body.index))


def _is_behind(
    user: Instruction, value: Value, update: Instruction, view: CFGView, dominators: DominatorTree
) -> bool:
    """Whether a use of a value, or of what is computed from it, comes behind an instruction."""
    assert update.block is not None and user.block is not None
    if user.is_phi:
        direct = value in user.operands
        sources = [source for v, source in user.incoming() if v is value or not direct]
        return all(dominators.dominates(view.index[update.block], view.index[s]) for s in sources)
    if user.block is update.block:
        body = update.block.instructions
        return body.index(update) < body.index(user)
    return dominators.dominates(view.index[update.block], view.index[user.block])

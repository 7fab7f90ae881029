"""Minima of several numbers, and sums that are chosen, take what the last iteration has computed last.

    best = min(min(row[q + 1] + d, row[q] + 1), row[q + 2] + 1); row[q + 1] = best
    best = min(min(row[q + 1] + d, row[q + 2] + 1), row[q] + 1); row[q + 1] = best

The minimum is the next iteration's ``row[q]``, so an iteration takes as long as the way from there to it: two minima as
written first, one as written last. All others are there before. What is on such a way, through φs or memory, are values
that depend on themselves: a strongly connected component of the graph that leads from operands to what uses them. So
is a total:

    s = c ? s + x : s        an addition and a choice from s to s
    s = s + (c ? x : -0.0)   the addition alone; c and x are there before

Precondition: P-LLVM of one thread. Postcondition: in innermost loops, integer minima (or maxima) of several numbers,
some of which depend on them an iteration later, are minima of these and of all others, and where it is chosen whether
floats are added to such a total, or subtracted, it is chosen what. Preserves the program under FR: the order of
operands of minima does not matter, for poison neither; a number and -0.0 is that number, also if it is a zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.memory.far_steps import step_of
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.cfg import strongly_connected_components
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstFloat, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.layout import DataLayout
from weft.ir.opcodes import FAST_MATH
from weft.ir.types import FloatType

_CHOICES = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")


def take_carried_last(function: Function) -> int:
    """Reorder such minima, maxima and sums; how many."""
    if not any(_is_choice(i) or _sum_of(i) is not None for i in function.instructions()):
        return 0
    view = cfg_of(function)
    done = 0
    for loop in loop_forest(view.cfg).loops:
        if loop.children or len(loop.latches) != 1:
            continue
        blocks = [view.blocks[b] for b in sorted(loop.blocks)]
        roots = [i for block in blocks for i in block.instructions if _is_choice(i) and not _is_part(i, i)]
        several = [root for root in roots if len(list(_numbers(root))) > 2]
        chosen = [
            (i, added) for block in blocks for i in block.instructions if (added := _sum_of(i)) is not None
        ]
        if several or chosen:
            circles = _circles(loop, view, function.layout)
            done += sum(_reorder(root, circles) for root in several)
            done += sum(_choose_term(choice, added, circles) for choice, added in chosen)
    return done


def _is_choice(value: Value) -> bool:
    return isinstance(value, Instruction) and (value.callee_name or "").startswith(_CHOICES)


def _sum_of(choice: Instruction) -> Instruction | None:
    """The sum, or difference, of floats that is chosen, or else its first operand; None if it is not that."""
    if choice.op != "select" or not choice.type.is_float:
        return None
    for chosen, other in (choice.operands[1:], choice.operands[:0:-1]):
        if (
            isinstance(chosen, Instruction)
            and chosen.op in ("fadd", "fsub")
            and chosen.block is choice.block
            and other in chosen.operands[: 2 if chosen.op == "fadd" else 1]
            and list(chosen.instruction_users()) == [choice]
        ):
            return chosen
    return None


def _is_part(value: Value, of: Instruction) -> bool:
    """Whether a value is such a choice of the kind of another one, used once, and by one of its block and kind."""
    if not _is_choice(value):
        return False
    assert isinstance(value, Instruction)
    users = list(value.instruction_users())
    return (
        value.callee_name == of.callee_name
        and len(users) == 1
        and users[0].callee_name == value.callee_name
        and users[0].block is value.block
    )


def _numbers(choice: Instruction) -> Iterator[Value]:
    """What a choice of several numbers is made of."""
    for value in choice.args:
        if choice.args.count(value) == 1 and _is_part(value, choice):
            assert isinstance(value, Instruction)
            yield from _numbers(value)
        else:
            yield value


def _circles(loop: Loop, view: CFGView, layout: DataLayout) -> dict[Instruction, int]:
    """The values of a loop that depend on themselves, with a number for those that do so together."""
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    instructions = [i for b in sorted(loop.blocks) for i in view.blocks[b].instructions]
    number = {i: n for n, i in enumerate(instructions)}
    users: list[list[int]] = [[] for _ in instructions]
    for i, n in number.items():
        for value in i.operands:
            if isinstance(value, Instruction) and value in number:
                users[number[value]].append(n)
    for store, load in _handed_on(instructions, header, latch, layout):
        users[number[store]].append(number[load])
    found: dict[Instruction, int] = {}
    for circle, members in enumerate(strongly_connected_components(users, range(len(users)))):
        if len(members) > 1:
            found.update((instructions[m], circle) for m in members)
    return found


def _handed_on(
    instructions: list[Instruction], header: BasicBlock, latch: BasicBlock, layout: DataLayout
) -> Iterator[tuple[Instruction, Instruction]]:
    """Stores, each with a load that has in the next iteration what it stores."""
    accesses = [i for i in instructions if i.is_plain_access]
    stores = [i for i in accesses if i.op == "store"]
    inside = set(instructions)
    for load in (i for i in accesses if i.op == "load") if stores else ():
        place = linear_location(load.pointer, layout)
        moved = 0
        for term, scale in place.terms.items():
            if not isinstance(term, Instruction) or term not in inside:
                continue
            step = step_of(term, latch) if term.is_phi and term.block is header else None
            if not isinstance(step, ConstInt):
                break
            moved += scale * step.signed
        else:
            if isinstance(place.base, Instruction) and place.base in inside:
                continue
            for store in stores:
                other = linear_location(store.pointer, layout)
                same = other.base is place.base and other.terms == place.terms
                if same and other.offset == place.offset + moved:
                    yield store, load


def _reorder(root: Instruction, circles: dict[Instruction, int]) -> bool:
    # Of what it is made now: some of that may have been reordered before.
    own, numbers = circles.get(root), list(_numbers(root))
    carried = [v for v in numbers if isinstance(v, Instruction) and own is not None and circles.get(v) == own]
    others = [v for v in numbers if v not in carried]
    if not carried or len(others) < 2 or all(v in root.args for v in carried):
        return False
    builder = Builder(before=root)
    builder.loc = root.loc
    first, *rest = (*others, *carried)
    value = first
    for other in rest:
        value = builder.call(root.callee, [value, other])
        circles[value] = circles[root]
    root.replace_all_uses(value)
    _erase(root)
    return True


def _choose_term(choice: Instruction, update: Instruction, circles: dict[Instruction, int]) -> bool:
    """Choose what is added to a total, instead of whether it is."""
    condition, then, otherwise = choice.operands
    total = otherwise if then is update else then
    a, b = update.operands
    term = b if a is total else a
    if (
        not isinstance(total, Instruction)
        or circles.get(total, -1) != circles.get(choice, -2)
        or term is total
    ):
        return False
    builder = Builder(before=choice)
    builder.loc = update.loc
    assert isinstance(update.type, FloatType)
    nothing = ConstFloat.of(update.type, 0.0 if update.op == "fsub" else -0.0)
    arms = (term, nothing) if then is update else (nothing, term)
    added = builder.select(condition, *arms)
    choice.replace_all_uses(builder.binary(update.op, total, added, _for_any_total(update.flags)))
    choice.erase()
    update.erase()
    return True


def _for_any_total(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Flags under which a total to which nothing is added stays what it is, be it infinite or no number."""
    given = FAST_MATH[1:] if "fast" in flags else flags
    return tuple(flag for flag in given if flag not in ("nnan", "ninf"))


def _erase(choice: Instruction) -> None:
    parts = [v for v in choice.args if isinstance(v, Instruction) and _is_choice(v)]
    choice.erase()
    for part in parts:
        if not part.is_used:
            _erase(part)

"""Loops that are left for a copy of themselves where an index counts from the end: ``a[i]`` of Python with i < 0.

An index that a thread has looked up, as the number of a node of a tree is, is asked for its sign: ``i + (i < 0 ? n :
0)``. In a thread that runs by itself this stands in the way from one load to the next, for each array that is accessed
there. Hardly any program has such indices. So it is a branch that is never taken, and behind it no index is asked:

    head:  i = φ ...; c = i < 0                     head:  i = φ ...; br i < 0, rest', rest
           p = a + i + (c ? n : 0); ...             rest:  p = a + i; ...; br head
           br head                                  rest': i' = φ i, i''; p' = a + i' + (i' < 0 ? n : 0); ...
                                                           i'' = φ ...; br rest'

The copy goes on in the midst of the iteration, and runs all that are left, with the questions. It is entered at one
place only, so it is a loop itself, or, where not each way around it goes by that place, a loop in another one.

Precondition: P-LLVM of one thread, loop-closed, without predicates, shadows and guards. Postcondition: the same, with
reducible loops. Preserves the program under FR: memory is accessed at once where the index leads, so that a branch on
poison comes where an address was poison, or else the index is frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from weft.graph.cfg import reverse_postorder
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_block
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.loop_metadata import is_scalar, mark_seldom, unmark
from weft.transform.loops.close_loops import close_loops
from weft.transform.numbers.known_numbers import number_asked_for_sign, replace_known_numbers
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses

LARGEST_LOOP = 250
"""Loops of more instructions are not copied."""

MOST_COPIES = 4
"""Copies of loops that a function gets."""

_ARITHMETIC = frozenset(("add", "sub", "mul", "shl", "or", "and", "sext", "zext", "trunc", "select"))
_CARRYING = _ARITHMETIC - {"select"} | {"icmp", "getelementptr", "lshr", "ashr", "xor"}
_FOLLOWED = 4
"""Steps from a question to the address that it is for."""


def leave_for_the_end(
    function: Function, is_spared: Callable[[Loop, CFGView], bool] = lambda loop, view: False
) -> int:
    """Give loops, but for those that are spared, copies for indices that count from the end; how many."""
    done: set[BasicBlock] = set()
    made = 0
    while made < MOST_COPIES and (found := _next(function, done, is_spared)) is not None:
        view, loop, question = found
        number = number_asked_for_sign(question)
        assert number is not None
        if not _is_used_at_once(question, number):
            number = _freeze(number)
        done |= _leave(function, view, loop, question, number)
        replace_known_numbers(function)
        made += 1
    if made:
        # Not each way around a copy goes by where it is entered.
        close_loops(function)
    return made


def _next(
    function: Function, done: Set[BasicBlock], is_spared: Callable[[Loop, CFGView], bool]
) -> tuple[CFGView, Loop, Instruction] | None:
    """The first question that stands between looking an index up and accessing memory there."""
    if not any(number_asked_for_sign(i) is not None for i in function.instructions()):
        return None
    view = cfg_of(function)
    innermost = loop_forest(view.cfg).innermost
    for number in reverse_postorder(view.cfg.succs):
        loop, block = innermost[number], view.blocks[number]
        if loop is None or block in done or is_spared(loop, view):
            continue
        for i in block.instructions:
            x = number_asked_for_sign(i)
            if x is None or not _is_looked_up(x) or not any(map(_leads_to_address, i.instruction_users())):
                continue
            if _is_made_in(loop, x, view) and _may_be_copied(loop, view):
                return view, loop, i
    return None


def _is_made_in(loop: Loop, number: Value, view: CFGView) -> bool:
    block = number.block if isinstance(number, Instruction) else None
    return block is not None and view.index[block] in loop.blocks


def _is_looked_up(number: Value) -> bool:
    """Whether a number is computed from what has been loaded."""
    seen: set[Value] = set()
    work = [number]
    while work:
        value = work.pop()
        if value in seen or not isinstance(value, Instruction):
            continue
        if value.op == "load":
            return True
        seen.add(value)
        if value.op != "call":
            work += value.operands
    return False


def _leads_to_address(value: Instruction, steps: int = _FOLLOWED) -> bool:
    if value.op == "getelementptr":
        return True
    if steps == 0 or value.op not in _ARITHMETIC:
        return False
    return any(_leads_to_address(user, steps - 1) for user in value.instruction_users())


def _is_used_at_once(question: Instruction, number: Value) -> bool:
    """Whether a thread that asks accesses memory, in the same block, at an address that is poison if the number is."""
    block = question.block
    assert block is not None
    poison: set[Value] = {number}
    asked = False
    for i in block.instructions:
        asked = asked or i is question
        if i.is_phi:
            continue
        if i.is_plain_access and i.pointer in poison:
            return True
        if asked and i.op == "call" and not is_speculatable(i):
            return False
        deciding = i.operands[:1] if i.op == "select" else i.operands if i.op in _CARRYING else ()
        if any(v in poison for v in deciding):
            poison.add(i)
    return False


def _freeze(number: Value) -> Value:
    """Have a number be some number where it is poison."""
    assert isinstance(number, Instruction) and number.block is not None
    position = number.block.instructions.index(number) + 1
    if number.is_phi:
        position = number.block.first_insertion
    builder = Builder(before=number.block.instructions[position])
    builder.loc = number.loc
    frozen = builder.unary("freeze", number)
    for user in list(number.instruction_users()):
        if user is not frozen:
            user.replace_operand(number, frozen)
    return frozen


def _may_be_copied(loop: Loop, view: CFGView) -> bool:
    """Whether a loop is small, is entered at one place, and runs often."""
    blocks = [view.blocks[b] for b in loop.blocks]
    if loop.is_irreducible or sum(len(block.instructions) for block in blocks) > LARGEST_LOOP:
        return False
    if any(is_scalar(view.blocks[latch].terminator) for latch in loop.latches):
        # It is a version that hardly runs.
        return False
    return not any(is_convergent(i) for block in blocks for i in block.instructions)


def _leave(
    function: Function, view: CFGView, loop: Loop, question: Instruction, number: Value
) -> set[BasicBlock]:
    """Leave a loop before a question where its answer is yes; the blocks of the copy that goes on there."""
    at = question.block
    assert at is not None
    dominators = dominator_tree(view.cfg)
    above = [view.blocks[b] for b in loop.blocks if dominators.dominates(b, view.index[at])]
    inside = [view.blocks[b] for b in sorted(loop.blocks)]
    inner = [view.blocks[b] for child in _inside(loop) for b in child.latches]
    header = view.blocks[loop.header]
    rest = split_block(question, f"{at.name}.front")
    outer = [rest if view.blocks[b] is at else view.blocks[b] for b in loop.latches]
    inside.insert(inside.index(at) + 1, rest)
    values: ValueMap = {}
    copies = clone_blocks(inside, function, values)
    for latch in outer:
        unmark(_copied(latch, values).terminator)
    # The copy goes around from where the question is in it.
    for latch in (at, *inner):
        mark_seldom(_copied(latch, values).terminator)
    _enter_copies(inside, header, values)
    for block in copies:
        for i in block.instructions:
            # Some of it is not there where the copy goes on.
            i.debug_records = []
    resumed = _copied(rest, values)
    resumed.name = f"{at.name}.end"
    location = at.terminator.loc
    at.terminator.erase()
    builder = Builder(at)
    builder.loc = location
    negative = builder.icmp("slt", number, const_int(0, number.type))
    weigh(builder.cond_br(negative, resumed, rest), 1, OFTEN)
    for block in above:
        for value in list(block.instructions):
            copy = values.get(value)
            if isinstance(copy, Instruction):
                _hand_over(value, copy)
    return set(copies)


def _inside(loop: Loop) -> Iterator[Loop]:
    for child in loop.children:
        yield child
        yield from _inside(child)


def _copied(block: BasicBlock, values: ValueMap) -> BasicBlock:
    copy = values[block]
    assert isinstance(copy, BasicBlock)
    return copy


def _enter_copies(inside: list[BasicBlock], header: BasicBlock, values: ValueMap) -> None:
    """The copy's header is not entered from outside, and what is behind the loop is behind the copy, too."""
    loop = set(inside)
    copies = {_copied(block, values) for block in inside}
    for phi in _copied(header, values).phis():
        for index in reversed(range(len(phi.blocks))):
            if phi.blocks[index] not in copies:
                phi.remove_incoming(index)
    for block in inside:
        leaving = _copied(block, values)
        for exit in dict.fromkeys(s for s in block.successors if s not in loop):
            for phi in exit.phis():
                for value, source in list(phi.incoming()):
                    if source is block:
                        phi.add_incoming(values.get(value, value), leaving)


def _hand_over(value: Instruction, copy: Instruction) -> None:
    """Let the copy use a value of the loop that is there where it goes on."""
    assert value.block is not None and copy.block is not None
    users = [u for u in dict.fromkeys(copy.instruction_users()) if u.is_phi or u.block is not copy.block]
    if users:
        reaching = ReachingDefinition(copy.type, {value.block: value, copy.block: copy}, copy.name)
        rewrite_uses(copy, users, reaching)

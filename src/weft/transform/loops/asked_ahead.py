"""Indices that a loop looks up are asked for their signs in a loop before it.

    for k: j = list[k]; ... a[j < 0 ? j + n : j] ...

    least = min over k of list[k]
    if least >= 0: for k: j = list[k]; ... a[j] ...        else: the loop as it was

LLVM's vectorizer looks each place up by itself, where there is no instruction for that, and computes places one by one,
too, if nothing else is asked of them. A sign is asked for in lanes, which then are taken apart. The loop before finds
the least index in a fraction of the time, as it has nothing else to do.

Precondition: a loop-closed function, without predicates, shadows and guards. Postcondition: the same; chosen innermost
loops that only read memory, and look indices up in each iteration, have a version that does not ask for their signs.
Preserves the program under FR: what the loop before reads is what the loop reads then.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable, may_write
from weft.ir.loop_metadata import mark_seldom
from weft.ir.slices import slice_of
from weft.ir.types import IntType
from weft.transform.loops.version_loop import version_loop
from weft.transform.numbers.known_numbers import answer, asks_for_sign, replace_known_numbers

LARGEST = 120
"""Instructions of a loop of which there are two versions."""

_RISING = ("slt", "sle", "ult", "ule")


def ask_ahead(function: Function, chosen: Callable[[Loop, CFGView], bool]) -> int:
    """Ask for signs before such loops that are `chosen`; how many."""
    done: set[BasicBlock] = set()
    made = 0
    while (found := _next(function, chosen, done)) is not None:
        loop, loads = found
        done.add(loop.header)
        least = _build_search(function, loop, loads)
        view = cfg_of(function)
        own = next(one for one in loop_forest(view.cfg).loops if view.blocks[one.header] is loop.header)
        copies = version_loop(
            function, view, own, lambda builder, least=least: _none_is_negative(builder, least), seldom=True
        )
        done.add(copies[loop.header])
        mark_seldom(copies[loop.latch].terminator)
        for load in loads:
            _take_as_not_negative(load)
        made += 1
    if made:
        replace_known_numbers(function)
    return made


def _next(
    function: Function, chosen: Callable[[Loop, CFGView], bool], done: set[BasicBlock]
) -> tuple[CountedLoop, list[Instruction]] | None:
    view = cfg_of(function)
    for found in loop_forest(view.cfg).loops:
        if found.children or view.blocks[found.header] in done or not chosen(found, view):
            continue
        loop = counted_loop(view, found)
        if isinstance(loop, str) or not (loop.top_tested and is_left_by_itself(loop)):
            continue
        if loop.tests_next or loop.predicate not in _RISING or loop.counter.step < 1:
            continue
        instructions = [i for block in loop.blocks for i in block.instructions]
        if len(instructions) > LARGEST or any(may_write(i) for i in instructions):
            continue
        loads = _asked(loop, view)
        if loads:
            return loop, loads
    return None


def _asked(loop: CountedLoop, view: CFGView) -> list[Instruction]:
    """The loads of integers that each iteration does where its counter says, and whose signs it asks for."""
    questions = [
        i for block in loop.blocks for i in block.instructions if i.op == "icmp" and asks_for_sign(i)
    ]
    if not questions:
        return []
    dominators, latch = dominator_tree(view.cfg), view.index[loop.latch]
    found: dict[Instruction, None] = {}
    for question in questions:
        load = _without_extension(question.operands[0])
        if (
            isinstance(load, Instruction)
            and load.op == "load"
            and load.is_plain_access
            and load.block in loop.blocks
            and dominators.dominates(view.index[load.block], latch)
            and _is_counted(load.pointer, loop)
        ):
            found[load] = None
    return list(found)


def _without_extension(value: Value) -> Value:
    return value.operands[0] if isinstance(value, Instruction) and value.op == "sext" else value


def _is_counted(value: Value, loop: CountedLoop) -> bool:
    """Whether an address is computed of the counter and what the loop does not change."""
    return all(
        part is loop.counter.phi or (not part.is_phi and is_speculatable(part) and part.op != "load")
        for part in slice_of(value, lambda i: i.block in loop.blocks and not i.is_phi)
        if isinstance(part, Instruction) and part.block in loop.blocks
    )


def _build_search(function: Function, loop: CountedLoop, loads: list[Instruction]) -> list[Value]:
    """Find the least of what each load reads in a loop before this one."""
    before, header = loop.preheader, loop.header
    location = before.terminator.loc
    head = function.add_block(f"{header.name}.signs", before)
    body = function.add_block(f"{header.name}.sign", head)
    end = function.add_block(f"{header.name}.asked", body)
    before.terminator.set_block(0, head)
    header.replace_phi_source(before, end)
    builder = Builder(head)
    builder.loc = location
    counter = builder.phi(loop.counter.type)
    counter.add_incoming(loop.counter.start, before)
    least = [builder.phi(load.type) for load in loads]
    builder.at_end(head)
    builder.cond_br(builder.icmp(loop.predicate, counter, loop.bound), body, end)
    builder.at_end(body)
    values: dict[Value, Value] = {loop.counter.phi: counter}
    for phi, load in zip(least, loads, strict=True):
        type = load.type
        assert isinstance(type, IntType) and function.module is not None
        phi.add_incoming(const_int((1 << type.bits - 1) - 1, type), before)
        loaded = _computed(load, builder, loop, values)
        less = builder.icmp("slt", loaded, phi)
        phi.add_incoming(builder.select(less, loaded, phi), body)
    step = const_int(loop.counter.step, loop.counter.type)
    counter.add_incoming(builder.binary("add", counter, step, loop.counter.following.flags), body)
    builder.br(head)
    builder.at_end(end)
    found: list[Value] = []
    for phi in least:
        closed = builder.phi(phi.type)
        closed.add_incoming(phi, head)
        found.append(closed)
    builder.at_end(end)
    builder.br(header)
    return found


def _computed(value: Value, builder: Builder, loop: CountedLoop, values: dict[Value, Value]) -> Value:
    """Compute a value of the loop for another counter."""
    if value in values or not isinstance(value, Instruction) or value.block not in loop.blocks:
        return values.get(value, value)
    operands = [_computed(v, builder, loop, values) for v in value.operands]
    copy = value.clone()
    for index, operand in enumerate(operands):
        copy.set_operand(index, operand)
    values[value] = builder.insert(copy)
    return copy


def _none_is_negative(builder: Builder, least: list[Value]) -> Value:
    # What is poison need not lead to an access.
    numbers = [builder.unary("freeze", number) for number in least]
    tests = [builder.icmp("sge", number, const_int(0, number.type)) for number in numbers]
    test: Value = tests[0]
    for other in tests[1:]:
        test = builder.select(test, other, FALSE)
    return test


def _take_as_not_negative(load: Instruction) -> None:
    """Answer what asks whether a number that is looked up is negative."""
    numbers = [load, *(user for user in load.instruction_users() if user.op == "sext")]
    for question in [q for number in numbers for q in list(number.instruction_users())]:
        if question.op != "icmp" or not asks_for_sign(question) or question.operands[0] not in numbers:
            continue
        answer(question)

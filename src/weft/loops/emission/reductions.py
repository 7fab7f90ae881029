"""Loops that combine what their iterations find: each thread takes some of them, then blocks combine, then one block.

A sum of integers is exact in any order; of floats another order has to be allowed before a loop comes here. Minima and
maxima come with the place of the first of equal ones, where that matters. Of two loops inside of each other that hand
on the same, threads of a block share the inner one, so that they read side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.sequential.patterns import Pattern
from weft.ir.types import I1, I64, FloatType
from weft.loops.emission.arguments import (
    Target,
    arguments_of,
    assumptions_of,
    host_arguments,
    lines_of,
    told_of,
)
from weft.loops.emission.blocks import (
    MOST_BLOCKS,
    THREADS,
    Held,
    HeldGroup,
    combine_block,
    shared_arrays,
)
from weft.loops.emission.combining import Group, groups_of, identity
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.loop_kinds import Counting
from weft.loops.emission.nests import Nest
from weft.loops.emission.plan import KernelPlan, Plan, Result
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tree import (
    Argument,
    Assign,
    Break,
    Buffer,
    For,
    If,
    Launch,
    Node,
    Statement,
    Variable,
    While,
    has_jump,
    names_in,
    number,
    written_in,
)


def reduction_plan(nest: Nest, name: str, target: Target) -> Plan:
    """The kernels of a reduction.

    Raises
    ------
    EmissionError
        Something has no form.
    """
    parts = target.parts(nest)
    loop = Structure(parts, parts.values).spread()
    groups = tuple(_held(parts, g, loop) for g in nest.groups)
    values = [v for g in groups for v in g.values]
    count = iterations_of(parts)
    _spread_inner(parts, loop, {v.variable.name for v in values})
    thread, width, other, blocks = (
        Variable(parts.unique(n), I64, "s") for n in ("thread", "width", "other", "blocks")
    )
    body: list[Statement] = [Assign(v.variable, v.identity) for v in values]
    body += [loop, *shared_arrays(groups, THREADS), Assign(thread, Node("local", I64, is_nonnegative=True))]
    body += [v.put(v.shared, thread.node, v.variable.node) for v in values]
    body += combine_block(groups, thread, width, other, THREADS)
    mine = Node("block", I64, is_nonnegative=True)
    is_first = Node("==", I1, (thread.node, number(0)))
    body.append(If(is_first, [v.put(v.buffer, mine, v.at(v.shared, number(0))) for v in values]))
    buffers = tuple(Argument(v.buffer, v.type, v.variable.reading, True, True) for v in values)
    first = KernelPlan(
        f"{name}_kernel",
        f"Iterations of {lines_of(nest)}: threads share them, and each block has one result.",
        assumptions_of(nest),
        arguments_of(parts, body, buffers),
        body,
        (THREADS,),
    )
    second = _finish(parts, name, groups, (thread, width, other), buffers, blocks)
    steps: list[Statement] = [
        Assign(blocks, blocks_for(count, THREADS if loop.spread == "grid" else 1)),
        Launch(first.name, first.arguments, first.block, blocks=blocks.node),
        Launch(second.name, second.arguments, second.block, blocks=number(1)),
    ]
    made = [Buffer(v.buffer, v.type, v.variable.reading, blocks.node) for v in values]
    known = [v for v in values if v.start is not None]
    results = [
        Result(v.variable.name, v.buffer, is_truth=v.variable.type is I1, phi=p)
        for v, p in zip(known, nest.kept, strict=True)
    ]
    sections = tuple(sections_of(parts))
    return Plan(
        name, nest.report.line, (first, second), host_arguments(parts), told_of(parts), sections, tuple(made), steps,
        tuple(results), parts,
    )  # fmt: skip


def _finish(
    parts: KernelParts,
    name: str,
    groups: tuple[HeldGroup, ...],
    names: tuple[Variable, Variable, Variable],
    buffers: tuple[Argument, ...],
    blocks: Variable,
) -> KernelPlan:
    """One block combines the results of all blocks, and what was before the loop."""
    values = [v for g in groups for v in g.values]
    thread, width, other = names
    is_there = Node("<", I1, (thread.node, blocks.node))
    body = shared_arrays(groups, MOST_BLOCKS)
    body.append(Assign(thread, Node("local", I64, is_nonnegative=True)))
    body.append(
        If(
            is_there,
            [v.put(v.shared, thread.node, v.at(v.buffer, thread.node)) for v in values],
            [v.put(v.shared, thread.node, v.identity) for v in values],
        )
    )
    body += combine_block(groups, thread, width, other, MOST_BLOCKS)
    body.append(If(Node("==", I1, (thread.node, number(0))), [s for g in groups for s in g.finish()]))
    given = (*buffers, Argument(blocks.name, I64, "s", False))
    title = f"One block combines the results of all blocks of {name}_kernel, and what was before the loop."
    return KernelPlan(f"{name}_finish", title, (), arguments_of(parts, body, given), body, (MOST_BLOCKS,))


def iterations_of(parts: KernelParts) -> Node:
    """How many iterations the nest's loop has at most; below 0 where it has none."""
    counting = parts.kinds.counting[parts.nest.loop]
    return span_of(parts, counting)


def span_of(parts: KernelParts, counting: Counting) -> Node:
    """The number of iterations of a loop that counts."""
    parts.place = parts.nest.loop.header
    signed = parts.values.signed
    start, stop = (
        _wide(signed(parts.values.of(counting.start))),
        _wide(signed(parts.values.of(counting.bound))),
    )
    if counting.beyond:
        stop = _sum(stop, counting.beyond)
    ends = (stop, start) if counting.step > 0 else (start, stop)
    size = abs(counting.step)
    room = ends[0] if ends[1].op == "int" and ends[1].number == 0 else Node("-", I64, ends)
    return room if size == 1 else Node("//", I64, (_sum(room, size - 1), number(size)))


def _wide(node: Node) -> Node:
    if node.op == "int":
        return number(int(node.number))
    return node if node.bits == 64 else Node("widen", I64, (node,), is_nonnegative=node.is_nonnegative)


def _sum(node: Node, more: int) -> Node:
    if node.op == "int":
        return number(int(node.number) + more)
    return Node("+" if more > 0 else "-", I64, (node, number(abs(more))))


def blocks_for(count: Node, threads: int, most: int | None = MOST_BLOCKS) -> Node:
    """The blocks that so many iterations need: at least one, and `most` at most."""
    needed = count
    if threads > 1:
        needed = Node("//", I64, (Node("+", I64, (count, number(threads - 1))), number(threads)))
    needed = Node("call", I64, (needed, number(1)), "max")
    return needed if most is None else Node("call", I64, (needed, number(most)), "min")


def held_of(parts: KernelParts, group: Group) -> tuple[Held, ...]:
    """The values of a group: their variables, and arrays for them."""
    found: list[Held] = []
    for position, (phi, start) in enumerate(zip(group.phis, group.starts, strict=True)):
        variable = parts.variable(phi)
        assert variable is not None
        neutral = group.identity() if not position else identity(None, phi.type)
        turn = parts.values.signed if variable.reading == "s" else parts.values.unsigned
        parts.place = parts.nest.loop.header
        before = parts.values.of(start) if group.first is None else parts.first_element(group.first)
        found.append(
            Held(
                variable,
                turn(neutral),
                turn(before),
                parts.unique(f"{variable.name}_all"),
                parts.unique(f"{variable.name}_parts"),
            )
        )
    return tuple(found)


def _held(parts: KernelParts, group: Group, loop: For) -> HeldGroup:
    values = held_of(parts, group)
    if group.extremum is None:
        return HeldGroup(values, group.combination, is_exact=group.is_exact)
    extremum = group.extremum
    is_rising = loop.step > 0
    needed = len(group.phis) > 1 or isinstance(group.type, FloatType)
    if not needed:
        return HeldGroup(values, None, extremum)
    last = extremum.keeps_last == is_rising
    bits = loop.variable.type.bits  # type: ignore[attr-defined]
    # What nothing was found for is behind all iterations.
    worst = number(-(1 << (bits - 1)) if last else (1 << (bits - 1)) - 1, loop.variable.type)
    for position, value in enumerate(values[1:], 1):
        if _is_counter(loop, value.variable):
            place = Held(value.variable, worst, value.start, value.shared, value.buffer)
            values = (*values[:position], place, *values[position + 1 :])
            return HeldGroup(values, None, extremum, place, is_rising)
    stem = f"{values[0].variable.name}_at"
    variable = Variable(parts.unique(stem), loop.variable.type, "s")
    place = Held(variable, worst, None, parts.unique(f"{stem}_all"), parts.unique(f"{stem}_parts"))
    loop.body = list(_noting(parts, loop.body, values[0].variable, variable, loop.variable))
    return HeldGroup((*values, place), None, extremum, place, is_rising)


def _is_counter(loop: For, place: Variable) -> bool:
    """Whether a variable is never given another value than the loop's counter."""
    given = [_without_itself(v, place) for v in _assigned(loop.body, place.name)]
    return bool(given) and all(v is not None and _is_name(v, loop.variable) for v in given)


def _without_itself(value: Node, variable: Variable) -> Node | None:
    """The other arm of a choice between what a variable is and something else."""
    if value.op != "select":
        return value
    others = [a for a in value.args[1:] if not _is_name(a, variable)]
    return others[0] if len(others) == 1 else None


def _is_name(node: Node, variable: Variable) -> bool:
    while node.op == "widen":
        node = node.args[0]
    return node.op == "name" and node.text == variable.name


def _assigned(body: list[Statement], name: str) -> Iterator[Node]:
    for statement in body:
        match statement:
            case Assign(variable, value) if variable.name == name:
                yield value
            case If(_, then, otherwise):
                yield from _assigned(then, name)
                yield from _assigned(otherwise, name)
            case For(_, _, _, _, inner) | While(_, inner):
                yield from _assigned(inner, name)
            case _:
                pass


def _noting(
    parts: KernelParts, body: list[Statement], value: Variable, place: Variable, counter: Variable
) -> Iterator[Statement]:
    """Statements that also note in which iteration an extremum was found."""
    note = Assign(place, counter.node)
    for statement in body:
        match statement:
            case Assign(variable, given) if variable is value and given.op == "select":
                condition, a, b = given.args
                if _is_name(a, value) == _is_name(b, value):
                    raise parts.values.error(
                        parts.nest.loop.header.terminator, f"{value.name} is replaced in several ways"
                    )
                if _is_name(b, value):
                    yield If(condition, [Assign(value, a), note])
                else:
                    yield If(Node("not", I1, (condition,)), [Assign(value, b), note])
            case Assign(variable, _) if variable is value:
                yield statement
                yield note
            case If(condition, then, otherwise):
                yield If(
                    condition,
                    list(_noting(parts, then, value, place, counter)),
                    list(_noting(parts, otherwise, value, place, counter)),
                )
            case For(_, _, _, _, inner) | While(_, inner):
                statement.body = list(_noting(parts, inner, value, place, counter))
                yield statement
            case _:
                yield statement


def _spread_inner(parts: KernelParts, loop: For, handed: set[str]) -> None:
    """Let the threads of a block share the loop inside, if what both hand on is the same, and nothing else is done."""
    before, inner = loop.body[:-1], loop.body[-1] if loop.body else None
    if not isinstance(inner, For) or not all(isinstance(s, Assign) for s in before):
        return
    if any(
        isinstance(s, Assign) and (s.variable.name in handed or names_in(s.value) & handed) for s in before
    ):
        return
    if any(g.extremum is not None for g in parts.nest.groups):
        return
    # What is stored may be read by later iterations of the loop inside, which threads would not wait for.
    if written_in(inner.body) or has_jump(inner.body, Break):
        return
    context = next(
        (c for c, k in parts.kinds.counting.items() if parts.variable(k.phi) is inner.variable), None
    )
    if context is None or context.parent is not parts.nest.loop:
        return
    found = groups_of(parts.nest.accesses, context, (Pattern.REDUCTION,))
    if isinstance(found, str):
        return
    variables = {v.name for g in found for p in g.phis if (v := parts.variable(p)) is not None}
    if variables <= handed:
        loop.spread, inner.spread = "blocks", "block"

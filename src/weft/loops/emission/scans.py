"""Loops whose iterations need what those before them have combined: running sums, and counters of what is kept.

Three kernels. In the first each thread runs one iteration as if it were the first one, without its stores, which gives
what the iteration adds; blocks then know what all their iterations before each add, and what the block adds as a whole.
The second, of one block, does so for the blocks. In the third each iteration has what it would have had in order.
"""

from __future__ import annotations

from msgspec.structs import replace

from weft.ir.types import I1, I64
from weft.loops.emission.arguments import (
    Target,
    arguments_of,
    assumptions_of,
    host_arguments,
    lines_of,
    told_of,
)
from weft.loops.emission.blocks import MOST_BLOCKS, THREADS, Held, HeldGroup, scan_block, shared_arrays
from weft.loops.emission.grids import thread_names
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Nest, accesses_of
from weft.loops.emission.plan import KernelPlan, Plan, Result
from weft.loops.emission.reductions import blocks_for, held_of, iterations_of
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tidying import without_last_values, without_unused
from weft.loops.emission.tree import (
    Argument,
    Assign,
    Buffer,
    Continue,
    For,
    If,
    Launch,
    Node,
    Statement,
    Variable,
    has_jump,
    number,
)

_THREAD = Node("thread", I64, text="x", is_nonnegative=True)
_LOCAL = Node("local", I64, is_nonnegative=True)


def scan_plan(nest: Nest, name: str, target: Target) -> Plan:
    """The kernels of a scan or a compaction.

    Raises
    ------
    EmissionError
        Something has no form.
    """
    dry = target.parts(replace(nest, dimensions=(), is_dry=True))
    _check_order(dry)
    names = tuple(Variable(dry.unique(n), I64, "s") for n in ("thread", "distance", "blocks"))
    thread, distance, blocks = names
    groups = tuple(
        HeldGroup(held_of(dry, g), g.combination, g.extremum, is_exact=g.is_exact) for g in nest.groups
    )
    values = [g.values[0] for g in groups]
    before = {v: dry.unique(f"{v.variable.name}_before") for v in values}
    inside = set(nest.loop.blocks)
    totals = {
        v: dry.unique(f"{v.variable.name}_end")
        for g, v in zip(nest.groups, values, strict=True)
        if any(u.block not in inside for u in g.phis[0].instruction_users())
    }
    count = iterations_of(dry)
    first = _steps(dry, name, groups, before, thread, distance, count)
    second = _between(dry, name, groups, totals, names, count)
    third, parts = _run(nest, name, target, groups, before)
    steps: list[Statement] = [Assign(blocks, blocks_for(count, THREADS, None))]
    steps += [
        Launch(k.name, k.arguments, k.block, blocks=n)
        for k, n in ((first, blocks.node), (second, number(1)), (third, blocks.node))
    ]
    length = Node("*", I64, (blocks.node, number(THREADS)), is_nonnegative=True)
    made = [
        Buffer(array, v.type, v.variable.reading, size)
        for v in values
        for array, size in ((v.buffer, blocks.node), (before[v], length), (totals.get(v), number(1)))
        if array is not None
    ]
    results = tuple(
        Result(v.variable.name, totals[v], is_truth=v.variable.type is I1, phi=g.phis[0])
        for g, v in zip(nest.groups, values, strict=True)
        if v in totals
    )
    for symbol, known in dry.numbers.items():
        parts.numbers.setdefault(symbol, known)
    return Plan(
        name, nest.report.line, (first, second, third), host_arguments(parts), told_of(parts),
        tuple(sections_of(parts)), tuple(made), steps, results, parts,
    )  # fmt: skip


def _check_order(parts: KernelParts) -> None:
    """That nothing which iterations hand on is read from where the same iteration has stored before.

    The first kernel stores nothing.
    """
    nest = parts.nest
    order = {i: n for n, i in enumerate(i for b in nest.loop.blocks for i in b.instructions)}
    accesses = accesses_of(nest)
    stores = [i for i in accesses if i.op == "store"]
    for load in (i for i in accesses if i.op == "load" and i in parts.variables.live):
        bases = {a.base for a in accesses[load]}
        for store in stores:
            if bases.isdisjoint(a.base for a in accesses[store]):
                continue
            alone = all(
                nest.loop.scope.loop_of(i.block) is nest.loop for i in (load, store) if i.block is not None
            )
            if not alone or order[store] < order[load]:
                raise parts.values.error(
                    load, "an iteration reads here what it has stored, for others to go on with"
                )


def _steps(
    parts: KernelParts,
    name: str,
    groups: tuple[HeldGroup, ...],
    before: dict[Held, str],
    thread: Variable,
    distance: Variable,
    count: Node,
) -> KernelPlan:
    """What each iteration adds, what those before it in its block add, and what the block adds."""
    values = [g.values[0] for g in groups]
    loop = Structure(parts, parts.values).spread()
    handed = {v.variable.name for v in values}
    loop.body = without_unused(loop.body, handed)
    body: list[Statement] = [Assign(v.variable, v.identity) for v in values]
    body += once(parts, loop)
    body += [*shared_arrays(groups, THREADS), Assign(thread, _LOCAL)]
    body += [v.put(v.shared, thread.node, v.variable.node) for v in values]
    is_first = Node(">", I1, (thread.node, number(0)))
    is_last = Node("==", I1, (thread.node, number(THREADS - 1)))
    block = Node("block", I64, is_nonnegative=True)
    for group, value in zip(groups, values, strict=True):
        body += scan_block(group, thread, distance, value.variable, THREADS)
        body.append(
            If(
                is_first,
                [Assign(value.variable, value.at(value.shared, _minus_one(thread)))],
                [Assign(value.variable, value.identity)],
            )
        )
        body.append(value.put(before[value], _THREAD, value.variable.node))
    body.append(If(is_last, [v.put(v.buffer, block, v.at(v.shared, thread.node)) for v in values]))
    buffers = [
        Argument(array, v.type, v.variable.reading, True, True)
        for v in values
        for array in (before[v], v.buffer)
    ]
    title = f"What each iteration of {lines_of(parts.nest)} adds, and all before it in its block."
    return KernelPlan(
        f"{name}_steps", title, assumptions_of(parts.nest), arguments_of(parts, body, buffers), body, (THREADS,),
    )  # fmt: skip


def _between(
    parts: KernelParts,
    name: str,
    groups: tuple[HeldGroup, ...],
    totals: dict[Held, str],
    names: tuple[Variable, ...],
    count: Node,
) -> KernelPlan:
    """One block: what blocks add becomes what all before them have combined."""
    thread, distance, blocks = names
    first, last, k = (Variable(parts.unique(n), I64, "s") for n in ("first", "last", "k"))
    each = Node("//", I64, (Node("+", I64, (blocks.node, number(MOST_BLOCKS - 1))), number(MOST_BLOCKS)))
    body = shared_arrays(groups, MOST_BLOCKS)
    body.append(Assign(thread, _LOCAL))
    body.append(Assign(first, Node("*", I64, (thread.node, each), is_nonnegative=True)))
    end = Node("call", I64, (Node("+", I64, (first.node, each)), blocks.node), "min")
    body.append(Assign(last, end))
    given: list[Argument] = []
    for known, group in zip(parts.nest.groups, groups, strict=True):
        (value,) = group.values
        variable = value.variable
        assert value.start is not None
        here = value.at(value.buffer, k.node)
        old = Variable(parts.unique(f"{variable.name}_here"), variable.type, variable.reading)
        body.append(Assign(variable, value.identity))
        body.append(
            For(
                k,
                first.node,
                last.node,
                1,
                [Assign(variable, group.both(variable.node, here))],
            )
        )
        body.append(value.put(value.shared, thread.node, variable.node))
        body += scan_block(group, thread, distance, variable, MOST_BLOCKS)
        if known.first is None:
            body.append(Assign(variable, value.start))
        else:
            is_read = Node(">", I1, (count, number(0)))
            body.append(If(is_read, [Assign(variable, value.start)], [Assign(variable, value.identity)]))
        earlier = value.at(value.shared, _minus_one(thread))
        is_later = Node(">", I1, (thread.node, number(0)))
        body.append(If(is_later, [Assign(variable, group.both(variable.node, earlier))]))
        moved: list[Statement] = [
            Assign(old, here),
            value.put(value.buffer, k.node, variable.node),
            Assign(variable, group.both(variable.node, old.node)),
        ]
        body.append(For(k, first.node, last.node, 1, moved))
        given.append(Argument(value.buffer, value.type, variable.reading, True, True))
        if value in totals:
            is_last = Node("==", I1, (thread.node, number(MOST_BLOCKS - 1)))
            body.append(If(is_last, [value.put(totals[value], number(0), variable.node)]))
            given.append(Argument(totals[value], value.type, variable.reading, True, True))
    given.append(Argument(blocks.name, I64, "s", False))
    title = f"One block: what blocks of {name}_steps add becomes what all before them have combined."
    return KernelPlan(f"{name}_blocks", title, (), arguments_of(parts, body, given), body, (MOST_BLOCKS,))


def _run(
    nest: Nest, name: str, target: Target, groups: tuple[HeldGroup, ...], before: dict[Held, str]
) -> tuple[KernelPlan, KernelParts]:
    """The iterations, each with what those before it have combined."""
    parts = target.parts(nest, (*before.values(), *(g.values[0].buffer for g in groups)))
    body = Structure(parts, parts.values).statements()
    guarded = next((s for s in body if isinstance(s, If) and not s.otherwise), None)
    if guarded is None or guarded is not body[-1]:
        raise parts.values.error(nest.loop.header.terminator, "this loop's test has no form in a kernel")
    block = Node("block", I64, is_nonnegative=True)
    given: list[Argument] = []
    start: list[Statement] = []
    for known, group in zip(nest.groups, groups, strict=True):
        variable, value = parts.variable(known.phis[0]), group.values[0]
        assert variable is not None
        start.append(
            Assign(variable, group.both(value.at(value.buffer, block), value.at(before[value], _THREAD)))
        )
        given += [
            Argument(array, value.type, value.variable.reading, True)
            for array in (before[value], value.buffer)
        ]
    guarded.then = without_last_values(without_unused([*start, *guarded.then], set()))
    title = f"One thread for each iteration of {lines_of(nest)}, with what those before it have combined."
    kernel = KernelPlan(
        f"{name}_kernel", title, assumptions_of(nest), arguments_of(parts, body, given), body, (THREADS,),
        thread_names(parts, body),
    )  # fmt: skip
    return kernel, parts


def once(parts: KernelParts, loop: For) -> list[Statement]:
    """A loop of which each thread takes one iteration at most, as a condition."""
    if has_jump(loop.body, Continue):
        return [loop]
    value = parts.values.stepped(_THREAD, loop.start, loop.step, loop.variable.type)
    sign = "<" if loop.step > 0 else ">"
    is_there = Node(sign, I1, (loop.variable.node, loop.stop))
    return [Assign(loop.variable, value), If(is_there, loop.body)]


def _minus_one(thread: Variable) -> Node:
    return Node("-", I64, (thread.node, number(1)), is_nonnegative=True)

"""Loops that add to the same element in each iteration: threads add up for themselves, and one of each block to it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.loops.reductions import Combination
from weft.ir.types import I1, I64, FloatType
from weft.loops.emission.arguments import (
    Target,
    arguments_of,
    assumptions_of,
    host_arguments,
    lines_of,
    told_of,
)
from weft.loops.emission.blocks import THREADS, Held, HeldGroup, combine_block, shared_arrays
from weft.loops.emission.combining import combined, identity
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Form, Nest
from weft.loops.emission.plan import KernelPlan, Plan
from weft.loops.emission.reductions import blocks_for, iterations_of
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tree import (
    Assign,
    For,
    If,
    Launch,
    Node,
    Statement,
    Store,
    Variable,
    While,
    assigned_in,
    names_in,
    number,
)

_WHOLE = {"add": Combination.ADD, "sub": Combination.ADD, "min": Combination.SMIN, "max": Combination.SMAX}


class _Element(Struct, frozen=True):
    """An element that iterations update, and what a thread has for it."""

    store: Store
    group: HeldGroup

    @property
    def held(self) -> Held:
        return self.group.values[0]


def element_plan(nest: Nest, name: str, target: Target) -> Plan | None:
    """The kernel of a loop that updates elements which are the same in each iteration; None if there are none.

    Raises
    ------
    EmissionError
        Something has no form.
    """
    parts = target.parts(replace(nest, dimensions=(), extents=(), form=Form.REDUCTION))
    if nest.loop not in parts.kinds.counting:
        return None
    loop = Structure(parts, parts.values).spread()
    changed = {v.name for v in assigned_in([loop])}
    found: list[_Element] = []
    loop.body = _taken(parts, loop.body, changed, found)
    if not found:
        return None
    groups = tuple(e.group for e in found)
    values = [e.held for e in found]
    thread, width, other, blocks = (
        Variable(parts.unique(n), I64, "s") for n in ("thread", "width", "other", "blocks")
    )
    body: list[Statement] = [Assign(v.variable, v.identity) for v in values]
    body += [loop, *shared_arrays(groups, THREADS), Assign(thread, Node("local", I64, is_nonnegative=True))]
    body += [v.put(v.shared, thread.node, v.variable.node) for v in values]
    body += combine_block(groups, thread, width, other, THREADS)
    updates: list[Statement] = [
        Store(e.store.target, e.held.at(e.held.shared, number(0)), e.store.update) for e in found
    ]
    body.append(If(Node("==", I1, (thread.node, number(0))), updates))
    title = f"Iterations of {lines_of(nest)}: threads share them, and each block updates what all of them do."
    kernel = KernelPlan(
        f"{name}_kernel", title, assumptions_of(nest), arguments_of(parts, body), body, (THREADS,)
    )
    count = iterations_of(parts)
    launch = Launch(kernel.name, kernel.arguments, kernel.block, blocks=blocks.node)
    steps: list[Statement] = [
        Assign(blocks, blocks_for(count, THREADS)),
        If(Node(">", I1, (count, number(0))), [launch]),
    ]
    sections = tuple(sections_of(parts))
    given = host_arguments(parts)
    return Plan(name, nest.report.line, (kernel,), given, told_of(parts), sections, (), steps, (), parts)


def _taken(
    parts: KernelParts, body: list[Statement], changed: set[str], found: list[_Element]
) -> list[Statement]:
    """Statements with sums of the thread's own in the place of updates of what is the same for all."""
    kept: list[Statement] = []
    for statement in body:
        match statement:
            case Store(target, value, update) if (
                update and not set().union(*map(names_in, target.args)) & changed
            ):
                element = _element(parts, statement, found)
                held, combination = element.held, element.group.combination
                assert combination is not None
                turned = parts.values.signed(value) if held.variable.reading == "s" else value
                kept.append(Assign(held.variable, combined(combination, held.variable.node, turned)))
            case If(condition, then, otherwise):
                ways = (_taken(parts, way, changed, found) for way in (then, otherwise))
                kept.append(If(condition, *ways))
            case For() | While():
                kept.append(replace(statement, body=_taken(parts, statement.body, changed, found)))
            case _:
                kept.append(statement)
    return kept


def _element(parts: KernelParts, store: Store, found: list[_Element]) -> _Element:
    """What a thread has for an element; stores to the same one share it."""
    for known in found:
        if known.store.target == store.target and known.store.update == store.update:
            return known
    type, reading = store.target.type, store.target.reading
    combination = _WHOLE[store.update]
    if isinstance(type, FloatType):
        combination = Combination.FADD
    stem = (
        f"{store.target.text}_sum"
        if store.update in ("add", "sub")
        else f"{store.target.text}_{store.update}"
    )
    variable = Variable(parts.unique(stem), type, reading)
    held = Held(variable, identity(combination, type), None, parts.unique(f"{stem}_all"), "")
    element = _Element(store, HeldGroup((held,), combination))
    found.append(element)
    return element

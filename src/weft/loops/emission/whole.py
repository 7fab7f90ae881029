"""Functions that the host runs as they are, with launches in the place of the loops that are kernels.

What kernels find, as sums, is a number of the host then, which other kernels are given, and which it may compute with:
in the precision of the program, so results are those of the function. An element that is read or written between
kernels is one of the array on the device. Arrays are copied as a whole, before and behind everything.

Precondition: every loop of the function is a kernel, or has kernels in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weft.analysis.sequential.scope import LoopContext, Scope
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.loops.emission.arguments import Target, host_arguments, told_of
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Form, Nest
from weft.loops.emission.plan import Plan
from weft.loops.emission.sections import Section
from weft.loops.emission.structure import Structure
from weft.loops.emission.tree import (
    Assign,
    If,
    Launch,
    Make,
    Node,
    Statement,
    Variable,
    number,
    substituted,
)


class WholeFunction(LoopContext):
    """A function as if it were a loop that runs once."""

    __slots__ = ()

    def __init__(self, scope: Scope) -> None:
        graph = scope.view.cfg
        loop = Loop(graph, list(range(len(graph.succs))), (0,), None)
        super().__init__(scope, loop, None, 0, "is none")

    def contains(self, other: LoopContext | None) -> bool:
        return other is not None


def whole_plan(nests: Sequence[Nest], name: str, target: Target, plans: Sequence[Plan]) -> Plan:
    """The function of some nests, with the kernels of their plans.

    Raises
    ------
    EmissionError
        The function does something that the host does not do.
    """
    scope = nests[0].loop.scope
    region = WholeFunction(scope)
    needed = {
        n.loop: tuple(p.value for p in p.parts.numbers.values()) for n, p in zip(nests, plans, strict=True)
    }
    opaque: dict[LoopContext, list[Statement]] = {n.loop: [] for n in nests}
    report = replace(nests[0].report, loop=region)
    whole = Nest(
        report, nests[0].accesses, (), (), (), {}, Form.HOST, (), False, opaque, needed=needed
    )  # fmt: skip
    reserved = {n for plan in plans for n in _names_of(plan)}
    parts = target.parts(whole, reserved)
    _check_loops(parts, scope, nests)
    for plan in plans:
        for base, array in plan.parts.arrays.items():
            known = parts.arrays.setdefault(base, array)
            known.is_written |= array.is_written
    for nest, plan in zip(nests, plans, strict=True):
        _name_results(parts, plan)
        opaque[nest.loop].extend(_statements(parts, nest, plan))
    structure = Structure(parts, parts.values)
    steps = structure.whole()
    sections = tuple(
        Section(a, None, None, True, a.is_written)
        for a in sorted(parts.arrays.values(), key=lambda a: a.order)
    )
    kernels = tuple(k for p in plans for k in p.kernels)
    told = told_of(parts)
    if len(sections) > 1 and any(s.is_written for s in sections):
        told = (*told, "It is assumed that the arrays do not overlap.")
    line = min(n.report.line for n in nests)
    return Plan(
        name, line, kernels, host_arguments(parts), told, sections, (), steps, (), parts,
        is_whole=True, returned=structure.returned,
    )  # fmt: skip


def _check_loops(parts: KernelParts, scope: Scope, nests: Sequence[Nest]) -> None:
    """That the host runs no loop that does without kernels."""
    for loop in scope.loops.values():
        if any(n.loop.contains(loop) for n in nests):
            continue
        if not any(loop.contains(n.loop) for n in nests):
            raise parts.values.error(loop.header.terminator, "a loop between the kernels is none")


def _names_of(plan: Plan) -> Iterator[str]:
    yield from (b.name for b in plan.buffers)
    yield from (s.variable.name for s in plan.steps if isinstance(s, Assign))


def _name_results(parts: KernelParts, plan: Plan) -> None:
    """A variable of the host for each number that kernels find."""
    for result in plan.results:
        phi = result.phi
        assert phi is not None
        reading = next(b.reading for b in plan.buffers if b.name == result.buffer)
        parts.results[phi] = Variable(parts.unique(result.name), phi.type, reading)


def _statements(parts: KernelParts, nest: Nest, plan: Plan) -> list[Statement]:
    """What the host does for a nest: launches, and what it takes of them."""
    parts.place = nest.loop.header
    known = {p.name: _given(parts, p.value) for p in plan.parts.numbers.values()}
    sizes = (s for s in plan.steps if isinstance(s, Assign))
    found: list[Statement] = [Assign(s.variable, substituted(s.value, known)) for s in sizes]
    found += [
        Make(replace(b, length=substituted(b.length, known), start=b.start and substituted(b.start, known)))
        for b in plan.buffers
    ]
    found += [_with(s, known) for s in plan.steps if not isinstance(s, Assign)]
    for result in plan.results:
        assert result.phi is not None
        buffer = next(b for b in plan.buffers if b.name == result.buffer)
        element = Node("index", buffer.type, (number(0),), buffer.name, reading=buffer.reading)
        variable = parts.results[result.phi]
        if result.is_truth:
            element = Node("!=", variable.type, (element, number(0, buffer.type)))
        found.append(Assign(variable, element))
    return found


def _with(statement: Statement, known: dict[str, Node]) -> Statement:
    """A statement of the host with what it is to give for numbers."""
    match statement:
        case Launch(_, arguments, _, threads, blocks):
            given = tuple(
                a if a.is_array or a.name not in known else replace(a, value=known[a.name]) for a in arguments
            )
            return replace(
                statement,
                arguments=given,
                threads=tuple(substituted(t, known) for t in threads),
                blocks=None if blocks is None else substituted(blocks, known),
            )
        case If(condition, then, otherwise):
            return If(
                substituted(condition, known),
                [_with(s, known) for s in then],
                [_with(s, known) for s in otherwise],
            )
        case _:
            raise AssertionError(statement)


def _given(parts: KernelParts, value: Value) -> Node:
    """What the host gives for a number that a kernel takes."""
    if isinstance(value, Instruction) and value.op == "load" and parts.variable(value) is None:
        return parts.values.operation(value)
    return parts.values.signed(parts.values.of(value))

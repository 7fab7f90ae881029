"""Parallel loops, and updates of elements that atomic operations do: one thread for each iteration."""

from __future__ import annotations

from weft.analysis.symbolic.expression import Expression, Maximum
from weft.ir.types import I64
from weft.loops.emission.arguments import (
    Target,
    arguments_of,
    assumptions_of,
    host_arguments,
    lines_of,
    told_of,
)
from weft.loops.emission.halos import with_halos
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Nest
from weft.loops.emission.plan import KernelPlan, Plan
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tiles import SIDE, tiled
from weft.loops.emission.tree import Assign, Launch, Node, Statement

BLOCKS: dict[int, tuple[int, ...]] = {1: (256,), 2: (32, 8), 3: (32, 4, 2)}
"""Threads of a block for each number of dimensions."""


def grid_plan(nest: Nest, name: str, target: Target) -> Plan:
    """The kernel of a parallel loop, and its launch.

    Raises
    ------
    EmissionError
        Something has no form.
    """
    kernel, launch, parts = grid_kernel(nest, name, target)
    sections = tuple(sections_of(parts))
    return Plan(
        name,
        nest.report.line,
        (kernel,),
        host_arguments(parts),
        told_of(parts),
        sections,
        (),
        [launch],
        (),
        parts,
    )


def grid_kernel(nest: Nest, name: str, target: Target) -> tuple[KernelPlan, Launch, KernelParts]:
    """The kernel of a parallel loop, how it is launched, and what it is made of."""
    parts = target.parts(nest)
    body = Structure(parts, parts.values).statements()
    grid = thread_names(parts, body)
    extents = extents_of(parts)
    block = BLOCKS[len(extents)]
    if len(nest.dimensions) == 2:
        squares = tiled(parts, body)
        if squares is not None:
            body, block = squares, (SIDE, SIDE)
        else:
            body = with_halos(parts, body, (block[0], block[1])) or body
    arguments = arguments_of(parts, body)
    title = f"One thread for each iteration of {lines_of(nest)}."
    kernel = KernelPlan(f"{name}_kernel", title, assumptions_of(nest), arguments, body, block, grid)
    return kernel, Launch(kernel.name, arguments, block, extents), parts


def extents_of(parts: KernelParts) -> tuple[Node, ...]:
    """How many threads each dimension needs."""
    at = parts.nest.loop.header.terminator
    return tuple(parts.values.number(without_zero(e), I64, at) for e in parts.nest.extents)


def thread_names(parts: KernelParts, body: list[Statement]) -> dict[str, str]:
    """What threads are called by dimension: the counters of the loops, where these are no more than that."""
    names: dict[str, str] = {}
    for statement in body:
        if not isinstance(statement, Assign):
            break
        value = statement.value
        while value.op in ("narrow", "widen"):
            value = value.args[0]
        if value.op == "thread":
            names[value.text] = statement.variable.name
    dimensions = "xyz"[: len(parts.nest.dimensions)]
    for dimension in dimensions:
        if dimension not in names:
            names[dimension] = parts.unique(f"thread_{dimension}")
    return {d: names[d] for d in dimensions}


def without_zero(extent: Expression) -> Expression:
    """A number of threads that may be negative where there are none."""
    atoms = extent.atoms()
    if extent.terms.keys() == {(atoms[0],)} if atoms else False:
        atom = atoms[0]
        if isinstance(atom, Maximum) and extent.terms[(atom,)] == 1 and len(atom.values) == 2:
            rest = [v for v in atom.values if v.constant != 0]
            if len(rest) == 1:
                return rest[0]
    return extent

"""Loops in order around kernels: the host runs them, and launches the kernels of the loops inside.

Arrays are copied once before the outermost of them and once behind it. On the host there are loops that count and
conditions of integers; what reads or writes elements, or hands on numbers, is no matter for it. Each kernel has its own
function then, which takes the counters of the loops around as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from weft.analysis.sequential.scope import LoopContext
from weft.ir import Instruction
from weft.ir.types import FloatType
from weft.loops.emission.arguments import Target, host_arguments, told_of
from weft.loops.emission.grids import grid_kernel
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.nests import Form, Nest
from weft.loops.emission.parameters import NumberParameter
from weft.loops.emission.plan import KernelPlan, Plan
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tree import Launch, Node, Statement, substituted
from weft.report.loops.nests import LoopReport


def host_plan(around: LoopReport, nests: Sequence[Nest], name: str, target: Target) -> Plan:
    """A loop that the host runs, with the kernels of parallel loops in it.

    Raises
    ------
    EmissionError
        The loop does something that the host does not do.
    """
    opaque: dict[LoopContext, list[Statement]] = {n.loop: [] for n in nests}
    whole = Nest(around, nests[0].accesses, (), (), (), {}, Form.HOST, (), False, opaque)
    parts = target.parts(whole)
    kernels: list[KernelPlan] = []
    for number, nest in enumerate(nests, 1):
        own = name if number == 1 else f"{name}_{number}"
        kernel, launch, inner = grid_kernel(nest, own, target)
        kernels.append(kernel)
        known = {p.name: _given(parts, nest, p) for p in inner.numbers.values()}
        parts.arrays.update({b: a for b, a in inner.arrays.items() if b not in parts.arrays})
        given = tuple(a if a.is_array else replace(a, value=known[a.name]) for a in launch.arguments)
        threads = tuple(substituted(t, known) for t in launch.threads)
        opaque[nest.loop].append(Launch(launch.kernel, given, launch.block, threads))
    steps = Structure(parts, parts.values).host()
    sections = tuple(sections_of(parts))
    return Plan(
        name,
        around.line,
        tuple(kernels),
        host_arguments(parts),
        told_of(parts),
        sections,
        (),
        steps,
        (),
        parts,
    )


def _given(parts: KernelParts, nest: Nest, number: NumberParameter) -> Node:
    """What the host gives for a number that a kernel takes."""
    value = number.value
    is_own = isinstance(value, Instruction) and value.block in parts.inside
    if isinstance(value, Instruction) and value.op == "load":
        return parts.number(value)
    if is_own and parts.is_computed(value):
        if isinstance(value.type, FloatType) and value.type.kind != "double":
            raise parts.values.error(value, "the host has no numbers of this type")
        parts.place = nest.loop.header
        return parts.values.signed(parts.values.of(value))
    return parts.outer(value)

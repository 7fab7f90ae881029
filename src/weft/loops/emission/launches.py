"""What files of all languages say of a kernel: its parameters, the bytes that it touches, how it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.analysis.symbolic.expression import Expression, Maximum, floor_division, maximum, minimum
from weft.ir.types import I64
from weft.loops.emission.kernel import ArrayParameter, KernelParts, NumberParameter
from weft.loops.emission.nests import Nest
from weft.loops.emission.structure import Structure
from weft.loops.emission.subscripts import Shape
from weft.loops.emission.tree import Node, Statement

BLOCKS = {1: (256,), 2: (32, 8), 3: (32, 4, 2)}
"""Threads of a block for each number of dimensions."""

_NO_SIZE = 1 << 30
"""A greater number of elements is that of all which a type of index could reach."""

HINT = "the report says what the loop does (weft loops without --emit)"


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel of a file.

    Parameters
    ----------
    name, line
        The kernel, and the line of its loop.
    parameters
        The names of its parameters.
    launcher
        The function for the host; empty in OpenCL C.
    """

    name: str
    line: int
    parameters: tuple[str, ...]
    launcher: str


@dataclass(frozen=True, slots=True)
class Section:
    """The elements of an array that a kernel touches, None where that is not known."""

    array: ArrayParameter
    low: Node | None
    end: Node | None
    is_read: bool
    is_written: bool


def sections_of(parts: KernelParts) -> list[Section]:
    """What a kernel touches of each of its arrays."""
    found: list[Section] = []
    given = parts.nest.report.parameters
    facts = parts.made.facts(parts.nest.loop.scope, parts.nest.loop.header)
    for array in sorted(parts.arrays.values(), key=lambda a: a.order):
        size = max(1, parts.made.program.module.layout.store_size(array.element))
        mine = [(s, w) for w, group in ((False, given.inputs), (True, given.outputs)) for s in group]
        mine = [(s, w) for s, w in mine if s.base is array.base]
        ends: list[Node | None] = []
        for upper in (False, True):
            values = [s.end if upper else s.low for s, _ in mine]
            if not values or any(v is None for v in values):
                ends.append(None)
                continue
            known = [v for v in values if v is not None]
            value = _extreme(known, upper)
            value = floor_division(value + (size - 1 if upper else 0), size)
            if upper and value.constant is not None and value.constant > _NO_SIZE:
                ends.append(None)
                continue
            if not upper and not facts.is_nonnegative(value):
                value = maximum([value, Expression({})])
            ends.append(parts.values.number(value, I64, parts.nest.loop.header.terminator))
        found.append(Section(array, ends[0], ends[1], any(not w for _, w in mine), any(w for _, w in mine)))
    return found


def _extreme(values: list[Expression], upper: bool) -> Expression:
    return maximum(values) if upper else minimum(values)


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


def parts_of(
    nest: Nest, shapes: Mapping[str, Shape], unsigned: Mapping[str, bool] | None = None
) -> tuple[KernelParts, list[Statement]]:
    """A kernel, and its body.

    Parameters
    ----------
    nest
        The loop.
    shapes
        The dimensions of arrays, for languages that have them.
    unsigned
        Whether arrays are of unsigned integers, where that is known and `shapes` does not say it.
    """
    parts = KernelParts(nest, shapes, HINT, dict(unsigned or {}))
    body = Structure(parts, parts.values).statements()
    return parts, body


def lines_of(nest: Nest) -> str:
    """The lines of the program that a kernel is made of."""
    lines = {i.loc.line for b in nest.loop.blocks for i in b.instructions if i.loc is not None and i.loc.line}
    low, high = (min(lines), max(lines)) if lines else (nest.report.line, nest.report.line)
    return f"line {low}" if low == high else f"lines {low} to {high}"


def parameters_of(parts: KernelParts) -> list[ArrayParameter | NumberParameter]:
    """Parameters in the order of the program."""
    found: list[ArrayParameter | NumberParameter] = [*parts.arrays.values(), *parts.numbers.values()]
    return sorted(found, key=lambda p: p.order)

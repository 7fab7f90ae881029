"""The kernel as text again: spill code at reads and writes of spilled values, slots, and what finds their addresses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from weft.ir.intrinsics import SPILL_SLOTS
from weft.ptx.flow import flow_of
from weft.ptx.regalloc.allocation import Allocation, Problem
from weft.ptx.regalloc.intervals import pressure_of
from weft.ptx.regalloc.liveness import liveness_of
from weft.ptx.regalloc.places import Names
from weft.ptx.regalloc.reuse import everywhere, reused
from weft.ptx.regalloc.rewrite import Inserted, SpillCode, rewrite, unused_name
from weft.ptx.regalloc.sizes import register_words
from weft.ptx.syntax import Directive, Function, PointerTo, Variable
from weft.spill.convergence import Sharing
from weft.spill.kernel import Kernel
from weft.spill.layout import setup
from weft.spill.placing import Placement
from weft.spill.policies import Choice, Row
from weft.spill.settings import Settings

_PREFIXES = {8: "%b", 16: "%h", 32: "%r", 64: "%rd", 128: "%q"}
_VOLATILE_LOCAL_SINCE = 75


@dataclass(frozen=True, slots=True)
class Written:
    """A kernel with its spill code.

    Parameters
    ----------
    function
        The kernel.
    inserted
        Instructions that were inserted.
    pressure
        Registers of 32 bits that it needs, counted again from its text.
    """

    function: Function
    inserted: list[Inserted]
    pressure: int


def write_kernel(
    kernel: Kernel,
    settings: Settings,
    problem: Problem,
    allocation: Allocation,
    choices: Mapping[str, Choice],
    placement: Placement,
    bases: tuple[bool, bool],
) -> Written:
    """Write a kernel by what was decided; `bases` says which base addresses are kept in registers."""
    names, layout = _names(kernel), placement.shared
    number = problem.budget
    if not settings.count_bases:
        number = max((w + 1 for sides in allocation.scratch for ws in sides for w in ws), default=number)
    warp_base = thread_base = None
    if bases[0]:
        warp_base = names.register((number,), 32)
        number += 1
    if bases[1]:
        thread_base = names.register((number,), 32)
    rows = kernel.block is not None and kernel.block[1:] == (1, 1)
    code = SpillCode(
        placement.places,
        names,
        setup(names, layout, rows=rows, warp_base=warp_base, thread_base=thread_base),
        _variables(names, layout.size, placement.local),
        warp_base,
        thread_base,
        _syncs(kernel, choices),
    )
    reuse = reused(problem, allocation) if settings.reuse else everywhere(problem, allocation)
    made = rewrite(problem, allocation, reuse, code)
    function = _sized(made.function, kernel, settings, bool(layout.size))
    function = dataclasses.replace(function, parameters=_parameters(kernel))
    pressure = pressure_of(liveness_of(flow_of(function)), register_words(function)).words
    return Written(function, made.inserted, pressure)


def _names(kernel: Kernel) -> Names:
    function = kernel.function
    prefixes = {bits: unused_name(function, prefix, frozenset()) for bits, prefix in _PREFIXES.items()}
    guarded = {bits: unused_name(function, f"{prefix}g", frozenset()) for bits, prefix in prefixes.items()}
    return Names(
        prefixes,
        guarded,
        unused_name(function, "weft_depot", frozenset()),
        unused_name(function, SPILL_SLOTS, frozenset(v.name for v in kernel.module.variables())),
        volatile_local=kernel.arch.capability >= _VOLATILE_LOCAL_SINCE,
    )


def _sized(function: Function, kernel: Kernel, settings: Settings, has_slots: bool) -> Function:
    """The kernel for launches that there are slots for."""
    if settings.block is not None:
        kept = tuple(d for d in function.directives if d.name not in ("maxntid", "reqntid"))
        return dataclasses.replace(function, directives=(*kept, Directive("reqntid", settings.block)))
    if has_slots and function.directive("reqntid") is None and function.directive("maxntid") is None:
        most = Directive("maxntid", (kernel.threads, 1, 1))
        return dataclasses.replace(function, directives=(*function.directives, most))
    return function


def _parameters(kernel: Kernel) -> tuple[Variable, ...]:
    """The parameters, those that addresses come from marked, which cannot be seen where these are spilled."""
    if any(p.pointer is not None for p in kernel.source.parameters):
        return kernel.source.parameters
    return tuple(
        dataclasses.replace(p, pointer=PointerTo(align=1)) if number in kernel.facts.pointers else p
        for number, p in enumerate(kernel.source.parameters)
    )


def _syncs(kernel: Kernel, choices: Mapping[str, Choice]) -> frozenset[int]:
    """The stores that come behind a ``bar.warp.sync``."""
    return frozenset(
        number
        for name, choice in choices.items()
        if choice.row in (Row.UNIFORM, Row.AFFINE_BASE) and choice.sharing is Sharing.SYNCED
        for number in kernel.writers[name]
        if not kernel.convergence.converged[number]
    )


def _variables(names: Names, shared: int, local: int) -> list[Variable]:
    found = []
    if local:
        found.append(Variable("local", "b8", names.depot, align=8, extents=(local,)))
    if shared:
        found.append(Variable("shared", "b8", names.slots, align=16, extents=(shared,)))
    return found

"""Histograms that all cores share: which loops have that form, and how they get it.

Iterations may run in any order but for updates of elements that may be the same, ``h[f(i)] += w(i)``, in the loop or in
loops inside, each by an operation that may be done in any order: on integers, and on floats where sums may be formed in
another order. The bytes in which the elements lie are known before the loop: all that there are of an array, or its
section.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.known_memory import size_of
from weft.analysis.sequential.run_time_tests import RunTimeTests, is_known_before
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import section_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.ir import TRUE, BasicBlock, Builder, Value
from weft.ir.builder import const_int
from weft.ir.types import IntType
from weft.passes.forms.lock_step_form import updates_of
from weft.transform.loops.build_tests import Computed
from weft.transform.loops.private_updates import Update, mark_private, root_outside


class PrivateUpdate(Struct, frozen=True):
    """An update, and the addresses between which its elements lie."""

    update: Update
    begin: Expression
    end: Expression


def private_updates(
    accesses: Accesses, loop: LoopContext, verdict: LoopVerdict, tests: RunTimeTests, *, reassociate: bool
) -> tuple[PrivateUpdate, ...]:
    """The updates of a loop whose iterations do not meet otherwise; none if it is another one."""
    dependences = verdict.dependences
    if dependences is None or not dependences.found or dependences.opaque or not dependences.is_complete:
        return ()
    program = accesses.reconstruction.program
    updates, rest = updates_of(dependences.found, loop, program.module.layout)
    if rest:
        return ()
    found: list[PrivateUpdate] = []
    inside = set(loop.blocks)
    for update in updates:
        allowed = reassociate or bool({"reassoc", "fast"} & set(update.operation.flags))
        if not isinstance(update.load.type, IntType) and not allowed:
            return ()
        (access,) = (a for a in accesses.of(loop) if isinstance(a, Access) and a.instruction is update.store)
        if access.base is None or root_outside(update.store.pointer, inside) is None:
            return ()
        low, end = section_of(accesses, access, loop)
        base = as_expression(access.base)
        size = size_of(accesses.reconstruction, loop, access.base, tests.nonnegative)
        if size is not None:
            # A section may be what an index of its type can be.
            low, end = as_expression(0), size
        if low is None or end is None:
            return ()
        if not all(is_known_before(accesses, s, loop) for e in (base, low, end) for s in e.symbols()):
            return ()
        found.append(PrivateUpdate(update, base + low, base + end))
    return tuple(found)


def mark_updates(
    accesses: Accesses, loop: LoopContext, header: BasicBlock, updates: Sequence[PrivateUpdate]
) -> None:
    """Mark the updates of a loop, in front of it."""
    inside = set(loop.blocks)
    (before,) = (b for b in header.predecessors if b not in inside)
    builder = Builder(before=before.terminator)
    computed = Computed(builder, accesses.reconstruction, loop)
    bounds = [(computed.value(u.begin), computed.value(u.end)) for u in updates]
    valid: Value = TRUE
    for one in computed.valid:
        valid = one if valid is TRUE else builder.binary("and", valid, one)
    nowhere = const_int(0)
    for private, (begin, end) in zip(updates, bounds, strict=True):
        if valid is not TRUE:
            begin, end = (builder.select(valid, v, nowhere) for v in (begin, end))
        mark_private(builder, private.update, begin, end, inside)

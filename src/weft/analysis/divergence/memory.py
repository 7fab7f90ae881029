"""Transfer functions of what meets memory or addresses (Moll, §6.5.2); ``docs/memory_model.md`` states the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft.analysis.divergence.alloca_joins import is_masked_away
from weft.analysis.divergence.queries import like, query_shape
from weft.analysis.divergence.threads import Scope
from weft.analysis.memory.alias import locate
from weft.analysis.memory.stack_objects import Site
from weft.analysis.shapes import Shape
from weft.ir import ConstNull, GlobalVariable, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.work_item_names import meaning_of

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine


def visit_load(engine: Engine, load: Instruction) -> Shape:
    """Uniform from a uniform address, unless the load is atomic, volatile or of an object that threads differ in."""
    pointer = load.pointer
    address = engine.shape(pointer, load)
    if address.is_bottom:
        return address
    query = _built_in_variable(engine, load, pointer)
    if query is not None:
        return query
    if load.is_ordered or not engine.leads_to_stack(pointer).isdisjoint(engine.varying_objects):
        return engine.varying(load)
    if engine.threads.scope is Scope.GRID and not (engine.leads_to_stack(pointer) or _never_changes(load)):
        # Groups run one after the other, and one may write what the next one reads.
        return engine.varying(load)
    return like(engine, load, address)


def _built_in_variable(engine: Engine, load: Instruction, pointer: Value) -> Shape | None:
    """What a load from one of SPIR-V's built-in variables tells; a vector of ids has a component for each dimension."""
    location = locate(pointer, engine.layout)
    variable = location.base
    row = meaning_of(variable.name) if isinstance(variable, GlobalVariable) else None
    if row is None or location.terms:
        return None
    return query_shape(engine, load, row.meaning, location.offset // engine.layout.size(load.type))


def _never_changes(load: Instruction) -> bool:
    """Whether the memory is not written while the kernel runs."""
    base = locate(load.pointer, DataLayout()).base
    if "invariant.load" in load.metadata:
        return True
    if isinstance(base, GlobalVariable):
        return base.is_constant
    row = meaning_of(base.callee_name or "") if isinstance(base, Instruction) else None
    return row is not None and row.invariant_pointer


def visit_store(engine: Engine, store: Instruction) -> None:
    """What is stored differently makes the stack objects varying that it may touch ([DA-STORE-D])."""
    value, pointer = store.operands
    sites = engine.leads_to_stack(pointer) - engine.varying_objects
    if sites:
        differs = engine.leads_to_stack(value) or engine.dims(value, store) or engine.dims(pointer, store)
        _write(engine, store, sites, bool(differs))


def visit_block_write(engine: Engine, call: Instruction) -> None:
    """As a store, for memset, memcpy and memmove."""
    target, source, *_ = call.args
    sites = engine.leads_to_stack(target) - engine.varying_objects
    if sites:
        differs = any(engine.dims(v, call) for v in call.args)
        _write(
            engine,
            call,
            sites,
            differs or not engine.leads_to_stack(source).isdisjoint(engine.varying_objects),
        )


def _write(engine: Engine, write: Instruction, sites: Iterable[Site], differs: bool) -> None:
    """A write to one of `sites`; threads that control flow keeps away from it are a matter of `alloca_joins`."""
    for site in sites:
        if differs or is_masked_away(engine, write, site):
            engine.make_varying(site)


def visit_alloca(engine: Engine, alloca: Instruction) -> Shape:
    """An object's address is a place of its own site: the same one in every thread."""
    return engine.uniform(alloca, alloca.attrs.get("align") or 1)


def visit_atomic(engine: Engine, atomic: Instruction) -> Shape:
    """Threads do it one after the other, and each sees what those before it left."""
    return engine.varying(atomic)


def visit_pointer_compare(engine: Engine, compare: Instruction) -> Shape | None:
    """A comparison; where the number of a private address matters, it is varying.

    Equality of places, and with null, is a matter of site and offset alone. Anything else compares numbers, which
    are different for every thread.
    """
    from weft.analysis.divergence.engine import visit_ordinary

    if engine.objects.sites:
        sides = [engine.leads_to_stack(v) for v in compare.operands]
        if any(sides):
            by_place = compare.predicate in ("eq", "ne") and all(
                sites or isinstance(v, ConstNull) for sites, v in zip(sides, compare.operands, strict=True)
            )
            if not by_place or any(not sites.isdisjoint(engine.varying_objects) for sites in sides):
                return engine.varying(compare)
    return visit_ordinary(engine, compare)


def visit_pointer_to_integer(engine: Engine, cast: Instruction) -> Shape | None:
    """The number of a private address is different for every thread."""
    from weft.analysis.divergence.engine import visit_ordinary

    if engine.leads_to_stack(cast.operands[0]):
        return engine.varying(cast)
    return visit_ordinary(engine, cast)

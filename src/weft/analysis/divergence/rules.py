"""Transfer functions of the instructions that are more than a function of their operands (Moll §6.5)."""

from __future__ import annotations

from weft.analysis.divergence.calls import is_barrier, visit_call
from weft.analysis.divergence.engine import Engine, Visit, visit_ordinary
from weft.analysis.divergence.memory import (
    visit_alloca,
    visit_atomic,
    visit_load,
    visit_pointer_compare,
    visit_pointer_to_integer,
    visit_store,
)
from weft.analysis.divergence.threads import Scope
from weft.analysis.shapes import BOTTOM, Shape
from weft.ir import Instruction, Poison


def visit_phi(engine: Engine, phi: Instruction) -> Shape | None:
    """The join of what arrives; varying where threads arrive apart with different values ([DA-PHI-D]).

    Poison does not count: whatever is claimed of it is true. A value that threads bring along all paths alike
    stays what it is.
    """
    assert phi.block is not None
    domain, block = engine.threads.domain, engine.blocks[phi.block]
    shape = BOTTOM
    arriving: dict[int, object] = {}
    for value, source in phi.incoming():
        if isinstance(value, Poison) or source not in engine.blocks:
            continue
        shape = domain.join(shape, engine.arriving(phi, value, source))
        arriving[engine.blocks[source]] = value
    shadow = phi.shadow
    if not arriving and shadow is None:
        return engine.uniform(phi)
    dims = engine.control.joined(block, arriving) if block in engine.control.joins else 0
    if shadow is not None and not isinstance(shadow, Poison):
        passive = engine.control.control(block)
        if passive:
            # Threads that are elsewhere get the shadow ([DA-SPHI-D]), as if they arrived by an edge of their own.
            shape = domain.join(shape, engine.shape(shadow, phi))
            if any(value is not shadow and value != shadow for value in arriving.values()):
                dims |= passive
    return engine.operands.vary(shape, engine.bits(phi), dims) if dims else shape


def visit_branch(engine: Engine, branch: Instruction) -> None:
    """A branch is divergent when threads disagree on its condition and that matters."""
    if branch.operands and len(set(branch.blocks)) > 1:
        dims = engine.dims(branch.operands[0], branch) | _unguided(engine, branch)
        if dims:
            engine.diverge(branch, dims)


def _unguided(engine: Engine, branch: Instruction) -> int:
    """Along which dims passive threads may leave a predicated block another way than the active ones.

    The active threads of their own lane group guide them (Moll, Def. 13), so those have to be in the thread set with
    them and must not wait at a barrier of the block, which passive threads pass by.
    """
    block = branch.block
    assert block is not None
    dims = engine.control.predicated[engine.blocks[block]]
    if dims and engine.threads.scope is Scope.LANES and not any(is_barrier(i) for i in block.instructions):
        return 0
    return dims


def visit_member(engine: Engine, instruction: Instruction) -> Shape | None:
    """Aggregates and vectors; a private address that comes out of one is a number, another one for each thread."""
    if engine.objects.sites and any(engine.leads_to_stack(v) for v in instruction.operands):
        return engine.varying(instruction)
    return visit_ordinary(engine, instruction)


def visit_return(engine: Engine, ret: Instruction) -> None:
    """Several returns are a φ of what they return."""
    assert ret.block is not None
    if ret.operands:
        if engine.returns > 1:
            engine.returned_apart |= engine.control.parted[engine.blocks[ret.block]]
        shape = engine.shape(ret.operands[0], ret)
        engine.returned = engine.threads.domain.join(engine.returned, shape)


RULES: dict[str, Visit] = {
    "phi": visit_phi,
    "br": visit_branch,
    "switch": visit_branch,
    "ret": visit_return,
    "load": visit_load,
    "store": visit_store,
    "alloca": visit_alloca,
    "atomicrmw": visit_atomic,
    "cmpxchg": visit_atomic,
    "icmp": visit_pointer_compare,
    "ptrtoint": visit_pointer_to_integer,
    "ptrtoaddr": visit_pointer_to_integer,
    "call": visit_call,
    **dict.fromkeys(
        ("insertvalue", "extractvalue", "insertelement", "extractelement", "shufflevector"), visit_member
    ),
}

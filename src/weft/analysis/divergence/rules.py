"""Transfer functions of the instructions that are more than a function of their operands (Moll §6.5)."""

from __future__ import annotations

from weft.analysis.divergence.calls import visit_call
from weft.analysis.divergence.engine import Engine, Visit
from weft.analysis.divergence.memory import (
    visit_alloca,
    visit_atomic,
    visit_load,
    visit_pointer_compare,
    visit_pointer_to_integer,
    visit_store,
)
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
        dims = engine.dims(branch.operands[0], branch)
        if dims:
            engine.diverge(branch, dims)


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
}

"""What an iteration reads back of what it has stored itself, for values that iterations hand on.

    b[i] = s; s += b[i]

is no sum of elements that are known before: what is read is computed from ``s``. An iteration may store what it was
handed, or store under a condition on it, and read that before it hands the next value on.
"""

from __future__ import annotations

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.replacements import Shape, sources_of
from weft.analysis.sequential.scope import LoopContext
from weft.ir import Instruction


def read_back(accesses: Accesses, loop: LoopContext, phi: Instruction, shape: Shape) -> Access | None:
    """A load by which a φ's next value depends on a store of the same iteration, and that on the φ."""
    needed = sources_of(phi.incoming_value(shape.latch), shape)
    own = [a for a in accesses.of(loop) if isinstance(a, Access)]
    loads = [a for a in own if not a.is_write and a.instruction in needed]
    stores = [a for a in own if a.is_write]
    if not loads or not stores:
        return None
    branches = (b.terminator for b in shape.blocks if b is not loop.header)
    decides = any(phi in sources_of(t.operands[0], shape) for t in branches if t.operands)
    order = {i: n for n, i in enumerate(i for b in shape.blocks for i in b.instructions)}
    for store in stores:
        given = () if store.instruction.op == "call" else store.instruction.operands
        if not decides and given and not any(phi in sources_of(v, shape) for v in given):
            continue
        for load in loads:
            if _may_meet(store, load) and _may_be_behind(load, store, order, loop):
                return load
    return None


def _may_meet(store: Access, load: Access) -> bool:
    if store.base is not None and load.base is not None and store.base is not load.base:
        return False
    distance = (load.offset - store.offset).constant
    written, read = store.size.constant, load.size.constant
    if store.base is None or load.base is None or distance is None or written is None or read is None:
        return True
    return -read < distance < written


def _may_be_behind(load: Access, store: Access, order: dict[Instruction, int], loop: LoopContext) -> bool:
    """Whether a load may follow a store in one iteration."""
    places = order.get(store.instruction), order.get(load.instruction)
    if places[0] is None or places[1] is None or store.loop is not loop or load.loop is not loop:
        return True
    return places[0] < places[1]

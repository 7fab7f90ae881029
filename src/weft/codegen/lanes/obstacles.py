"""What keeps a function from being vectorized, and what is cleared away before anyone asks.

`clear_obstacles` is a pass. Precondition: P-LLVM without predicates, shadows and guards. Postcondition: those of
`weft.transform.drop_unreachable`, node splitting (`weft.transform.loops.reducible`), scalar replacement
(`weft.transform.aggregates.replacement`) and loops that write blocks (`weft.transform.aggregates.block_loops`).
Preserves the program under FR.
"""

from __future__ import annotations

from weft.codegen.widen.compare_exchange import is_old_value
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Function
from weft.ir.cfg_view import cfg_of
from weft.transform.aggregates.block_loops import write_in_loops
from weft.transform.aggregates.replacement import take_apart
from weft.transform.drop_unreachable import drop_unreachable_edges
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.reducible import make_reducible
from weft.transform.loops.simplify_loops import simplify_loops


def clear_obstacles(function: Function) -> bool:
    """Drop edges to ``unreachable``, which count as control flow; give loops one entry; replace vectors and aggregates.

    What is written in blocks to stack objects is written element by element.

    Tells whether there were any.
    """
    dropped = drop_unreachable_edges(function) > 0
    split = make_reducible(function)
    if split:
        simplify_loops(function)
        close_loops(function)
    replaced = take_apart(function)
    return write_in_loops(function) or replaced or split or dropped


def why_not_vectorized(function: Function) -> str | None:
    """Why the function, once it is cleared, has to run lane by lane; None when it can be vectorized."""
    if not loop_forest(cfg_of(function).cfg).is_reducible:
        return "its control flow is irreducible"
    returns = sum(b.terminator.op == "ret" for b in function.blocks)
    if returns != 1:
        return f"it has {returns} returns"
    for instruction in function.instructions():
        types = [instruction.type, *(v.type for v in instruction.operands)]
        exchanges = instruction.op == "cmpxchg" or is_old_value(instruction)
        if any(t.is_vector or t.is_aggregate for t in types) and not exchanges:
            return "it holds short vectors or aggregates"
        if instruction.op == "alloca" and not isinstance(instruction.operands[0], ConstInt):
            return "it has a stack object of variable size"
    return None

"""What calls give: minima, maxima and magnitudes, and results of functions that have a body (Juravle, §8.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.sequential.scope import Scope
from weft.analysis.symbolic.expression import Expression, maximum, minimum
from weft.ir import Instruction

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction


def called_value(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    """The result of a call, in the expressions of the caller; None where it is a symbol."""
    name = value.callee_name or ""
    for stem, take in (("min", minimum), ("max", maximum)):
        if name.startswith(f"llvm.{'s' if signed else 'u'}{stem}."):
            return take([made.operand(scope, value, v, signed) for v in value.args])
    if name.startswith("llvm.abs.") and signed and getattr(value.args[1], "value", 0) == 1:
        inner = made.operand(scope, value, value.args[0])
        return maximum([inner, -inner])
    child = scope.child(value)
    if child is not None:
        returns = [b.terminator for b in child.function.blocks if b.terminator.op == "ret"]
        if len(returns) == 1 and returns[0].operands:
            assert returns[0].block is not None
            found = made.at(child, returns[0].operands[0], returns[0].block, signed)
            here = scope.loop_of(value.block) if value.block is not None else None
            if all(s.loop is None or s.loop.contains(here) for s in found.symbols()):
                return found
    return None

"""Numbers that a loop folds into one, of which order does not matter: sums, minima and maxima; of floats by a promise.

A φ of the header is combined with a term in each iteration, by an addition, or by a comparison and the choice between
the two; of integers also by other operations. Of these none takes so long that parts of a fold would be worth their own
ends: labels of ten neighbours took as long in four parts.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import Builder, ConstFloat, Instruction, Value
from weft.ir.types import FloatType, IntType

_KEPT = ("nsz", "arcp", "contract", "afn", "reassoc")
"""What may be promised of partial sums: they may be infinite where the sum is not."""

_SMALLER_OR_GREATER = frozenset(("olt", "ogt", "ole", "oge", "ult", "ugt", "ule", "uge"))


_OF_INTEGERS = frozenset(("add", "and", "or", "xor"))
_EXTREMA = tuple(f"llvm.{name}." for name in ("smin", "smax", "umin", "umax"))


class Fold(Struct, frozen=True):
    """A φ of the header with which each iteration combines a term.

    Parameters
    ----------
    phi, term
        What is combined.
    operations
        By what: the last is the φ in the next iteration.
    """

    phi: Instruction
    term: Value
    operations: tuple[Instruction, ...]

    @property
    def result(self) -> Instruction:
        """The φ in the next iteration."""
        return self.operations[-1]

    def neutral(self, start: Value) -> Value:
        """What a further part of a fold that begins with `start` begins with."""
        if self.result.op == "fadd":
            assert isinstance(self.phi.type, FloatType)
            return ConstFloat.of(self.phi.type, -0.0)
        # Taken once more it changes nothing.
        return start

    def combined(self, builder: Builder, term: Value, total: Value) -> Value:
        """Build the combination of a term, or a part, with another part."""
        values: dict[Value, Value] = {self.term: term, self.phi: total}
        for operation in self.operations:
            copy = operation.clone()
            for index, operand in enumerate(operation.operands):
                copy.set_operand(index, values.get(operand, operand))
            copy.flags = self._flags(operation)
            values[operation] = builder.insert(copy)
        return values[self.result]

    def _flags(self, operation: Instruction) -> tuple[str, ...]:
        own = operation.flags
        if operation.op != "fadd":
            return own
        return _KEPT if "fast" in own else tuple(flag for flag in own if flag in _KEPT)


def fold_of(phi: Instruction, loop: CountedLoop, *, integers: bool = False) -> Fold | None:
    """How a loop folds into a φ of its header; None if it does not, or if more is done with it inside.

    Folds of `integers` are only asked for where these run in lanes.
    """
    result = phi.incoming_value(loop.latch)
    if not isinstance(result, Instruction) or result.block is not loop.latch:
        return None
    operations = _of_integers(phi, result) if integers and isinstance(phi.type, IntType) else None
    operations = operations or _operations(phi, result)
    if operations is None:
        return None
    users = {user for value in (phi, *operations) for user in value.instruction_users()}
    if {user for user in users if user.block in loop.blocks} != {phi, *operations}:
        return None
    first = operations[0]
    terms = {v for v in (first.args if first.op == "call" else first.operands) if v is not phi}
    return Fold(phi, terms.pop(), operations) if len(terms) == 1 else None


def _of_integers(phi: Instruction, result: Instruction) -> tuple[Instruction, ...] | None:
    """What combines an integer φ with something."""
    if result.op in _OF_INTEGERS or (result.callee_name or "").startswith(_EXTREMA):
        return (result,) if result.operands.count(phi) == 1 else None
    found = _chosen(phi, result, "icmp")
    return found if found is not None and found[0].predicate not in ("eq", "ne") else None


def _chosen(phi: Instruction, result: Instruction, compared: str) -> tuple[Instruction, Instruction] | None:
    """The comparison of the φ with something, and the choice between the two."""
    if result.op != "select":
        return None
    test, *values = result.operands
    if not isinstance(test, Instruction) or test.op != compared or test.block is not result.block:
        return None
    if phi not in values or set(test.operands) != set(values) or len(set(values)) != 2:
        return None
    return test, result


def _operations(phi: Instruction, result: Instruction) -> tuple[Instruction, ...] | None:
    """What combines the φ with something, if it may do so in any order."""
    if not isinstance(phi.type, FloatType):
        return None
    if result.op == "fadd":
        free = {"fast", "reassoc"} & set(result.flags) and result.operands.count(phi) == 1
        return (result,) if free else None
    found = _chosen(phi, result, "fcmp")
    if found is None:
        return None
    test = found[0]
    free = "fast" in test.flags or {"nnan", "nsz"} <= set(test.flags)
    return found if free and test.predicate in _SMALLER_OR_GREATER else None

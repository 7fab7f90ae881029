"""What gives the range of an instruction from those of its operands, as a function that is put together once.

A fixed point evaluates an instruction several times. Opcode, widths, constants and the conditions that refine its
operands stay the same meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from weft.analysis.conditions import Condition, Conditions
from weft.analysis.declared_ranges import declared
from weft.analysis.interval_transfer import rule_of, select
from weft.analysis.intervals import Interval, full, join, refine
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Poison, Value
from weft.ir.opcodes import OPCODES
from weft.ir.types import IntType

Read = Callable[[], Interval | None]
"""Gives a range as it is known by now; None: no value yet."""

_FORMS = {"binary", "cast", "compare", "select"}
_CALLS = re.compile(r"llvm\.(umin|umax|smin|smax|abs)\.")


class RangeRules:
    """Makes the rules of a function's instructions.

    Parameters
    ----------
    base
        The range of each value where it is defined, as far as it is known; read when a rule is evaluated.
    conditions
        What holds for values in blocks and on edges.
    """

    __slots__ = ("_base", "_conditions")

    def __init__(self, base: Mapping[Value, Interval], conditions: Conditions) -> None:
        self._base = base
        self._conditions = conditions

    def rule(self, instruction: Instruction) -> Read:
        """What gives the range of an integer instruction."""
        type, block = instruction.type, instruction.block
        assert isinstance(type, IntType) and block is not None
        if instruction.op == "phi":
            arriving = [
                self._arriving(value, source, block)
                for value, source in instruction.incoming()
                if not isinstance(value, Poison)
            ]
            return lambda: _joined(arriving)
        known = declared(instruction, type.bits)
        if known is not None:
            return _always(known)
        op, operands = instruction.op, instruction.operands
        if op == "call":
            match = _CALLS.match(instruction.callee_name or "")
            if match is None:
                return _always(full(type.bits))
            op, operands = match[1], operands[: 1 if match[1] == "abs" else 2]
        elif OPCODES[op].form not in _FORMS:
            return _always(full(type.bits))
        source_type = operands[0].type
        if not isinstance(operands[-1].type, IntType) or not isinstance(source_type, IntType):
            return _always(full(type.bits))
        reads = [self.seen(value, block) for value in operands]
        if op == "select":
            return lambda: select(*(read() for read in reads))
        predicate = instruction.attrs.get("predicate")
        return _strict(rule_of(op, instruction.flags, type.bits, source_type.bits, predicate), reads)

    def seen(self, value: Value, block: BasicBlock) -> Read:
        """What gives the range of a value for the threads that run `block`."""
        read = self._plain(value)
        return self._refined(value, read, self._conditions.holding(value, block))

    def _arriving(self, value: Value, source: BasicBlock, target: BasicBlock) -> Read:
        """What gives the range of a φ's operand for the threads that come over an edge."""
        read = self.seen(value, source)
        return self._refined(value, read, self._conditions.on_edge(value, source, target))

    def _plain(self, value: Value) -> Read:
        """What gives the range of a value where it is defined."""
        if isinstance(value, ConstInt):
            return _always(Interval(value.signed, value.signed))
        if isinstance(value, (Instruction, Argument)):
            return partial(self._base.get, value)
        return _always(full(value.type.bits) if isinstance(value.type, IntType) else None)

    def _refined(self, value: Value, read: Read, conditions: Iterable[Condition]) -> Read:
        tests = [(condition.predicate, self._plain(condition.other)) for condition in conditions]
        if not tests:
            return read
        assert isinstance(value.type, IntType)
        return partial(_refine, read, tests, value.type.bits)


def _refine(read: Read, tests: list[tuple[str, Read]], bits: int) -> Interval | None:
    range = read()
    if range is None:
        return None
    for predicate, bound in tests:
        other = bound()
        if other is not None:
            # Where the condition cannot hold no thread runs: anything may be said of it.
            range = refine(predicate, range, other, bits) or range
    return range


def _always(range: Interval | None) -> Read:
    return lambda: range


def _joined(reads: list[Read]) -> Interval | None:
    result: Interval | None = None
    for read in reads:
        result = join(result, read())
    return result


def _strict(rule: Callable[..., Interval], reads: list[Read]) -> Read:
    """No value where an operand has none."""
    if len(reads) == 1:
        (only,) = reads

        def of_one() -> Interval | None:
            operand = only()
            return None if operand is None else rule(operand)

        return of_one
    first, second = reads

    def of_two() -> Interval | None:
        x = first()
        if x is None:
            return None
        y = second()
        return None if y is None else rule(x, y)

    return of_two

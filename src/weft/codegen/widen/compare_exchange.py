"""``cmpxchg``, lane by lane: of its result only the old value is used (`transform.components`)."""

from __future__ import annotations

from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_loop import for_each_active_lane
from weft.ir import Instruction, Value


def widen_compare_exchange(w: Widening, exchange: Instruction) -> None:
    """Exchange for each active lane in turn; the vector of the old values stands for the result."""

    def body(here: list[Value]) -> Value:
        copy = Instruction(exchange.op, exchange.type, here, attrs=exchange.attrs, loc=exchange.loc)
        return w.builder.extract_value(w.builder.insert(copy), (0,))

    old = for_each_active_lane(w, exchange.accessed_type, exchange.operands, body)
    assert old is not None
    w.set_vector(exchange, old)


def is_old_value(instruction: Instruction) -> bool:
    """Whether the instruction takes the old value out of the result of a ``cmpxchg``."""
    source = instruction.operands[0] if instruction.op == "extractvalue" else None
    return isinstance(source, Instruction) and source.op == "cmpxchg" and instruction.attrs["indices"] == (0,)

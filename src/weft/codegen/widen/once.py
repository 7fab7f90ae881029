"""What all active lanes do alike is done once, and not at all where no lane is active."""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.widen.context import Widening
from weft.ir import Instruction, Poison, Value


def build_once(w: Widening, name: str, build: Callable[[], Instruction], has_result: bool = True) -> Value:
    """Build an instruction behind the question whether a lane is active, in a block of the given name.

    Returns
    -------
    Value
        Its result, poison where no lane is active. Without `has_result`, it is not to be used.
    """
    builder, some = w.builder, w.some_active()
    if some is None:
        return build()
    before = builder.block
    assert before is not None
    once = w.new_block(name)
    after = w.target.add_block(f"{name}.done", after=once)
    builder.cond_br(some, once, after)
    builder.at_end(once)
    made = build()
    builder.br(after)
    builder.at_end(after)
    if not has_result:
        return made
    joined = builder.phi(made.type)
    joined.add_incoming(made, once)
    joined.add_incoming(Poison(made.type), before)
    return joined

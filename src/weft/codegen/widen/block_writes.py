"""``memset``, ``memcpy`` and ``memmove`` whose arguments all lanes agree in: made once."""

from __future__ import annotations

from weft.analysis.stack_objects import is_block_write
from weft.codegen.widen.context import Widening
from weft.ir import Instruction


def widen_block_write(w: Widening, call: Instruction) -> bool:
    """Make a block write of all lanes once, where a lane is active; False when lanes write different blocks."""
    if not is_block_write(call) or not all(w.is_scalar(a) and w.is_uniform(a) for a in call.args):
        return False
    builder = w.builder
    args = [w.scalar(a) for a in call.args]
    copy = Instruction("call", call.type, [*args, call.callee], attrs=call.attrs, loc=call.loc)
    some = w.some_active()
    if some is None:
        builder.insert(copy)
        return True
    once = w.new_block("block")
    after = w.target.add_block("block.done", after=once)
    builder.cond_br(some, once, after)
    builder.at_end(once)
    builder.insert(copy)
    builder.br(after)
    builder.at_end(after)
    return True

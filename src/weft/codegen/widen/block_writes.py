"""``memset``, ``memcpy`` and ``memmove`` whose arguments all lanes agree in: made once."""

from __future__ import annotations

from weft.analysis.memory.stack_objects import is_block_write
from weft.codegen.widen.context import Widening
from weft.codegen.widen.once import build_once
from weft.ir import Instruction


def widen_block_write(w: Widening, call: Instruction) -> bool:
    """Make a block write of all lanes once, where a lane is active; False when lanes write different blocks."""
    if not is_block_write(call) or not all(w.is_scalar(a) and w.is_uniform(a) for a in call.args):
        return False
    args = [w.scalar(a) for a in call.args]
    copy = Instruction("call", call.type, [*args, call.callee], attrs=call.attrs, loc=call.loc)
    build_once(w, "block", lambda: w.builder.insert(copy), has_result=False)
    return True

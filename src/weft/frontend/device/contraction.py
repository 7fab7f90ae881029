"""``a*b + c`` as clang leaves it open (``llvm.fmuladd``): rounded once where the machine has that, else twice.

Postcondition: no ``llvm.fmuladd`` is left, so that each program has one meaning from here on.
"""

from __future__ import annotations

from weft.ir import Builder, Function
from weft.ir.cfg_edit import replace_and_erase

_PREFIX = "llvm.fmuladd."


def settle_contraction(kernel: Function, fused: bool) -> None:
    """Round each sum of a product once if `fused`, else twice."""
    module = kernel.module
    assert module is not None
    for call in [i for i in kernel.instructions() if (i.callee_name or "").startswith(_PREFIX)]:
        builder = Builder(before=call)
        builder.loc = call.loc
        a, b, c = call.args
        if fused:
            name = (call.callee_name or "").replace(_PREFIX, "llvm.fma.")
            function = module.declare(
                name, call.attrs["fn_type"], ("nounwind", "speculatable", "willreturn", "memory(none)")
            )
            value = builder.call(function, (a, b, c), flags=call.flags)
        else:
            value = builder.binary("fadd", builder.binary("fmul", a, b, call.flags), c, call.flags)
        replace_and_erase(call, value)

"""``a*b + c`` as clang leaves it open (``llvm.fmuladd``): rounded once where the machine has that, else twice.

Postcondition: no ``llvm.fmuladd`` is left, so that each program has one meaning from here on.
"""

from __future__ import annotations

from weft.fast_math import FLAGS, FastMath
from weft.ir import Builder, Function
from weft.ir.cfg_edit import replace_and_erase

_PREFIX = "llvm.fmuladd."

_OPTIONS = {"afn": "-fapprox-func", "arcp": "-freciprocal-math"}
"""Options of clang that put flags on the operations of a program. Those of OpenCL C it knows by their own options."""


def contraction(fastmath: FastMath, contract: bool = True) -> str:
    """How ``a * b + c`` is rounded, in clang's words: on, off, or fast, of any sum of a product.

    Where it is fast, these are products and sums that LLVM may reassociate before it fuses them; a call of
    ``llvm.fmuladd`` is taken as it is.
    """
    if not contract:
        return "off"
    return "fast" if fastmath is True or "contract" in (fastmath or ()) else "on"


def float_options(fastmath: FastMath, contract: bool = True) -> list[str]:
    """Options of clang for what a program says of its float operations.

    Parameters
    ----------
    fastmath
        The flags that operations are to carry.
    contract
        Whether ``a * b + c`` may be rounded once at all.
    """
    flags = FLAGS if fastmath is True else fastmath or ()
    chosen = contraction(fastmath, contract)
    # What a pragma of the source says goes first.
    fused = "fast-honor-pragmas" if chosen == "fast" else chosen
    return [f"-ffp-contract={fused}", *(_OPTIONS[flag] for flag in flags if flag in _OPTIONS)]


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

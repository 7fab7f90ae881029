"""From LLVM IR of an OpenCL program to one P-LLVM module for each kernel.

Precondition: `weft.frontend.device.flatten` has left one address space but for local memory, builtins are defined by
the library, and what kernels call has been inlined but for what `weft.frontend.device.kept_calls` keeps. Postcondition
of `adopt_kernel`: the module has one kernel; ids, barriers, local memory and operations on sub-groups are weft's
intrinsics. Its parameters are scalars and pointers, one slot each, in this order: those of the arguments
(`weft.frontend.device.metadata.Passing`), the address of program-scope variables, the number of dimensions, and for
placed kernels those of `weft.frontend.device.work_items.HIDDEN`.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.frontend.device.arguments import adopt_arguments
from weft.frontend.device.contraction import settle_contraction
from weft.frontend.device.definitions import check_inlined, keep_only
from weft.frontend.device.division import settle_division
from weft.frontend.device.memory import SCOPE, adopt_local_memory, adopt_scope
from weft.frontend.device.primitives import lower_primitives
from weft.frontend.device.printing import adopt_printf
from weft.frontend.device.unrolling import settle_unrolling
from weft.frontend.device.work_items import HIDDEN, SMALL_LAUNCHES, WORK_DIM, WorkItems
from weft.ir import Module
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.reader import read_module
from weft.ir.types import I64, PTR

_DROPPED_ATTRIBUTES = ("alwaysinline", "convergent", "norecurse", '"uniform-work-group-size"')


def adopt_kernel(
    text: str,
    name: str,
    *,
    scope: Mapping[str, int],
    placed: bool,
    small: bool,
    sub_group_size: int,
    fused: bool,
    debug: bool = False,
) -> Module:
    """Return the module of one kernel of a program.

    Parameters
    ----------
    text
        The program.
    scope
        Where each program-scope variable begins, in bytes.
    placed
        Whether it is for launches whose ids do not begin at 0, or parts of launches.
    small
        Whether all buffers have less than 2 GiB, and all sizes and ids of the launch are less than 2^31.
    sub_group_size
        Work-items of a sub-group.
    fused
        Whether the machine rounds ``a*b + c`` once.
    debug
        Whether divisions that have no meaning are left for the sanitizer.

    Raises
    ------
    UnsupportedError
        The kernel has what weft cannot run: a call by a pointer, recursion.
    """
    module = read_module(text)
    kernel = module.functions[name]
    check_inlined(kernel)
    others = keep_only(module, kernel)
    adopt_arguments(kernel)
    adopt_scope(kernel, kernel.append_parameter(PTR, SCOPE), scope)
    names = (WORK_DIM, *(HIDDEN if placed else ()))
    hidden = {key: kernel.append_parameter(I64, key) for key in names}
    lower_primitives(kernel, WorkItems(hidden, small), sub_group_size)
    adopt_local_memory(kernel)
    for function in (kernel, *others):
        adopt_printf(function)
        settle_contraction(function, fused)
        settle_unrolling(function)
        if not debug:
            settle_division(function)
    keep_only(module, kernel)
    for function in (kernel, *others):
        function.attributes = tuple(a for a in function.attributes if not a.startswith(_DROPPED_ATTRIBUTES))
    kernel.attributes = (*kernel.attributes, *(SMALL_LAUNCHES if small else ()))
    if any(kind_of(i.callee_name) is IntrinsicKind.BARRIER for i in kernel.instructions()):
        # LLVM would keep what is read through the pointer across a barrier, at which others write to it.
        for argument in kernel.args:
            argument.attributes = tuple(a for a in argument.attributes if a != "noalias")
    return module

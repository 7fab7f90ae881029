"""From LLVM IR of an OpenCL program to one P-LLVM module for each kernel.

Precondition: `weft.frontend.opencl.flatten` has left one address space but for local memory, builtins are defined by
the library, and everything that kernels call has been inlined (`inlined`). Postcondition of `adopt_kernel`: the module
has one kernel; ids, barriers, local memory and operations on sub-groups are weft's intrinsics. Its parameters are
scalars and pointers, one slot each, in this order: those of the arguments (`weft.frontend.opencl.metadata.Passing`),
the address of program-scope variables, the number of dimensions, and for placed kernels those of
`weft.frontend.opencl.work_items.HIDDEN`.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.diag.errors import UnsupportedError
from weft.frontend.opencl.arguments import adopt_arguments
from weft.frontend.opencl.contraction import settle_contraction
from weft.frontend.opencl.memory import adopt_local_memory, adopt_scope
from weft.frontend.opencl.primitives import lower_primitives
from weft.frontend.opencl.printing import adopt_printf
from weft.frontend.opencl.work_items import HIDDEN, WORK_DIM, WorkItems
from weft.ir import ConstAggregate, ConstExpr, ConstSplat, Function, GlobalVariable, Module, Value
from weft.ir.intrinsics import SMALL_ARRAYS_ATTRIBUTE, IntrinsicKind, kind_of
from weft.ir.locations import span_of
from weft.ir.reader import read_module
from weft.ir.types import I64, PTR

SCOPE = "program.scope"
"""The parameter with the address of program-scope variables."""

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

    Raises
    ------
    UnsupportedError
        The kernel has what weft cannot run: a call by a pointer, recursion.
    """
    module = read_module(text)
    kernel = module.functions[name]
    keep_only(module, kernel)
    adopt_arguments(kernel)
    adopt_scope(kernel, kernel.append_parameter(PTR, SCOPE), scope)
    names = (WORK_DIM, *(HIDDEN if placed else ()))
    hidden = {key: kernel.append_parameter(I64, key) for key in names}
    lower_primitives(kernel, WorkItems(hidden, small), sub_group_size)
    adopt_local_memory(kernel)
    adopt_printf(kernel)
    settle_contraction(kernel, fused)
    keep_only(module, kernel)
    attributes = [a for a in kernel.attributes if not a.startswith(_DROPPED_ATTRIBUTES)]
    kernel.attributes = (*attributes, *([f'"{SMALL_ARRAYS_ATTRIBUTE}"'] if small else []))
    if any(kind_of(i.callee_name) is IntrinsicKind.BARRIER for i in kernel.instructions()):
        # LLVM would keep what is read through the pointer across a barrier, at which others write to it.
        for argument in kernel.args:
            argument.attributes = tuple(a for a in argument.attributes if a != "noalias")
    return module


def keep_only(module: Module, kernel: Function) -> None:
    """Drop all definitions that `kernel` does not need.

    Raises
    ------
    UnsupportedError
        It needs another function, which could not be inlined.
    """
    used = {o for i in kernel.instructions() for o in i.operands if isinstance(o, Function)}
    for function in used:
        if not function.is_declaration:
            call = next(i for i in kernel.instructions() if function in i.operands)
            raise UnsupportedError(
                f"{kernel.name} calls {function.name}, which calls itself, or is called by a pointer",
                span_of(call),
                "OpenCL C has neither recursion nor pointers to functions",
            )
    module.functions = {n: f for n, f in module.functions.items() if f is kernel or f in used}
    module.named_metadata = {n: m for n, m in module.named_metadata.items() if not n.startswith("opencl.")}
    needed = _needed_globals(module, kernel)
    module.globals = {n: g for n, g in module.globals.items() if g in needed}


def _needed_globals(module: Module, kernel: Function) -> set[GlobalVariable]:
    """The variables that `kernel` mentions, and those that their values do."""
    work: list[Value] = [o for i in kernel.instructions() for o in i.operands]
    needed: set[GlobalVariable] = set()
    while work:
        value = work.pop()
        if isinstance(value, GlobalVariable) and value not in needed:
            needed.add(value)
            if value.initializer is not None:
                work.append(value.initializer)
        elif isinstance(value, ConstExpr):
            work.extend(value.operands)
        elif isinstance(value, ConstAggregate):
            work.extend(value.elements)
        elif isinstance(value, ConstSplat):
            work.append(value.element)
    return needed

"""The way of a kernel's P-LLVM to LLVM IR for NVPTX, pass after pass."""

from __future__ import annotations

import re

from weft.diag.errors import UnsupportedError
from weft.ir import Function, Instruction, Module
from weft.ir.locations import span_of
from weft.transform.nvptx.mathematics import lower_mathematics
from weft.transform.nvptx.memory import lower_shared, scope_atomics
from weft.transform.nvptx.printing import lower_printing
from weft.transform.nvptx.work_items import is_left, lower_work_items

_DROPPED = ("weft.in.memory", "weft.reached.end")
_INVALID = re.compile(r"[^A-Za-z0-9_$]")


def lower_to_nvptx(module: Module, kernel: Function) -> None:
    """Make LLVM IR for NVPTX of a kernel and what it calls, in place.

    Precondition: P-LLVM for one thread, as front ends make it: no predicates, shadows and guards. Postcondition:
    `kernel` has the calling convention of kernels, and nothing is left that is weft's own; functions of libdevice are
    called by their names. The parameters of the kernel are those that it had, in their order.

    Raises
    ------
    UnsupportedError
        The kernel does something that a GPU has nothing for; the message says where.
    """
    # Front ends lay types out as both kinds of machines do; LLVM takes the layout of the one that code is made for.
    module.triple = module.datalayout = ""
    for function in list(module.definitions()):
        for call in [i for i in function.instructions() if i.callee_name in _DROPPED]:
            call.erase()
    lower_work_items(module)
    lower_shared(module, kernel)
    lower_printing(module)
    lower_mathematics(module)
    scope_atomics(module)
    _refuse_what_is_left(module)
    _name(module, kernel)
    kernel.calling_convention = "ptx_kernel"
    for function in module.definitions():
        if function is not kernel:
            function.linkage.linkage = "internal"


def _refuse_what_is_left(module: Module) -> None:
    for function in module.definitions():
        for instruction in function.instructions():
            callee = instruction.callee if instruction.op == "call" else None
            if isinstance(callee, Function) and (is_left(callee) or callee.name.startswith("weft_")):
                raise UnsupportedError(f"there is no @{callee.name} on a GPU", span_of(instruction))
    for name in [f.name for f in module.functions.values() if is_left(f)]:
        del module.functions[name]


def _name(module: Module, kernel: Function) -> None:
    """Names that PTX can have, for all functions and variables; the kernel's first, that it keeps its own."""
    taken: set[str] = set()
    for function in sorted(module.definitions(), key=lambda f: f is not kernel):
        function.name = _valid(function.name, taken)
    module.functions = {f.name: f for f in module.functions.values()}
    for variable in module.globals.values():
        variable.name = _valid(variable.name, taken)
    module.globals = {v.name: v for v in module.globals.values()}


def _valid(name: str, taken: set[str]) -> str:
    """A name in the letters of PTX; others are written by their numbers."""
    text = _INVALID.sub(lambda found: "_" if found[0] == "." else f"_u{ord(found[0]):x}_", name)
    if text[:1].isdigit():
        text = f"_{text}"
    candidate, count = text, 1
    while candidate in taken:
        count += 1
        candidate = f"{text}_{count}"
    taken.add(candidate)
    return candidate


def users_of(module: Module, prefix: str) -> dict[str, Instruction]:
    """Declared functions whose names begin so, with the first call of each."""
    found: dict[str, Instruction] = {}
    for function in module.definitions():
        for instruction in function.instructions():
            name = instruction.callee_name or ""
            if name.startswith(prefix):
                found.setdefault(name, instruction)
    return found

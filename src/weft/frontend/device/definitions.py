"""Which definitions of a program one kernel needs."""

from __future__ import annotations

import re
from collections.abc import Collection

from weft.diag.errors import UnsupportedError
from weft.ir import ConstAggregate, ConstExpr, ConstSplat, Function, GlobalVariable, Module, Value
from weft.ir.locations import span_of

_DEFINITION = re.compile(r'^define [^@\n]*@(?P<name>[-\w.$]+|"[^"\n]*")\(.*?^}\n', re.M | re.S)


def alone(text: str, name: str, kernels: Collection[str]) -> str:
    """A program without the bodies of the other kernels, each of which would take as long to read as that one."""

    def kept(definition: re.Match[str]) -> str:
        own = definition["name"].strip('"')
        return "" if own in kernels and own != name else definition[0]

    return _DEFINITION.sub(kept, text)


def check_inlined(kernel: Function) -> None:
    """Refuse a kernel that needs a function that calls itself, or is called by a pointer.

    Raises
    ------
    UnsupportedError
        It does; at the call.
    """
    pending: list[tuple[Function, tuple[Function, ...]]] = [(kernel, (kernel,))]
    done: set[Function] = set()
    while pending:
        caller, around = pending.pop()
        for call in caller.instructions():
            for function in call.operands:
                if not isinstance(function, Function) or function.is_declaration:
                    continue
                if function in around or call.op != "call" or function is not call.callee:
                    raise UnsupportedError(
                        f"{kernel.name} calls {function.name}, which calls itself, or is called by a pointer",
                        span_of(call),
                        "OpenCL C has neither recursion nor pointers to functions",
                    )
                if function not in done:
                    done.add(function)
                    pending.append((function, (*around, function)))


def keep_only(module: Module, kernel: Function) -> list[Function]:
    """Drop all definitions that `kernel` does not need; return the functions that it calls and that are kept.

    These call themselves, are called by a pointer, or would have made it too large: everything else has been inlined.
    """
    needed, variables = _needed(kernel)
    module.functions = {n: f for n, f in module.functions.items() if f is kernel or f in needed}
    module.named_metadata = {n: m for n, m in module.named_metadata.items() if not n.startswith("opencl.")}
    module.globals = {n: g for n, g in module.globals.items() if g in variables}
    return [f for f in module.functions.values() if f is not kernel and not f.is_declaration]


def _needed(kernel: Function) -> tuple[set[Function], set[GlobalVariable]]:
    """The functions and variables that `kernel` mentions, and those that these do."""
    work: list[Value] = [o for i in kernel.instructions() for o in i.operands]
    functions, variables = set[Function](), set[GlobalVariable]()
    while work:
        value = work.pop()
        if isinstance(value, GlobalVariable) and value not in variables:
            variables.add(value)
            if value.initializer is not None:
                work.append(value.initializer)
        elif isinstance(value, Function) and value not in functions:
            functions.add(value)
            work += [o for i in value.instructions() for o in i.operands]
        elif isinstance(value, ConstExpr):
            work.extend(value.operands)
        elif isinstance(value, ConstAggregate):
            work.extend(value.elements)
        elif isinstance(value, ConstSplat):
            work.append(value.element)
    return functions, variables

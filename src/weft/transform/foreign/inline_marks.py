"""Marking functions that are to be inlined: what only the module itself can call, unless it is recursive.

A called function could be vectorized in a version of its own, but inlined its arguments keep their shapes and its
structs vanish. LLVM does the inlining (``always-inline``).

Precondition: none. Postcondition: functions with a local linkage that do not call themselves, directly or through
others, are ``alwaysinline`` unless they are marked to stay. Only attributes change.
"""

from __future__ import annotations

from weft.graph.cfg import strongly_connected_components
from weft.ir import Function, Module

LOCAL = ("internal", "private", "linkonce_odr", "linkonce", "available_externally")
"""Linkages of functions that LLVM may drop when nothing uses them."""

_KEPT = ("noinline", "optnone", "alwaysinline", "returns_twice")


def mark_for_inlining(module: Module) -> int:
    """Mark the functions of `module` that are not seen outside and do not call themselves; how many."""
    functions = list(module.definitions())
    numbers = {function: i for i, function in enumerate(functions)}
    calls = [sorted({numbers[c] for c in _called_by(f) if c in numbers}) for f in functions]
    marked = 0
    for component in strongly_connected_components(calls, list(range(len(functions)))):
        function, number = functions[component[0]], component[0]
        if len(component) > 1 or number in calls[number]:
            continue
        if function.linkage.linkage in LOCAL and not any(map(function.has_attribute, _KEPT)):
            function.attributes = (*function.attributes, "alwaysinline")
            marked += 1
    return marked


def _called_by(function: Function) -> set[Function]:
    return {i.callee for i in function.instructions() if i.op == "call" and isinstance(i.callee, Function)}

"""Which definitions of a program one kernel needs."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from weft.diag.errors import UnsupportedError
from weft.ir import ConstAggregate, ConstExpr, ConstSplat, Function, GlobalVariable, Module, Value
from weft.ir.locations import span_of

_NAME = r'@(?P<name>[-\w.$]+|"[^"\n]*")'
_DEFINITION = re.compile(rf"^define [^@\n]*{_NAME}\(.*?^}}\n", re.M | re.S)
_MENTIONED = re.compile(_NAME)
_NODE = re.compile(r"^(!\d+) = .*\n?", re.M)
_NUMBER = re.compile(r"!\d+")


def alone(text: str, name: str, kernels: Collection[str]) -> str:
    """A program without what one kernel does not need: bodies of functions, and metadata.

    All of it would take as long to read as the kernel, for each kernel again.

    Parameters
    ----------
    text
        The program.
    name
        The kernel.
    kernels
        All kernels.
    """
    parts = _parts(text)
    pending, needed = [name, *(parts.mentioned - set(kernels))], set[str]()
    while pending:
        if (mentioned := pending.pop()) in parts.definitions and mentioned not in needed:
            needed.add(mentioned)
            pending += parts.definitions[mentioned].mentioned
    texts = [definition.text for own, definition in parts.definitions.items() if own in needed]
    return "".join((parts.rest, *texts, *_nodes_of(parts, texts)))


class _Definition(Struct, frozen=True):
    text: str
    mentioned: frozenset[str]


class _Parts(Struct, frozen=True):
    """The functions of a program, the numbered nodes of its metadata, and everything else with the names in it."""

    definitions: dict[str, _Definition]
    nodes: dict[str, str]
    rest: str
    mentioned: frozenset[str]


@functools.lru_cache(maxsize=4)
def _parts(text: str) -> _Parts:
    definitions = {
        found["name"].strip('"'): _Definition(found[0], _names(found[0]))
        for found in _DEFINITION.finditer(text)
    }
    rest = _DEFINITION.sub("", text)
    nodes = {found[1]: found[0] for found in _NODE.finditer(rest)}
    names = _names(rest)
    return _Parts(definitions, nodes, _NODE.sub("", rest).rstrip("\n") + "\n", names)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip('"') for name in _MENTIONED.findall(text))


def _nodes_of(parts: _Parts, texts: Iterable[str]) -> list[str]:
    """The metadata that functions and the rest of a program lead to."""
    pending = [number for part in (parts.rest, *texts) for number in _NUMBER.findall(part)]
    needed = set[str]()
    while pending:
        if (number := pending.pop()) in parts.nodes and number not in needed:
            needed.add(number)
            pending += _NUMBER.findall(parts.nodes[number])
    return [node for number, node in parts.nodes.items() if number in needed]


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

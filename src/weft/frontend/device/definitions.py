"""Which definitions of a program its kernels need, or one of them."""

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
_DECLARATION = re.compile(rf"^declare [^@\n]*{_NAME}\(.*\n", re.M)
_ENTERED = re.compile(r"^define [^@]*\b(?:spir|ptx)_kernel ")
_NODE = re.compile(r"^(!\d+) = .*\n?", re.M)
_NUMBER = re.compile(r"!\d+")


def reached(text: str) -> str:
    """A program without functions, declarations and metadata that no kernel and no variable leads to.

    Headers define more functions than kernels call. To inline those into each other, and to read them, may take
    many times as long as all the rest.

    Parameters
    ----------
    text
        The program as clang writes it, whose kernels have their calling conventions.
    """
    parts = _divided(text)
    rest = _DECLARATION.sub("", parts.rest)
    kernels = [name for name, definition in parts.definitions.items() if _ENTERED.match(definition.text)]
    needed = _needed_by(parts, [*kernels, *_names(rest)])
    texts = [definition.text for name, definition in parts.definitions.items() if name in needed]
    mentioned = _names(rest).union(*(parts.definitions[name].mentioned for name in needed))
    kept = _DECLARATION.sub(
        lambda found: found[0] if found["name"].strip('"') in mentioned else "", parts.rest
    )
    return "".join((kept, *texts, *_nodes_of(parts, (kept, *texts))))


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
    needed = _needed_by(parts, [name, *(parts.mentioned - set(kernels))])
    texts = [definition.text for own, definition in parts.definitions.items() if own in needed]
    return "".join((parts.rest, *texts, *_nodes_of(parts, (parts.rest, *texts))))


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
    return _divided(text)


def _divided(text: str) -> _Parts:
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


def _needed_by(parts: _Parts, names: Iterable[str]) -> set[str]:
    """The definitions that names lead to."""
    pending, needed = list(names), set[str]()
    while pending:
        if (mentioned := pending.pop()) in parts.definitions and mentioned not in needed:
            needed.add(mentioned)
            pending += parts.definitions[mentioned].mentioned
    return needed


def _nodes_of(parts: _Parts, texts: Iterable[str]) -> list[str]:
    """The metadata that texts lead to."""
    pending = [number for text in texts for number in _NUMBER.findall(text)]
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

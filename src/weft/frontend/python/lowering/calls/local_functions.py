"""Functions and lambdas inside compiled functions.

Such a function is compiled as a device function that takes the variables it uses of the functions around it as further
arguments, with the values that they have at the call, as Python's closures read them.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed, static
from weft.frontend.python.lowering.context import expression, statement
from weft.frontend.python.scope import scope_of
from weft.frontend.python.source import FunctionNode, FunctionSource

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function inside another one; there is one object for each definition in the source.

    Parameters
    ----------
    node
        Its definition.
    source
        The same as a function of its own, which takes `captures` behind its parameters.
    captures
        The variables that it uses of the functions around it.
    """

    node: FunctionNode
    source: FunctionSource
    captures: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return self.source.name


@statement(ast.FunctionDef)
def _lower_definition(low: Lowering, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise UnsupportedError("a function inside a kernel takes no decorators", hint="leave them out")
    low.variables.store(low, node.name, static(_local_function(low, node)), low.span(node))


@expression(ast.Lambda)
def _lower_lambda(low: Lowering, node: ast.Lambda) -> Typed:
    return static(_local_function(low, node))


def _local_function(low: Lowering, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
    found = low.unit.local_functions.get(node)
    if found is None:
        captures = _captures(low, node)
        source = FunctionSource(
            low.source.function, _with_parameters(node, captures), low.source.file, low.source.line_offset
        )
        found = low.unit.local_functions[node] = LocalFunction(node, source, captures)
    return found


def _captures(low: Lowering, node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    """The variables of this function that one in it uses, those of the functions that it calls included."""
    own = scope_of(node)
    body = node.body if isinstance(node.body, list) else [node.body]
    used: dict[str, None] = {}
    for part in body:
        for child in ast.walk(part):
            if isinstance(child, (ast.Nonlocal, ast.Global)):
                raise UnsupportedError(
                    "a function inside a kernel cannot assign to variables around it",
                    low.span(child),
                    "return the value",
                )
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and not own.is_local(child.id):
                used[child.id] = None
    found: dict[str, None] = {}
    for name in used:
        if not low.scope.is_local(name):
            continue
        found[name] = None
        bound = low.variables.bound_value(name)
        other = None if bound is None else bound.static
        if isinstance(other, LocalFunction):
            found.update(dict.fromkeys(other.captures))
    return tuple(found)


def _with_parameters(node: ast.FunctionDef | ast.Lambda, captures: tuple[str, ...]) -> FunctionNode:
    """The definition with further parameters; defaults are filled in by the caller."""
    old = node.args
    if old.vararg is not None or old.kwarg is not None:
        raise UnsupportedError("a variable number of parameters is not supported", hint="take a tuple")
    names = [
        *old.posonlyargs,
        *old.args,
        *old.kwonlyargs,
        *(_located(ast.arg(name), node) for name in captures),
    ]
    args = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    made: FunctionNode
    if isinstance(node, ast.Lambda):
        made = ast.Lambda(args, node.body)
    else:
        made = ast.FunctionDef(node.name, args, node.body, [], node.returns)
    return _located(made, node)


_N = TypeVar("_N", bound=ast.AST)


def _located(made: _N, node: ast.AST) -> _N:
    return ast.copy_location(made, node)


def arguments_of(low: Lowering, function: LocalFunction, args: Arguments) -> list[Typed]:
    """The arguments of a call in the order of the parameters, with what the function captures."""
    missing = [name for name in function.captures if not low.scope.is_local(name)]
    if missing:
        raise UnsupportedError(
            f"{function.__name__}() uses '{missing[0]}' of the function around it and was passed on",
            hint="make it a parameter",
        )
    try:
        bound = _signature(function.node).bind(*args.values, **args.keywords)
    except TypeError as error:
        raise TypingError(f"{function.__name__}(): {error}") from None
    bound.apply_defaults()
    given = [low.expr(v) if isinstance(v, ast.expr) else v for v in bound.arguments.values()]
    return [*given, *(low.variables.load(low, name) for name in function.captures)]


@lru_cache(maxsize=1024)
def _signature(node: FunctionNode) -> inspect.Signature:
    """The parameters of a definition, its defaults as syntax: literals, which may be read at any time."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    made = []
    for kind, names, values in (
        (inspect.Parameter.POSITIONAL_OR_KEYWORD, positional, defaults),
        (inspect.Parameter.KEYWORD_ONLY, args.kwonlyargs, args.kw_defaults),
    ):
        for name, default in zip(names, values, strict=True):
            if default is not None and not _is_literal(default):
                raise UnsupportedError(
                    f"the default of '{name.arg}' is no literal", hint="pass the value at each call"
                )
            empty = inspect.Parameter.empty if default is None else default
            made.append(inspect.Parameter(name.arg, kind, default=empty))
    return inspect.Signature(made)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True

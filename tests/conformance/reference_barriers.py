"""Turns a function with barriers into a generator that yields at each of them.

Only that changes: ``cuda.syncthreads()`` becomes ``(yield cuda.syncthreads())``, and a call of a function that
has barriers itself becomes ``(yield from f(...))``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any


def plain(function: Any) -> Any:
    """Return the Python function inside a compiled one."""
    return getattr(function, "py_func", function)


def is_users(value: Any) -> bool:
    """Whether a value is a function written by the user of a library, not part of one."""
    return isinstance(value, types.FunctionType) and not value.__module__.startswith(
        ("numpy", "weft", "numba")
    )


def named_values(function: types.FunctionType) -> dict[str, Any]:
    """Return what the global and closure names in a function's code mean."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    values = {name: cell.cell_contents for name, cell in cells}
    return values | {
        name: function.__globals__[name] for name in code.co_names if name in function.__globals__
    }


def waits(function: Any) -> bool:
    """Whether a function, or one that it calls by name, has a barrier or a warp operation."""
    return any(
        _is_meeting(name) for reached in _reachable(plain(function)) for name in reached.__code__.co_names
    )


def _is_meeting(name: str) -> bool:
    return name.startswith("sync") or name.endswith("_sync")


def _reachable(function: types.FunctionType) -> Iterator[types.FunctionType]:
    seen, pending = {function}, [function]
    while pending:
        current = pending.pop()
        yield current
        called = {plain(value) for value in named_values(current).values() if is_users(plain(value))}
        pending.extend(called - seen)
        seen |= called


def as_generator(function: types.FunctionType) -> types.FunctionType:
    """Return a generator function that does what `function` does and yields where it waits."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    meaning = named_values(function)
    waiting = {name for name, value in meaning.items() if is_users(plain(value)) and waits(value)}
    definition.decorator_list = []
    definition.args.defaults = []
    _Yielding(waiting).visit(definition)
    # An enclosing function gives the names of the closure the same standing as before.
    free = function.__code__.co_freevars
    outer = ast.parse(f"def outer({', '.join(free)}):\n    return {definition.name}")
    outer.body[0].body.insert(0, definition)
    names: dict[str, Any] = {}
    exec(
        compile(ast.fix_missing_locations(outer), function.__code__.co_filename, "exec"),
        function.__globals__,
        names,
    )
    changed = names["outer"](*(meaning[name] for name in free))
    changed.__defaults__ = function.__defaults__
    return changed


class _Yielding(ast.NodeTransformer):
    """Puts a yield around each call at which the thread waits."""

    def __init__(self, waiting: set[str]) -> None:
        self._waiting = waiting

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and _is_meeting(node.func.attr):
            return ast.copy_location(ast.Yield(node), node)
        if isinstance(node.func, ast.Name) and node.func.id in self._waiting:
            return ast.copy_location(ast.YieldFrom(node), node)
        return node

"""Facts about a function's names, read off its syntax tree once."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache

from msgspec import Struct

from weft.frontend.python.source import FunctionNode


class Scope(Struct, frozen=True):
    """The names of a function.

    Parameters
    ----------
    params
        Parameters in order.
    bindings
        How many statements or targets bind each local name, parameters not counted.
    """

    params: tuple[str, ...]
    bindings: dict[str, int]

    def is_local(self, name: str) -> bool:
        return name in self.bindings or name in self.params

    def is_bound_once(self, name: str) -> bool:
        """Whether one statement gives the name its value."""
        return self.bindings.get(name, 0) + (name in self.params) == 1


@lru_cache(maxsize=1024)
def scope_of(node: FunctionNode) -> Scope:
    """Return the names of a function."""
    arguments = node.args
    params = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    counts: Counter[str] = Counter()
    for statement in body:
        _count(statement, counts)
    return Scope(tuple(p.arg for p in params), dict(counts))


@lru_cache(maxsize=4096)
def assigned_in(node: ast.AST) -> frozenset[str]:
    """Return the names that a statement or expression binds."""
    counts: Counter[str] = Counter()
    _count(node, counts)
    return frozenset(counts)


def _count(node: ast.AST, counts: Counter[str]) -> None:
    pending = [node]
    while pending:
        child = pending.pop()
        if isinstance(child, ast.FunctionDef):
            # What is inside has names of its own.
            counts[child.name] += 1
            continue
        if isinstance(child, ast.Lambda):
            continue
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            counts[child.id] += 1
        elif isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            # An augmented assignment reads what another one has bound.
            counts[child.target.id] += 1
        pending += ast.iter_child_nodes(child)


def reads_of(node: ast.AST, name: str) -> int:
    """Return how often a name is read in a statement or expression."""
    return sum(
        isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Load)
        for child in ast.walk(node)
    )

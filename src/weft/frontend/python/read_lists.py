"""Lists that are written out and only read: ``steps = [-1, 1]``, ``for d in [1, 2]``. They are tuples to compiled code.

A list is only read if it is looped over, indexed, or asked for its length or what is in it, where it stands or through
names that stand for nothing else. Any other use may change it, or show that it is a list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from weft.frontend.python.source import FunctionNode

_READERS = frozenset({"len", "enumerate", "zip", "reversed", "min", "max", "sum", "tuple", "any", "all"})


@lru_cache(maxsize=1024)
def read_lists(function: FunctionNode) -> frozenset[ast.List]:
    """Return the lists of a function that are only read, without those inside of others."""
    lists = [node for node in ast.walk(function) if isinstance(node, ast.List)]
    if not lists:
        return frozenset()
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    changed = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _is_read(node, parents)
    }
    return frozenset(node for node in lists if _is_read(node, parents) or _is_named(node, parents, changed))


def as_tuple(node: ast.expr) -> ast.expr:
    """A list that is written out as a tuple, those in it included."""
    if not isinstance(node, ast.List):
        return node
    return ast.copy_location(ast.Tuple([as_tuple(item) for item in node.elts], ast.Load()), node)


def _is_named(node: ast.List, parents: dict[ast.AST, ast.AST], changed: set[str]) -> bool:
    """Whether it gets names, by itself or as an item of what is unpacked, all of which are only read."""
    parent = parents[node]
    if isinstance(parent, ast.Tuple):
        place, parent = parent.elts.index(node), parents[parent]
        targets = [
            target.elts[place] if isinstance(target, ast.Tuple) and len(target.elts) > place else None
            for target in (parent.targets if isinstance(parent, ast.Assign) else ())
        ]
    else:
        targets = parent.targets if isinstance(parent, ast.Assign) else []
    return bool(targets) and all(isinstance(one, ast.Name) and one.id not in changed for one in targets)


def _is_read(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression stands where it is only read."""
    parent = parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        # An element may be a list in turn, of which an element is changed.
        holders = list(_holders(parent, parents))
        return all(isinstance(holder.ctx, ast.Load) for holder in holders)
    if isinstance(parent, ast.For):
        return parent.iter is node
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _READERS and node in parent.args
    if isinstance(parent, ast.Compare):
        operators = zip(parent.ops, parent.comparators, strict=True)
        return any(
            right is node and isinstance(operator, (ast.In, ast.NotIn)) for operator, right in operators
        )
    return False


def _holders(node: ast.Subscript, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.Subscript]:
    """A subscript, and those that it is the value of."""
    found: ast.AST = node
    while isinstance(found, ast.Subscript):
        yield found
        outer = parents[found]
        if not (isinstance(outer, ast.Subscript) and outer.value is found):
            return
        found = outer

"""The opposite of a truth value."""

from __future__ import annotations

from weft.loops.emission.tree import Node

_TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def negated(node: Node) -> Node:
    """The opposite of a truth value."""
    if node.op == "not":
        return node.args[0]
    exact = node.op in ("==", "!=") or (node.op in _TURNED and not node.args[0].is_float)
    if exact:
        return Node(_TURNED[node.op], node.type, node.args)
    return Node("not", node.type, (node,))

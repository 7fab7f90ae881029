"""The types of integers that C gives expressions: bits, and whether unsigned."""

from __future__ import annotations

from weft.ir.types import I1
from weft.loops.emission.tree import Node

SIGNED = {8: "char", 16: "short", 32: "int", 64: "long"}
"""Signed types by their bits."""


def kind_of(node: Node) -> tuple[int, bool]:
    """Bits, and whether unsigned, of the type that C gives an expression of integers."""
    match node.op:
        case "int":
            return (32 if -(1 << 31) <= node.number < 1 << 31 else 64), False
        case "thread" | "local" | "block":
            return 64, True
        case "widen":
            return kind_of(node.args[0]) if node.args[0].type is not I1 else (32, False)
        case "name" | "index":
            return max(node.bits, 8), node.reading == "u"
        case "wrap" | "signed" | "unsigned" | "narrow" | "as_int":
            return node.bits, node.reading == "u"
        case "select":
            return joined(node.args[1:])
        case "call":
            return joined(node.args) if node.args and not node.args[0].is_float else (node.bits, False)
        case "<<" | ">>" | "neg" | "~":
            return promoted(kind_of(node.args[0]))
        case _:
            if node.type is I1:
                return 32, False
            return needed_for(node)


def promoted(kind: tuple[int, bool]) -> tuple[int, bool]:
    """The type in which C computes with an integer."""
    return (32, False) if kind[0] < 32 else kind


def joined(nodes: tuple[Node, ...]) -> tuple[int, bool]:
    """The common type of expressions."""
    kinds = [promoted(kind_of(n)) for n in nodes]
    bits = max(k[0] for k in kinds)
    return bits, any(k[1] for k in kinds if k[0] == bits)


def needed_for(node: Node) -> tuple[int, bool]:
    """The type that an operation on integers is to be computed in."""
    return max(node.bits, 32), node.reading == "u" and node.bits >= 32

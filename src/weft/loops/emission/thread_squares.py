"""What tiles in shared memory ask of kernels of two dimensions, whose bodies stand under one condition."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from weft.loops.emission.tree import (
    Assign,
    For,
    If,
    Node,
    Return,
    Statement,
    Store,
    Variable,
    While,
    names_in,
)


def own_counters(body: list[Statement]) -> tuple[Variable, Variable, If] | None:
    """The counters of x and y, which begin apart, and the condition that there is an iteration; if that is all."""
    threads: dict[str, Variable] = {}
    for statement in body[:-1]:
        given = list(_threads(statement.value)) if isinstance(statement, Assign) else []
        if len(given) != 1 or not isinstance(statement, Assign):
            return None
        # A counter that begins at the other's number differs between the threads of one row or column.
        if names_in(statement.value) & {v.name for v in threads.values()}:
            return None
        threads[given[0]] = statement.variable
    last = body[-1] if body else None
    if threads.keys() != {"x", "y"} or len(body) != 3 or not isinstance(last, If) or last.otherwise:
        return None
    return threads["x"], threads["y"], last


def conjuncts(node: Node) -> Iterator[Node]:
    """The conditions that a condition is the conjunction of."""
    if node.op == "and":
        for arg in node.args:
            yield from conjuncts(arg)
    else:
        yield node


def certain_loads(body: list[Statement]) -> Iterator[Node]:
    """The elements that the statements up to the first one with a body load in any case."""
    for statement in body:
        if not isinstance(statement, Assign | Store):
            break
        nodes = [statement.value]
        if isinstance(statement, Store):
            nodes += statement.target.args
        for node in nodes:
            yield from _loads(node)


def with_loads(statement: Statement, used: dict[Node, Node]) -> Statement:
    """A statement without a body, with other expressions in the place of loads."""

    def turn(node: Node) -> Node:
        known = used.get(node)
        return known if known is not None else replace(node, args=tuple(turn(a) for a in node.args))

    match statement:
        case Assign(variable, value):
            return Assign(variable, turn(value))
        case Store(target, value, update):
            return Store(replace(target, args=tuple(turn(a) for a in target.args)), turn(value), update)
        case _:
            return statement


def has_return(body: list[Statement]) -> bool:
    """Whether a thread may end in these statements."""
    return any(
        isinstance(s, Return)
        or (isinstance(s, If) and (has_return(s.then) or has_return(s.otherwise)))
        or (isinstance(s, For | While) and has_return(s.body))
        for s in body
    )


def _loads(node: Node) -> Iterator[Node]:
    if node.op == "index":
        yield node
    args = node.args[:1] if node.op in ("select", "and", "or") else node.args
    for arg in args:
        yield from _loads(arg)


def _threads(node: Node) -> Iterator[str]:
    if node.op == "thread":
        yield node.text
    for arg in node.args:
        yield from _threads(arg)

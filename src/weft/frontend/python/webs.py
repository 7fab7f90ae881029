"""Variables whose assignments do not meet, given names of their own.

Python lets a name hold an array here and a number there. Where no read can see both, they are two variables (a *web* is
the set of assignments and reads that see each other), and each can have a type of its own. Reads are related to the
assignments that reach them over the syntax tree: statements in order, both ways of a branch, loops until nothing more
reaches their begin.

Precondition: a function of the kernel language. Postcondition: a tree of the same meaning, in which the webs of one
variable but the first are called ``name.1``, ``name.2``, which no identifier is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping, Set

from weft.frontend.python.source import FunctionNode

_ENTRY = -1
"""The definition that stands for the parameter, or for no value at all."""

Ways = Mapping[tuple[int, int], Set[bool]]
_NO_WAYS: Ways = {}

State = frozenset[int] | None
"""Which assignments may have given the variable its value; None where control cannot come."""


class _Webs:
    """Reaching definitions of one name, and which of them are one web."""

    def __init__(self, name: str, ways: Ways) -> None:
        self._name = name
        self._ways = ways
        self._parents: dict[int, int] = {_ENTRY: _ENTRY}
        self._nodes: dict[int, ast.Name] = {}
        self._breaks: list[set[int]] = []
        self._continues: list[set[int]] = []

    def find(self, definition: int) -> int:
        """The representative of a web."""
        while self._parents[definition] != definition:
            definition = self._parents[definition]
        return definition

    def _unite(self, definitions: Iterable[int]) -> None:
        roots = sorted({self.find(d) for d in definitions})
        for root in roots[1:]:
            self._parents[root] = roots[0]

    def _define(self, node: ast.Name, state: State) -> State:
        if state is None:
            return None
        self._nodes[id(node)] = node
        self._parents.setdefault(id(node), id(node))
        return frozenset({id(node)})

    def _read(self, node: ast.Name, state: State) -> None:
        if state is None:
            return
        self._nodes[id(node)] = node
        self._parents.setdefault(id(node), id(node))
        self._unite([id(node), *state])

    def expression(self, node: ast.AST | None, state: State) -> State:
        """Go through an expression in the order of its evaluation, nearly enough: only ``:=`` assigns."""
        if node is None:
            return state
        if isinstance(node, ast.NamedExpr):
            return self.target(node.target, self.expression(node.value, state))
        if isinstance(node, ast.Name):
            if node.id == self._name:
                self._read(node, state)
            return state
        joined = state
        for child in ast.iter_child_nodes(node):
            state = self.expression(child, state)
            # What stands behind `and` or in an arm may not have been evaluated.
            joined = _join(joined, state)
        return joined if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Compare)) else state

    def target(self, node: ast.AST, state: State) -> State:
        """Assign to a target."""
        if isinstance(node, ast.Name):
            return self._define(node, state) if node.id == self._name else state
        if isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                state = self.target(element, state)
            return state
        if isinstance(node, ast.Starred):
            return self.target(node.value, state)
        return self.expression(node, state)

    def block(self, statements: list[ast.stmt], state: State) -> State:
        """Go through statements in order."""
        for statement in statements:
            state = self.statement(statement, state)
        return state

    def statement(self, node: ast.stmt, state: State) -> State:
        """What reaches the end of a statement, given what reaches its begin."""
        match node:
            case ast.Assign():
                state = self.expression(node.value, state)
                for target in node.targets:
                    state = self.target(target, state)
                return state
            case ast.AnnAssign():
                return self.target(node.target, self.expression(node.value, state)) if node.value else state
            case ast.AugAssign():
                state = self.expression(node.value, state)
                if isinstance(node.target, ast.Name) and node.target.id == self._name:
                    self._read(node.target, state)
                    return self._define(node.target, state)
                return self.expression(node.target, state)
            case ast.If():
                state = self.expression(node.test, state)
                ways = self._ways.get((node.lineno, node.col_offset)) or {True, False}
                then = self.block(node.body, state if True in ways else None)
                return _join(then, self.block(node.orelse, state if False in ways else None))
            case ast.For():
                return self._loop(node, self.expression(node.iter, state))
            case ast.While():
                return self._loop(node, state)
            case ast.Break():
                if state is not None:
                    self._breaks[-1] |= state
                return None
            case ast.Continue():
                if state is not None:
                    self._continues[-1] |= state
                return None
            case ast.Return() | ast.Raise():
                self.expression(node, state)
                return None
            case _:
                return self.expression(node, state)

    def _loop(self, node: ast.For | ast.While, before: State) -> State:
        head = before
        while True:
            self._breaks.append(set())
            self._continues.append(set())
            inside = self.expression(node.test, head) if isinstance(node, ast.While) else head
            start = inside if isinstance(node, ast.While) else self.target(node.target, head)
            end = self.block(node.body, start)
            left, again = self._breaks.pop(), self._continues.pop()
            if again:
                end = _join(end, frozenset(again))
            grown = _join(head, end)
            if grown == head:
                break
            head = grown
        after = self.block(node.orelse, inside)
        return _join(after, frozenset(left)) if left else after

    def names(self) -> dict[int, str]:
        """What the nodes of all webs but the first are to be called."""
        first = self.find(_ENTRY)
        roots = list(dict.fromkeys(self.find(number) for number in self._nodes))
        others = [root for root in roots if root != first]
        if len(self._nodes) and all(self.find(n) != first for n in self._nodes):
            # Nothing reads what it was before: the first assignment keeps the name.
            others = others[1:]
        called = {root: f"{self._name}.{number}" for number, root in enumerate(others, 1)}
        return {n: called[self.find(n)] for n in self._nodes if self.find(n) in called}


def _join(a: State, b: State) -> State:
    if a is None or b is None:
        return b if a is None else a
    return a | b


def split_variable(node: FunctionNode, name: str, ways: Ways = _NO_WAYS) -> FunctionNode | None:
    """The function with the webs of a variable apart; None where they are one, or a function inside reads it.

    `ways` says of an ``if``, by its line and column, which of its arms are ever taken.
    """
    if not isinstance(node, ast.FunctionDef):
        return None
    inner = [n for n in ast.walk(node) if n is not node and isinstance(n, (ast.FunctionDef, ast.Lambda))]
    if any(isinstance(n, ast.Name) and n.id == name for function in inner for n in ast.walk(function)):
        return None
    made = copy.deepcopy(node)
    webs = _Webs(name, ways)
    webs.block(made.body, frozenset({_ENTRY}))
    called = webs.names()
    if not called:
        return None
    for each in ast.walk(made):
        if isinstance(each, ast.Name) and id(each) in called:
            each.id = called[id(each)]
    return made


def written_name(name: str) -> str:
    """The variable as it stands in the source."""
    return name.partition(".")[0]

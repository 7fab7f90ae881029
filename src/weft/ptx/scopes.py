"""Bodies without scopes: every register, variable and label of a function gets a name of its own.

Inline assembly and call sequences have braces with declarations of their own, often under the same names each time.
Analyses and register allocation want one name for one thing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from weft.ptx.syntax import (
    Address,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Element,
    Function,
    Group,
    Guard,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    Register,
    RegisterDeclaration,
    RegisterNames,
    ScopeBegin,
    ScopeEnd,
    Statement,
    Symbol,
    Variable,
    Vector,
)

_Rename = Callable[[str], str]


@dataclasses.dataclass(slots=True)
class _Scope:
    """What a scope declares: old names with new ones. The outermost keeps its names."""

    outer: _Scope | None
    names: dict[str, str] = dataclasses.field(default_factory=dict)

    def __call__(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            new = scope.names.get(name)
            if new is not None:
                return new
            scope = scope.outer
        return name


def without_scopes(function: Function) -> Function:
    """The function without `ScopeBegin` and `ScopeEnd`; names that inner scopes declare are changed where need be.

    A function without scopes, or without a body, is returned as it is.
    """
    if function.body is None or not any(type(statement) is ScopeBegin for statement in function.body):
        return function
    scopes = _declared(function)
    _choose_names(scopes)
    at = iter(scopes)
    scope = next(at)
    body: list[Statement] = []
    for statement in function.body:
        if type(statement) is ScopeBegin:
            scope = next(at)
        elif type(statement) is ScopeEnd:
            assert scope.outer is not None
            scope = scope.outer
        else:
            body.append(_renamed_statement(statement, scope))
    return dataclasses.replace(function, body=body)


def _declared(function: Function) -> list[_Scope]:
    """The scopes in the order in which they begin, the function's own first."""
    scope = _Scope(None)
    scopes = [scope]
    for parameter in (*function.returns, *function.parameters):
        scope.names[parameter.name] = parameter.name
    for statement in function.body or ():
        if type(statement) is ScopeBegin:
            scope = _Scope(scope)
            scopes.append(scope)
        elif type(statement) is ScopeEnd:
            assert scope.outer is not None
            scope = scope.outer
        else:
            for name in _names_of(statement):
                scope.names[name] = name
    return scopes


def _names_of(statement: Statement) -> Iterator[str]:
    if isinstance(statement, RegisterDeclaration):
        yield from statement.names()
    elif isinstance(statement, Variable):
        yield from RegisterNames(statement.name, statement.count).names()
    elif isinstance(statement, Label | BranchTargets | CallTargets | CallPrototype):
        yield statement.name


def _choose_names(scopes: list[_Scope]) -> None:
    taken = {name for scope in scopes for name in scope.names}
    used = set(scopes[0].names)
    for scope in scopes[1:]:
        for name in scope.names:
            new, number = name, 0
            while new in used:
                number += 1
                new = f"{name}${number}"
                if new in taken:
                    new = name
            used.add(new)
            scope.names[name] = new


def _renamed_statement(statement: Statement, rename: _Rename) -> Statement:
    match statement:
        case Instruction():
            guard = statement.guard
            if guard is not None:
                guard = Guard(Register(rename(guard.register.name)), guard.negated)
            operands = tuple(_renamed(operand, rename) for operand in statement.operands)
            return dataclasses.replace(statement, operands=operands, guard=guard)
        case RegisterDeclaration():
            return dataclasses.replace(statement, declared=_renamed_names(statement.declared, rename))
        case BranchTargets():
            targets = _renamed_names(statement.targets, rename)
            return dataclasses.replace(statement, name=rename(statement.name), targets=targets)
        case Variable(count=None) | Label() | CallTargets() | CallPrototype():
            return dataclasses.replace(statement, name=rename(statement.name))
        case _:
            return statement


def _renamed_names(parts: tuple[RegisterNames, ...], rename: _Rename) -> tuple[RegisterNames, ...]:
    """The parts with new names; a series of which names change is written out."""
    result: list[RegisterNames] = []
    for part in parts:
        if all(rename(name) == name for name in part.names()):
            result.append(part)
        else:
            result.extend(RegisterNames(rename(name)) for name in part.names())
    return tuple(result)


def _renamed(operand: Operand, rename: _Rename) -> Operand:
    match operand:
        case Register(name) | Symbol(name) | Element(name):
            new = rename(name)
            return operand if new == name else dataclasses.replace(operand, name=new)
        case Vector(parts) | Group(parts):
            return type(operand)(tuple(_renamed(part, rename) for part in parts))
        case Pair(first, second):
            return Pair(_renamed(first, rename), _renamed(second, rename))
        case Negated(inner, sign):
            return Negated(_renamed(inner, rename), sign)
        case Address(base, _, more):
            new = _renamed(base, rename)
            return dataclasses.replace(operand, base=new, more=tuple(_renamed(part, rename) for part in more))
        case _:
            return operand

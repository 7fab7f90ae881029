"""Lists of statements without what does nothing: jumps to where control goes anyway, empty ifs, values nobody reads."""

from __future__ import annotations

from msgspec.structs import replace

from weft.ir.types import I1, I64
from weft.loops.emission.negation import negated
from weft.loops.emission.tree import (
    Assign,
    Continue,
    For,
    If,
    Node,
    Return,
    Statement,
    Variable,
    While,
    names_of,
)


def without_last_jump(body: list[Statement]) -> list[Statement]:
    """A loop's body without what begins the next iteration at its end anyway."""
    while body and isinstance(body[-1], Continue | Return):
        body = body[:-1]
    if body and isinstance(body[-1], If):
        last = body[-1]
        last.then, last.otherwise = without_last_jump(last.then), without_last_jump(last.otherwise)
    return body


def tidy(body: list[Statement]) -> list[Statement]:
    """Statements without ifs that do nothing, and with conditions of ifs inside of each other in one."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For | While):
            statement.body = tidy(statement.body)
        elif isinstance(statement, If):
            statement.then, statement.otherwise = tidy(statement.then), tidy(statement.otherwise)
            if not statement.then and not statement.otherwise:
                continue
            if not statement.then:
                statement = If(negated(statement.condition), statement.otherwise)
            while len(statement.then) == 2 and _is_thread(statement.then[0]) and not statement.otherwise:
                found.append(statement.then.pop(0))
            inner = statement.then[0]
            if (
                not statement.otherwise
                and len(statement.then) == 1
                and isinstance(inner, If)
                and not inner.otherwise
            ):
                both = Node("and", I1, (statement.condition, inner.condition))
                statement = If(both, inner.then)
        found.append(statement)
    return found


def guarded(body: list[Statement]) -> list[Statement]:
    """Statements behind a test that ends the thread, as statements under the opposite condition."""
    first = body[0] if body else None
    if (
        isinstance(first, If)
        and len(first.then) == 1
        and isinstance(first.then[0], Return)
        and not first.otherwise
    ):
        return [If(negated(first.condition), body[1:])]
    return body


def _is_thread(statement: Statement) -> bool:
    """Whether a statement computes the iteration of a thread, which does no harm outside of a condition."""

    def has_thread(node: Node) -> bool:
        return node.op == "thread" or any(has_thread(a) for a in node.args)

    return isinstance(statement, Assign) and has_thread(statement.value)


def without_unused(body: list[Statement], wanted: set[str]) -> list[Statement]:
    """Statements without assignments that nothing reads, and without ifs and loops that do nothing."""
    while True:
        read = wanted | _read(body)
        kept = _without(body, read)
        if _size(kept) == _size(body):
            return kept
        body = kept


def without_last_values(body: list[Statement]) -> list[Statement]:
    """The statements of a thread without assignments at their end, which nothing reads."""
    while body:
        last = body[-1]
        if isinstance(last, If):
            then, otherwise = without_last_values(last.then), without_last_values(last.otherwise)
            if then or otherwise:
                return [*body[:-1], If(last.condition, then, otherwise)]
        elif not isinstance(last, Assign):
            return body
        body = body[:-1]
    return body


def _without(body: list[Statement], read: set[str]) -> list[Statement]:
    found: list[Statement] = []
    for statement in body:
        match statement:
            case Assign(variable, _) if variable.name not in read:
                continue
            case If(condition, then, otherwise):
                then, otherwise = _without(then, read), _without(otherwise, read)
                if not then and not otherwise:
                    continue
                statement = If(condition, then, otherwise)
            case For() | While():
                inner = _without(statement.body, read)
                if not inner:
                    continue
                statement = replace(statement, body=inner)
            case _:
                pass
        found.append(statement)
    return found


def _read(body: list[Statement]) -> set[str]:
    """The variables that statements read; an update of a variable by itself counts as none."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case Assign(variable, value):
                own = names_of([Assign(variable, value)])
                found |= own - {variable.name}
            case If(condition, then, otherwise):
                found |= names_of([If(condition)]) | _read(then) | _read(otherwise)
            case For(_, start, stop, _, inner):
                found |= names_of([Assign(Variable("", I64, "s"), n) for n in (start, stop)]) | _read(inner)
            case While(condition, inner):
                found |= names_of([While(condition)]) | _read(inner)
            case _:
                found |= names_of([statement])
    return found


def _size(body: list[Statement]) -> int:
    total = 0
    for statement in body:
        total += 1
        match statement:
            case If(_, then, otherwise):
                total += _size(then) + _size(otherwise)
            case For() | While():
                total += _size(statement.body)
            case _:
                pass
    return total


def has_return(body: list[Statement]) -> bool:
    """Whether some statement, or one in it, returns."""
    for statement in body:
        match statement:
            case Return():
                return True
            case If(_, then, otherwise):
                if has_return(then) or has_return(otherwise):
                    return True
            case For() | While():
                if has_return(statement.body):
                    return True
            case _:
                pass
    return False

"""What is computed of some values: by their users, and the users of these, where a question about each of them says so.

A value is looked at once, however many ways lead to it, and by no recursion: expressions of a program may be long, and
have parts in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.ir import Instruction, Value


def computed_of(values: Iterable[Value], by: Callable[[Instruction, Value], bool]) -> set[Value]:
    """Some values, and all that is computed of them by instructions; `by` is asked of each and its operand."""
    work = list(values)
    found = set(work)
    while work:
        value = work.pop()
        for user in value.instruction_users():
            if user not in found and by(user, value):
                found.add(user)
                work.append(user)
    return found

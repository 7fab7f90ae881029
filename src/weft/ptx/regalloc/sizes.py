"""How many registers of 32 bits a value takes.

One file of 32-bit registers holds values of every class but predicates, which have a file of their own: 64 bits take
two, 128 bits four, and anything smaller one.
"""

from __future__ import annotations

from weft.ptx.syntax import Function, RegisterDeclaration
from weft.ptx.types import bits_of


def words_of(type: str, vector: int = 0) -> int:
    """Registers of 32 bits that a value of a type takes; 0 for a predicate."""
    if type == "pred":
        return 0
    return max(1, bits_of(type) // 32) * max(1, vector)


def register_words(function: Function) -> dict[str, int]:
    """The size of every register that a function without scopes declares, its parameters among them."""
    words = {
        parameter.name: words_of(parameter.type, parameter.vector)
        for parameter in (*function.returns, *function.parameters)
        if parameter.space == "reg"
    }
    for statement in function.body or ():
        if isinstance(statement, RegisterDeclaration):
            size = words_of(statement.type, statement.vector)
            words.update((name, size) for name in statement.names())
    return words

"""What names are declared to be, as the checks see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from weft.ptx.syntax import (
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Function,
    Label,
    Statement,
    Variable,
)


@dataclass(frozen=True, slots=True)
class DeclaredRegister:
    """A register's type, and how many elements it has (0 for a scalar)."""

    type: str
    vector: int = 0


Declared: TypeAlias = (
    DeclaredRegister | Variable | Function | Alias | Label | BranchTargets | CallTargets | CallPrototype
)
"""What a name can stand for."""


def kind_of(declared: Declared) -> str:
    """What it is, in words."""
    return {
        DeclaredRegister: "register",
        Variable: "variable",
        Function: "function",
        Alias: "function",
        Label: "label",
        BranchTargets: "list of branch targets",
        CallTargets: "list of functions",
        CallPrototype: "prototype",
    }[type(declared)]


def labelled(statement: Statement) -> Label | BranchTargets | CallTargets | CallPrototype | None:
    """The statement if it declares a name that may be used before it."""
    if isinstance(statement, Label | BranchTargets | CallTargets | CallPrototype):
        return statement
    return None

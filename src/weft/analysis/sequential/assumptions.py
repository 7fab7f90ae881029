"""What is not proved of a program, and what is said of it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.symbolic.expression import Expression
from weft.ir import BasicBlock


@dataclass(frozen=True, slots=True)
class Obligation:
    """What numbers have to be for an assumption to be right.

    Parameters
    ----------
    value
        An expression.
    block
        Where it has to hold, each time control comes there.
    is_nonnegative
        Whether it has to be 0 or greater; else it has to be a number of 64 bits with a sign.
    """

    value: Expression
    block: BasicBlock
    is_nonnegative: bool = False


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that is not proved and that what is reported rests on.

    Parameters
    ----------
    kind
        ``wrap``, ``overlap``, ``sign``, ``bounds``, ``nan``, ``reassociation`` or ``alignment``.
    text
        The sentence, without its full stop.
    line
        The line it is about, 0 for none.
    condition
        An expression of parameters that is 0 or greater where it is right, None where there is none.
    obligation
        The same of values in the loop.
    """

    kind: str
    text: str
    line: int = 0
    condition: Expression | None = None
    obligation: Obligation | None = None

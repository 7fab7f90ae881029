"""Votes in LLVM's text: what asks for the bits of a mask whether any is set, whether all are, or how many.

    bits = bitcast <32 x i1> m to i32
    any = icmp ne i32 bits, 0
    many = call i32 @llvm.ctpop.i32(i32 bits)

Precondition: LLVM's text behind its pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from weft.target.definitions import FunctionLines

VOTE = re.compile(r"bitcast <(?:8|16|32|64) x i1> ")
"""What a text with votes has in it."""

_BITS = re.compile(r"bitcast <(?P<lanes>8|16|32|64) x i1> (?P<mask>%\S+) to i(?P=lanes)\b")
_ANY = re.compile(
    r"icmp (?P<predicate>eq|ne) i(?P<lanes>\d+) (?P<bits>%[^\s,]+), (?P<settled>0|-1)(?P<rest>(?:, !.*)?)"
)
_COUNT = re.compile(
    r".*call .*i(?P<lanes>\d+) @llvm\.ctpop\.i(?P=lanes)\(i(?P=lanes) (?P<bits>%[^\s,)]+)\)(?P<rest>.*)"
)


class Vote(Struct, frozen=True):
    """A vote.

    Parameters
    ----------
    name
        Of the answer.
    predicate, settled
        Of the bits as a number is asked whether it is ``eq`` or ``ne`` to this one, 0 or -1; None of how many are set.
    rest
        The line's metadata, with the comma before it.
    """

    name: str
    predicate: str | None
    settled: str | None
    rest: str

    @property
    def counts(self) -> bool:
        """Whether it asks how many bits are set."""
        return self.predicate is None

    @property
    def joins(self) -> str:
        """How registers of which it asks the same are joined: all bits are set if they are in each register."""
        return "or" if self.settled == "0" else "and"


class Voters(Struct, frozen=True):
    """The bits of a mask of so many lanes, and all the votes that are taken of them."""

    bits: str
    mask: str
    lanes: int
    votes: tuple[Vote, ...]


def voters(text: FunctionLines, uses: Callable[[str], int]) -> Iterator[Voters]:
    """Bits of which nothing but votes is made; `uses` tells in how many places a name is, where it is made included."""
    asked: dict[str, list[Vote]] = {}
    for name, (_, line) in text.defined.items():
        if (found := _ANY.fullmatch(line)) is not None:
            vote = Vote(name, found["predicate"], found["settled"], found["rest"])
        elif "@llvm.ctpop." in line and (found := _COUNT.fullmatch(line)) is not None:
            vote = Vote(name, None, None, found["rest"])
        else:
            continue
        asked.setdefault(found["bits"], []).append(vote)
    for bits, votes in asked.items():
        found = _BITS.match(text.defined[bits][1]) if bits in text.defined else None
        if found is not None and uses(bits) == 1 + len(votes):
            yield Voters(bits, found["mask"].rstrip(","), int(found["lanes"]), tuple(votes))

"""What a line of LLVM's text makes a mask of, taken apart.

`mask_line` reads what is right of ``=``: a comparison, two masks that are joined, one that is frozen, or neighbouring
lanes of one. Masks that are chosen by a mask are joined if one of the two is the same in all lanes, as InstCombine
writes ``a and b`` and ``a or b`` whose second part may be poison where the first one decides.

Precondition: LLVM's text as LLVM prints it, behind InstCombine. Postcondition: what a line is read as makes the same
mask as the line does; other lines are read as None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from weft.target.definitions import WIDTHS

TRUE, FALSE = "splat (i1 true)", "zeroinitializer"
"""Masks of all lanes and of none."""

_REST = r"(?P<rest>(?:, !.*)?)"
_MASK = r"%[^\s,]+|splat \(i1 true\)|zeroinitializer"
VALUE = r"%[^\s,]+|zeroinitializer|splat \([^()]*\)|<[^<>]*>"
"""A vector's name, or a constant that is no poison."""
_COMPARISON = re.compile(
    r"(?P<op>[fi]cmp(?: [a-z]+)*) (?P<predicate>[a-z]+) "
    rf"<(?P<lanes>\d+) x (?P<type>i8|i16|i32|i64|float|double)> (?P<left>{VALUE}), (?P<right>{VALUE})(?:, !.*)?"
)
_LOGIC = re.compile(
    rf"(?P<op>and|or|xor)(?: disjoint)? <(?P<lanes>\d+) x i1> (?P<first>{_MASK}), (?P<second>{_MASK}){_REST}"
)
_CHOICE = re.compile(
    rf"select <(?P<lanes>\d+) x i1> (?P<mask>{_MASK}), <\d+ x i1> (?P<one>{_MASK}), "
    rf"<\d+ x i1> (?P<other>{_MASK}){_REST}"
)
_FROZEN = re.compile(rf"freeze <\d+ x i1> (?P<mask>%[^\s,]+){_REST}")
_PART = re.compile(
    r"shufflevector <(?P<lanes>\d+) x i1> (?P<mask>%[^\s,]+), <\d+ x i1> poison, "
    rf"<\d+ x i32> <(?P<places>[^>]*)>{_REST}"
)
_SIDES = re.compile(
    r"shufflevector <\d+ x i1> (?P<low>%[^\s,]+), <(?P<half>\d+) x i1> (?P<high>%[^\s,]+), "
    r"<\d+ x i32> <(?P<places>[^>]*)>(?:, !.*)?"
)
_PLACE = re.compile(r"i32 (\d+)")
_POISONS = frozenset(("fast", "nnan", "ninf", "samesign"))
_OPPOSITES = {
    "icmp": (("eq", "ne"), ("ugt", "ule"), ("uge", "ult"), ("sgt", "sle"), ("sge", "slt")),
    "fcmp": (
        *(("oeq", "une"), ("ogt", "ule"), ("oge", "ult"), ("olt", "uge"), ("ole", "ugt"), ("one", "ueq")),
        *(("ord", "uno"), ("true", "false")),
    ),
}
_INVERSES = {op: {**dict(pairs), **{b: a for a, b in pairs}} for op, pairs in _OPPOSITES.items()}


class Comparison(Struct, frozen=True):
    """A comparison, lane by lane.

    Parameters
    ----------
    op
        ``icmp`` or ``fcmp`` and its flags.
    predicate
        LLVM's name.
    lanes
        How many.
    type
        Of a lane of what is compared.
    left, right
        What is compared: names or constants.
    """

    op: str
    predicate: str
    lanes: int
    type: str
    left: str
    right: str

    @property
    def bits(self) -> int:
        """Of a lane of what is compared."""
        return WIDTHS[self.type]

    @property
    def operands(self) -> tuple[str, str]:
        """What is compared."""
        return self.left, self.right

    def of(self, lanes: int, left: str, right: str, *, frozen: bool = False) -> str:
        """The same comparison of other vectors; if they are frozen, without flags that would make poison of them."""
        op = " ".join(word for word in self.op.split() if not frozen or word not in _POISONS)
        return f"{op} {self.predicate} <{lanes} x {self.type}> {left}, {right}"

    def inverse(self) -> str:
        """The comparison that gives the opposite in each lane."""
        predicate = _INVERSES[self.op[:4]][self.predicate]
        return f"{self.op} {predicate} <{self.lanes} x {self.type}> {self.left}, {self.right}"


class Join(Struct, frozen=True):
    """Two masks that are joined.

    Parameters
    ----------
    op
        ``and``, ``or`` or ``xor``.
    lanes
        How many.
    first, second
        The masks: names, or `TRUE` or `FALSE`.
    by_choice
        Whether the second one counts only where the first one does not decide, and may be poison elsewhere.
    rest
        The line's metadata, with the comma before it.
    """

    op: str
    lanes: int
    first: str
    second: str
    by_choice: bool
    rest: str

    @property
    def is_inverse(self) -> bool:
        """Whether it is the opposite of the first one."""
        return self.op == "xor" and self.second == TRUE

    def of(self, lanes: int, first: str, second: str) -> str:
        """The same of other masks."""
        type = f"<{lanes} x i1>"
        if not self.by_choice:
            return f"{self.op} {type} {first}, {second}"
        ways = (second, FALSE) if self.op == "and" else (TRUE, second)
        return f"select {type} {first}, {type} {ways[0]}, {type} {ways[1]}"


class Frozen(Struct, frozen=True):
    """A mask whose lanes are no poison any more."""

    mask: str
    rest: str


class Lanes(Struct, frozen=True):
    """So many lanes of a vector, from one on."""

    first: int
    count: int

    def within(self, lanes: Lanes | None) -> Lanes:
        """Lanes of these, or all of them, as lanes of the vector."""
        return self if lanes is None else Lanes(self.first + lanes.first, lanes.count)

    def of(self, whole: int, type: str, value: str, new: Callable[[str], str]) -> str:
        """These lanes of a vector of ``whole``: of a constant as a constant, else as what a new line makes."""
        if value.startswith("<"):
            return f"<{', '.join(value[1:-1].split(', ')[self.first : self.first + self.count])}>"
        if not value.startswith("%") or self.count == whole:
            return value
        vector = f"<{whole} x {type}>"
        places = ", ".join(f"i32 {k}" for k in range(self.first, self.first + self.count))
        return new(f"shufflevector {vector} {value}, {vector} poison, <{self.count} x i32> <{places}>")


class Part(Struct, frozen=True):
    """Neighbouring lanes of a mask."""

    mask: str
    lanes: Lanes


class SideBySide(Struct, frozen=True):
    """A mask of so many lanes that is made of two, each of half as many."""

    lanes: int
    low: str
    high: str


def side_by_side(parts: Sequence[str], lanes: int, type: str, new: Callable[[str], str]) -> str:
    """What makes one vector of vectors of so many lanes each, two or four or more; `new` writes lines for parts."""
    while True:
        places = ", ".join(f"i32 {k}" for k in range(2 * lanes))
        pairs = [
            f"shufflevector <{lanes} x {type}> {low}, <{lanes} x {type}> {high}, <{2 * lanes} x i32> <{places}>"
            for low, high in zip(parts[::2], parts[1::2], strict=True)
        ]
        if len(pairs) == 1:
            return pairs[0]
        parts, lanes = [new(pair) for pair in pairs], 2 * lanes


MaskLine = Comparison | Join | Frozen | Part | SideBySide


def mask_line(right: str) -> MaskLine | None:
    """What makes a mask in a line, given what is right of its ``=``; None for all else."""
    if found := _COMPARISON.fullmatch(right):
        op, predicate, lanes, type, left, other = found.groups()
        return Comparison(op, predicate, int(lanes), type, left, other)
    if found := _LOGIC.fullmatch(right):
        return Join(found["op"], int(found["lanes"]), found["first"], found["second"], False, found["rest"])
    if found := _CHOICE.fullmatch(right):
        lanes, mask, one, other, rest = found.groups()
        if other == FALSE:
            return Join("and", int(lanes), mask, one, True, rest)
        return Join("or", int(lanes), mask, other, True, rest) if one == TRUE else None
    if found := _FROZEN.fullmatch(right):
        return Frozen(found["mask"], found["rest"])
    if found := _PART.fullmatch(right):
        places = [int(place) for place in _PLACE.findall(found["places"])]
        whole, count = int(found["lanes"]), found["places"].count(",") + 1
        side_by_side = len(places) == count and places == list(range(places[0], places[0] + count))
        if side_by_side and places[-1] < whole:
            return Part(found["mask"], Lanes(places[0], count))
    if found := _SIDES.fullmatch(right):
        lanes = 2 * int(found["half"])
        if [int(place) for place in _PLACE.findall(found["places"])] == list(range(lanes)):
            return SideBySide(lanes, found["low"], found["high"])
    return None

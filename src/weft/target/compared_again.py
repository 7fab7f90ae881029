"""Masks are compared again where other blocks use them, and of a mask's parts only the parts are.

Where there are no registers for masks, LLVM packs a mask that a block hands to another one, a byte or two a lane, and
the other block unpacks it, with shuffles across the halves of registers, eight or more for each register of doubles.
A comparison takes one instruction a register, and what it compares is in registers, or on the stack::

    m = fcmp ogt <32 x double> a, b               m = fcmp ogt <32 x double> a, b
    ...                                           ...
    other:                                ==>     other:
      part = shufflevector m, <4, 5, 6, 7>          part = fcmp ogt <4 x double> (a's <4, 5, 6, 7>), (b's)
      masked.store(..., part)                       masked.store(..., part)

So are masks that are joined of few comparisons. A frozen one is joined of comparisons of frozen numbers.

Measured on Zen 3: `if x[i] > t: y[i] = 2 * x[i]` with a condition that holds by chance takes 6 ns for eight doubles,
13 with packed masks. What four comparisons or more were joined of took up the registers of others (Born radii, 1.07
times).

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back. Postcondition: on x86 without
registers for masks, only φs use a mask of another block that is joined of `MOST_COMPARISONS` comparisons or fewer, if
their lanes have more bits than LLVM packs them to. Preserves what functions give, in all lanes.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, LINE, NAME, POISONS, WIDTHS, parts_by_definition

MOST_COMPARISONS = 2
"""Of how many a mask is joined that is made again."""

_VALUE = r"%[^\s,]+|zeroinitializer|splat \([^()]*\)|<[^<>]*>"
_COMPARISON = re.compile(
    r"(?P<op>[fi]cmp(?: [a-z]+)*) <(?P<lanes>\d+) x (?P<type>i8|i16|i32|i64|float|double)> "
    rf"(?P<left>{_VALUE}), (?P<right>{_VALUE})(?:, !.*)?"
)
_LOGIC = re.compile(
    r"(?P<op>and|or|or disjoint|xor) <(?P<lanes>\d+) x i1> "
    r"(?P<left>%[^\s,]+), (?P<right>%[^\s,]+|splat \(i1 true\))(?:, !.*)?"
)
_SELECT = re.compile(
    r"select <(?P<lanes>\d+) x i1> (?P<left>%[^\s,]+), <\d+ x i1> (?P<right>%[^\s,]+|splat \(i1 true\)), "
    r"<\d+ x i1> (?P<other>%[^\s,]+|zeroinitializer)(?:, !.*)?"
)
_PART = re.compile(
    r"shufflevector <(?P<lanes>\d+) x i1> (?P<mask>%[^\s,]+), <\d+ x i1> poison, "
    r"<(?P<count>\d+) x i32> <(?P<places>[^>]*)>(?:, !.*)?"
)
_FREEZE = re.compile(r"freeze <(?P<lanes>\d+) x i1> (?P<mask>%[^\s,]+)(?:, !.*)?")
_TRUE, _FALSE = "splat (i1 true)", "zeroinitializer"
_NO_MASK = MOST_COMPARISONS + 1


def with_compared_again(text: str, isa: Isa) -> str | None:
    """A module's text with such masks; None where it has none."""
    if isa.arch != "x86_64" or isa.mask_registers:
        return None
    parts = parts_by_definition(text)
    done = [_Masks(part) if " x i1>" in part else None for part in parts]
    if not any(masks is not None and masks.made for masks in done):
        return None
    return "".join(
        part if masks is None else "\n".join(masks.lines) for part, masks in zip(parts, done, strict=True)
    )


class _Lanes(Struct, frozen=True):
    """So many lanes from one on, of the whole that a mask has."""

    first: int
    count: int

    def among(self, constant: str) -> str:
        """These lanes of a constant."""
        if not constant.startswith("<"):
            return constant
        return f"<{', '.join(constant[1:-1].split(', ')[self.first : self.first + self.count])}>"

    def of(self, whole: int, type: str, value: str) -> str:
        """What makes these lanes of a vector."""
        vector = f"<{whole} x {type}>"
        places = ", ".join(f"i32 {k}" for k in range(self.first, self.first + self.count))
        return f"shufflevector {vector} {value}, {vector} poison, <{self.count} x i32> <{places}>"


class _Masks:
    """The masks of one function: the lines of its text, and how many are made again."""

    __slots__ = ("_again", "_at", "_blocks", "_defined", "_known", "_prefix", "lines", "made")

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.made = 0
        self._prefix = "%weft.again"
        while self._prefix in text:
            # Of masks that have been made so before LLVM has looked at the text again.
            self._prefix += ".again"
        self._defined: dict[str, str] = {}
        self._known: dict[str, int] = {}
        self._at: dict[str, int] = {}
        self._blocks: list[int] = []
        for number, line in enumerate(self.lines):
            self._blocks.append(number if LABEL.match(line) else self._blocks[-1] if number else 0)
            if found := LINE.match(line):
                self._defined[found[1]], self._at[found[1]] = found[2], self._blocks[number]
        self._again: dict[tuple[int, str], str] = {}
        for number, line in enumerate(self.lines):
            if "x i1> " in line and " = phi " not in line and not line.startswith("define "):
                self._look_at(number)

    def _look_at(self, number: int) -> None:
        """Let a line use masks that are made in its block, in lines before it."""
        line, block, made = self.lines[number], self._blocks[number], list[str]()
        found = LINE.match(line)
        own, right = (found[1], found[2]) if found else ("", line)
        part, frozen = _PART.fullmatch(right), _FREEZE.fullmatch(right)
        lanes = _lanes_of(part) if part else None
        if part is not None and lanes is not None and self._comparisons(part["mask"]) <= MOST_COMPARISONS:
            self._rename(own, self._write(part["mask"], lanes, made, frozen=False), made)
        elif frozen is not None and self._comparisons(frozen["mask"]) <= MOST_COMPARISONS:
            self._rename(own, self._write(frozen["mask"], None, made, frozen=True), made)
        else:
            changed = NAME.sub(lambda name: self._here(name[0], block, made), right)
            if not made and changed == right:
                return
            made.append(f"  {own} = {changed}" if found else changed)
        self.lines[number] = "\n".join(made)
        self.made += 1

    def _rename(self, own: str, name: str, made: list[str]) -> None:
        """Let what the last line makes have the name that a mask has had."""
        made[-1] = f"  {own} = {self._defined[name]}"
        self._defined[own] = self._defined.pop(name)
        self._known.pop(own, None)

    def _here(self, name: str, block: int, made: list[str]) -> str:
        """A mask as it is made in a block; other values as they are."""
        if self._at.get(name, block) == block or self._comparisons(name) > MOST_COMPARISONS:
            return name
        key = (block, name)
        if key not in self._again:
            self._again[key] = self._write(name, None, made, frozen=False)
        return self._again[key]

    def _comparisons(self, mask: str) -> int:
        """Of how many comparisons a mask is joined; more than `MOST_COMPARISONS` where it is better left alone."""
        if mask in (_TRUE, _FALSE):
            return 0
        known = self._known.get(mask)
        if known is None:
            # Masks in loops are of φs, so none is joined of itself.
            known = self._known[mask] = min(self._count(self._defined.get(mask, "")), _NO_MASK)
        return known

    def _count(self, line: str) -> int:
        if found := _COMPARISON.fullmatch(line):
            packed_to = max(8, 128 // int(found["lanes"]))
            return 1 if WIDTHS[found["type"]] > packed_to else _NO_MASK
        if found := _PART.fullmatch(line):
            return self._comparisons(found["mask"]) if _lanes_of(found) else _NO_MASK
        if found := _LOGIC.fullmatch(line) or _SELECT.fullmatch(line):
            masks = [found[name] for name in ("left", "right", "other") if name in found.re.groupindex]
            return sum(self._comparisons(mask) for mask in masks)
        return _NO_MASK

    def _write(self, mask: str, lanes: _Lanes | None, made: list[str], *, frozen: bool) -> str:
        """Write the lines that make lanes of a mask, or all of them, of frozen numbers where it is frozen; its name."""
        if mask in (_TRUE, _FALSE):
            return mask
        line = self._defined[mask]

        def new(line: str) -> str:
            name = f"{self._prefix}.{self.made}.{len(made)}"
            made.append(f"  {name} = {line}")
            self._defined[name] = line
            return name

        if found := _PART.fullmatch(line):
            part = _lanes_of(found)
            assert part is not None
            inner = part if lanes is None else _Lanes(part.first + lanes.first, lanes.count)
            return self._write(found["mask"], inner, made, frozen=frozen)
        if found := _COMPARISON.fullmatch(line):
            whole, type, op = int(found["lanes"]), found["type"], found["op"]
            count = lanes.count if lanes else whole
            values = [found["left"], found["right"]]
            if lanes is not None and count < whole:
                values = [
                    new(lanes.of(whole, type, v)) if v.startswith("%") else lanes.among(v) for v in values
                ]
            if frozen:
                values = [new(f"freeze <{count} x {type}> {v}") if v.startswith("%") else v for v in values]
                op = " ".join(word for word in op.split() if word not in POISONS)
            return new(f"{op} <{count} x {type}> {', '.join(values)}")
        found = _LOGIC.fullmatch(line) or _SELECT.fullmatch(line)
        assert found is not None
        type = f"<{lanes.count if lanes else found['lanes']} x i1>"
        left, right = (self._write(found[m], lanes, made, frozen=frozen) for m in ("left", "right"))
        if found.re is _SELECT:
            other = self._write(found["other"], lanes, made, frozen=frozen)
            return new(f"select {type} {left}, {type} {right}, {type} {other}")
        return new(f"{found['op'].removesuffix(' disjoint')} {type} {left}, {right}")


def _lanes_of(part: re.Match[str]) -> _Lanes | None:
    """The lanes that are taken of a mask, if they lie side by side in it."""
    places = [int(place) for place in re.findall(r"i32 (\d+)", part["places"])]
    if len(places) != int(part["count"]) or places != list(range(places[0], places[0] + len(places))):
        return None
    return _Lanes(places[0], len(places)) if places[-1] < int(part["lanes"]) else None

"""Masks that are joined of comparisons are numbers of as many bits as what was compared.

Where there are no registers for masks, a comparison of 32-bit numbers gives 32 bits for each lane, and blends, masked
accesses and sums want as many. Of two that are joined, and whose lanes fill several registers, LLVM makes one register
of bytes first: it packs both, joins the bytes, and spreads them over as many registers again for each use, across the
halves of registers. Numbers of which the sign says whether a lane is on are joined as they are::

    both = select <16 x i1> m, n, false           wide = select m, (sext <16 x i1> n to <16 x i32>), 0
    ...select <16 x i1> both, ...            ==>  both = icmp slt <16 x i32> wide, 0
    more = zext <16 x i1> both                    ...

What a comparison with 0 is used for takes the sign, so it costs nothing. Other blocks are given the numbers, and
compare them again, where these are in few registers.

Measured on Zen 3: loops with ``if a and b`` take 0.43 to 0.57 of the time in 16 and 32 lanes of floats, 0.52 to 0.72 of
doubles; a walk that counts points near others in 16 lanes takes 0.80. On SSE2 the loops take 0.75 to 1.15.

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back. Postcondition: on x86 without
registers for masks, masks that are joined in their block of comparisons of one width, or of 32 and 64 bits, and whose
lanes fill several registers are comparisons of such numbers, of the fewer bits, in each block that uses them. Preserves
what functions give, in all lanes.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, LINE, NAME, WIDTHS, parts_by_definition

_VALUE = r"%[^\s,]+"
_COMPARISON = re.compile(r"[fi]cmp(?: [a-z]+)+ <(?P<lanes>\d+) x (?P<type>i16|i32|i64|float|double)> ")
_LOGIC = re.compile(
    rf"(?P<op>and|or|or disjoint) <\d+ x i1> (?P<one>{_VALUE}), (?P<other>{_VALUE})(?P<rest>(?:, !.*)?)"
)
_NOT = re.compile(rf"xor <\d+ x i1> (?P<one>{_VALUE}), splat \(i1 true\)(?P<rest>(?:, !.*)?)")
_FREEZE = re.compile(rf"freeze <\d+ x i1> (?P<one>{_VALUE})(?P<rest>(?:, !.*)?)")
_AND_THEN = re.compile(
    rf"select <(\d+) x i1> (?P<one>{_VALUE}), <\1 x i1> (?P<other>{_VALUE}), <\1 x i1> zeroinitializer"
    r"(?P<rest>(?:, !.*)?)"
)
_OR_ELSE = re.compile(
    rf"select <(\d+) x i1> (?P<one>{_VALUE}), <\1 x i1> splat \(i1 true\), <\1 x i1> (?P<other>{_VALUE})"
    r"(?P<rest>(?:, !.*)?)"
)
MOST_REGISTERS = 4
"""Of numbers that go to other blocks: those of more take the registers of others."""

WIDE = 32
"""Numbers of fewer bits are not joined with others: what they decide on may have as few."""

_OF_TWO, _OF_ONE = (_LOGIC, _AND_THEN, _OR_ELSE), (_NOT, _FREEZE)


class _Mask(Struct):
    """What is known of a mask of a block.

    Parameters
    ----------
    lanes
        How many it has.
    bits
        Of each lane of what is compared.
    numbers
        The name of its numbers; empty where there are none yet.
    """

    lanes: int
    bits: int
    numbers: str = ""

    @property
    def type(self) -> str:
        """That of its numbers."""
        return f"<{self.lanes} x i{self.bits}>"


def with_joined_masks(text: str, isa: Isa) -> str | None:
    """A module's text with such masks; None where it has none."""
    if isa.arch != "x86_64" or isa.mask_registers:
        return None
    parts = parts_by_definition(text)
    changed = [_Joined(part, isa.vector_bits).text if " x i1> %" in part else part for part in parts]
    return "".join(changed) if changed != parts else None


class _Joined:
    """One function with such masks."""

    __slots__ = ("_going", "_made", "_masks", "_names", "_prefix", "_vector_bits", "text")

    def __init__(self, function: str, vector_bits: int) -> None:
        self._vector_bits = vector_bits
        self._prefix = "%weft.joined"
        while self._prefix in function:
            # Of masks that have been joined so before LLVM has looked at the text again.
            self._prefix += ".again"
        self._made = 0
        self._masks: dict[str, _Mask] = {}
        self._going: dict[str, _Mask] = {}
        self._names: dict[str, str] = {}
        lines: list[str] = []
        for line in function.split("\n"):
            if LABEL.match(line):
                self._masks, self._names = {}, {}
            lines += self._lines(line) if "x i1> " in line or "cmp " in line else [line]
        self.text = "\n".join(lines)

    def _lines(self, line: str) -> list[str]:
        """A line, or what is in its place."""
        found = LINE.match(line)
        name, right = found.groups() if found else ("", line)
        if right.startswith("phi "):
            return [line]
        if compared := _COMPARISON.match(right):
            self._masks[name] = _Mask(int(compared["lanes"]), WIDTHS[compared["type"]])
            return [line]
        made: list[str] = []
        right = NAME.sub(lambda name: self._here(name[0], made), right)
        two = next((found for form in _OF_TWO if (found := form.fullmatch(right))), None)
        one = next((found for form in _OF_ONE if (found := form.fullmatch(right))), None)
        mask = self._of_two(two, made) if two else self._of_one(one, made) if one else None
        found = two or one
        if mask is None or found is None:
            return [*made, f"  {name} = {right}" if name else right]
        self._masks[name] = mask
        if mask.lanes * mask.bits <= MOST_REGISTERS * self._vector_bits:
            self._going[name] = mask
        return [*made, f"  {name} = icmp slt {mask.type} {mask.numbers}, zeroinitializer{found['rest']}"]

    def _here(self, name: str, made: list[str]) -> str:
        """What a mask of another block is called in this one, where its numbers are compared again."""
        if (
            name not in self._masks
            and name not in self._names
            and (mask := self._going.get(name)) is not None
        ):
            own = self._new(f"icmp slt {mask.type} {mask.numbers}, zeroinitializer", made)
            self._names[name], self._masks[own] = own, mask
        return self._names.get(name, name)

    def _of_two(self, found: re.Match[str], made: list[str]) -> _Mask | None:
        """A mask that two are joined to, whose numbers are written."""
        one, other = self._masks.get(found["one"]), self._masks.get(found["other"])
        if one is None or other is None or (one.bits != other.bits and min(one.bits, other.bits) < WIDE):
            return None
        bits = min(one.bits, other.bits)
        if one.lanes * bits <= self._vector_bits:
            return None
        type = f"<{one.lanes} x i{bits}>"
        second = self._numbers(found["other"], bits, made)
        if found.re is _LOGIC:
            line = f"{found['op']} {type} {self._numbers(found['one'], bits, made)}, {second}"
        else:
            # What is asked second may be poison where it does not count.
            ways = (second, "zeroinitializer") if found.re is _AND_THEN else (f"splat (i{bits} -1)", second)
            line = f"select <{one.lanes} x i1> {found['one']}, {type} {ways[0]}, {type} {ways[1]}"
        return _Mask(one.lanes, bits, self._new(line, made))

    def _of_one(self, found: re.Match[str], made: list[str]) -> _Mask | None:
        """A mask that has numbers, turned or frozen; comparisons that have none are as such."""
        one = self._masks.get(found["one"])
        if one is None or not one.numbers:
            return None
        line = f"freeze {one.type} {one.numbers}"
        if found.re is _NOT:
            line = f"xor {one.type} {one.numbers}, splat (i{one.bits} -1)"
        return _Mask(one.lanes, one.bits, self._new(line, made))

    def _numbers(self, name: str, bits: int, made: list[str]) -> str:
        """The numbers of a known mask."""
        mask = self._masks[name]
        if mask.numbers and mask.bits == bits:
            return mask.numbers
        numbers = self._new(f"sext <{mask.lanes} x i1> {name} to <{mask.lanes} x i{bits}>", made)
        if mask.bits == bits:
            mask.numbers = numbers
        return numbers

    def _new(self, line: str, made: list[str]) -> str:
        name = f"{self._prefix}.{self._made}"
        self._made += 1
        made.append(f"  {name} = {line}")
        return name

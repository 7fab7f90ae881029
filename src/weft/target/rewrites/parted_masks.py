"""Masks that loops carry, of lanes that fill several registers, are carried as a mask for each register.

LLVM keeps a mask of 64 lanes in one register for masks. Each iteration puts it together of the comparisons of four
registers, and takes it apart again for what it blends: six instructions, all for the one unit that also compares.
Masks of one register each are joined with a comparison by the comparison itself::

    live = phi <64 x i1> [ ... ], [ next ]        live.0, live.1, ... = phi <16 x i1> [ ... ], [ next.0 ]
    ...select live, a, b                          ...select live.0, (the first lanes of a, of b), ...
    m = icmp ne <64 x i32> n, 1             ==>   m = icmp ne <64 x i32> n, 1
    next = select live, m, false                  next.0 = select live.0, (the first lanes of m), false, ...

Where whole masks are wanted, behind loops, parts are put side by side. Gathers, masked stores and blends of shorter
numbers take masks of other lanes: loops with such uses have theirs put together once, as LLVM does it.

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back, and before votes are asked register
by register (`weft.target.rewrites.register_votes`). Postcondition: on x86 with registers for masks, masks that are
joined with comparisons in each iteration, and are for nothing but joins, blends, numbers, votes and φs, are φs for each
register, of `MOST_PARTS` in each block at most. Preserves what functions give.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import INCOMING, LABEL, NAME, WIDTHS, FunctionLines, rewritten, unused_prefix
from weft.target.rewrites.asked_votes import voters
from weft.target.rewrites.mask_lines import FALSE, TRUE, VALUE, Join, Lanes, mask_line, side_by_side
from weft.target.rewrites.mask_parts import MaskParts, Registers

MOST_PARTS = 4
"""Of the seven registers for masks; what an iteration compares needs some, too."""

_PHI = re.compile(r"phi <(?P<lanes>16|32|64) x i1> (?P<incoming>\[.*\])(?P<rest>.*)")
_BLEND = re.compile(
    r"select (?P<flags>(?:[a-z]+ )*)<(?P<lanes>\d+) x i1> (?P<mask>%[^\s,]+), "
    rf"<\d+ x (?P<type>{'|'.join(WIDTHS)})> (?P<one>{VALUE}|poison), "
    rf"<\d+ x \w+> (?P<other>{VALUE}|poison)(?P<rest>(?:, !.*)?)"
)

_NUMBER = re.compile(
    r"(?P<op>zext|sext) <(?P<lanes>\d+) x i1> (?P<mask>%[^\s,]+) "
    rf"to <\d+ x (?P<type>{'|'.join(WIDTHS)})>(?P<rest>(?:, !.*)?)"
)
_LINE = re.compile(r"  [^ \]]")
"""The first line of an instruction: switches have more."""


def with_parted_masks(text: str, isa: Isa) -> str | None:
    """A module's text with such masks; None where it has none."""
    if isa.arch != "x86_64" or not isa.mask_registers or not _PHI.search(text):
        return None

    def change(part: str) -> str | None:
        function = _Function(part, isa) if _PHI.search(part) else None
        return function.rewritten() if function is not None and function.phis else None

    return rewritten(text, change)


class _Phi(Struct, frozen=True):
    """A mask that a loop carries: its lanes, what comes from which block, and what is behind that in its line."""

    lanes: int
    incoming: list[tuple[str, str]]
    rest: str


class _Lines:
    """New lines; called with what is right of ``=``, it writes one and gives its name."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.made: list[str] = []

    def __call__(self, right: str) -> str:
        name = f"{self._prefix}.{len(self.made)}"
        self.made.append(f"  {name} = {right}")
        return name


class _Function:
    """The masks that loops of a function carry, and its lines, in which they are parted."""

    __slots__ = ("_begins", "_function", "_lines", "_new", "_parts", "_prefix", "phis")

    def __init__(self, text: str, isa: Isa) -> None:
        self._function = function = FunctionLines.of(text)
        self._lines = list(function.lines)
        self._prefix = unused_prefix("carried", text)
        labels = ((number, LABEL.match(line)) for number, line in enumerate(self._lines))
        self._begins = {f"%{label[0][:-1]}": number for number, label in labels if label is not None}
        self._parts = MaskParts(function, isa, Counter(NAME.findall(text)).__getitem__)
        self._new: dict[str, list[str]] = {}
        self.phis = dict(self._carried())
        if not self.phis:
            return
        uses = function.uses()
        # A vote on what comes into the loop finds no comparisons in its block, and stays a vote on one mask.
        asked = voters(function, lambda name: 1 + len(uses[name]))
        votes = {vote.bits for vote in asked if vote.mask not in self.phis}
        while unfit := self._unfit(uses, votes):
            self.phis = {name: phi for name, phi in self.phis.items() if name not in unfit}

    def _carried(self) -> Iterator[tuple[str, _Phi]]:
        """Such masks, of which the parts are known from then on."""
        known, taken = self._parts.known, Counter[int]()
        for name, (number, right) in self._function.defined.items():
            if (found := _PHI.fullmatch(right)) is None:
                continue
            phi = _Phi(int(found["lanes"]), INCOMING.findall(found["incoming"]), found["rest"])
            known[name] = Registers(0)
            each = self._lanes_of_register(name, phi)
            del known[name]
            header, count = self._function.blocks[number], phi.lanes // (each or phi.lanes)
            if each is not None and taken[header] + count <= MOST_PARTS:
                taken[header] += count
                known[name] = Registers(each, tuple(f"{self._prefix}.{number}.{k}" for k in range(count)))
                yield name, phi

    def _lanes_of_register(self, name: str, phi: _Phi) -> int | None:
        """Lanes of each register, if what comes back to a φ is made of it and of comparisons."""
        found: set[int | None] = set()
        for value, source in phi.incoming:
            if source not in self._begins:
                return None
            line = mask_line(self._function.defined.get(value, (0, ""))[1])
            if isinstance(line, Join) and name in (line.first, line.second):
                found.add(self._parts.lanes_of_register(value, self._begins[source], phi.lanes))
        return found.pop() if len(found) == 1 else None

    def _unfit(self, uses: dict[str, list[str]], votes: set[str]) -> set[str]:
        """Those of the masks that are for other things, too; where there are none, all new lines are made."""
        known, defined = self._parts.known, self._function.defined
        made_of = {name: {name} for name in self.phis}
        for name in [name for name in known if name not in self.phis]:
            del known[name]
        self._new.clear()
        for name, (number, right) in defined.items():
            line = mask_line(right)
            if isinstance(line, Join):
                sides = [side for side in (line.first, line.second) if side in made_of]
                if sides and self._join(name, number, line, known[sides[0]].each):
                    made_of[name] = set[str]().union(*(made_of[side] for side in sides))
                continue
            found = _BLEND.fullmatch(right) or _NUMBER.fullmatch(right)
            if found is not None and found["mask"] in made_of:
                self._blend(name, number, found)
        fit = {*self._new, *votes}
        return {
            phi
            for name, phis in made_of.items()
            if not all(use in fit or defined.get(use, (0, ""))[1].startswith("phi ") for use in uses[name])
            for phi in phis
        }

    def _join(self, name: str, number: int, line: Join, each: int) -> bool:
        """Join masks register by register, and put what comes of it side by side; whether that goes."""
        if self._parts.lanes_of_register(name, self._function.blocks[number], line.lanes) != each:
            return False
        new = _Lines(f"{self._prefix}.{number}.of")
        parts = [self._parts.part(name, Lanes(first, each), new) for first in range(0, line.lanes, each)]
        whole = side_by_side(parts, each, "i1", new)
        self._new[name] = [*new.made, f"  {name} = {whole}"]
        self._parts.known[name] = Registers(each, tuple(parts))
        return True

    def _blend(self, name: str, number: int, found: re.Match[str]) -> None:
        """Blend register by register what is in so many registers, or in more; the same of masks as numbers."""
        registers, type, lanes = self._parts.known[found["mask"]], found["type"], int(found["lanes"])
        if self._parts.isa.lanes(WIDTHS[type]) > registers.each:
            return
        new, each, rest = _Lines(f"{self._prefix}.{number}.of"), registers.each, found["rest"]
        parts: list[str] = []
        for k, mask in enumerate(registers.parts):
            if "op" in found.re.groupindex:
                parts.append(new(f"{found['op']} <{each} x i1> {mask} to <{each} x {type}>{rest}"))
                continue
            sides = (Lanes(k * each, each).of(lanes, type, found[side], new) for side in ("one", "other"))
            one, other = (f"<{each} x {type}> {side}" for side in sides)
            parts.append(new(f"select {found['flags']}<{each} x i1> {mask}, {one}, {other}{rest}"))
        whole = side_by_side(parts, each, type, new)
        self._new[name] = [*new.made, f"  {name} = {whole}"]

    def rewritten(self) -> str:
        """The function's text with these masks in parts."""
        for name, lines in self._new.items():
            self._lines[self._function.defined[name][0]] = "\n".join(lines)
        at_end: dict[int, list[str]] = {}
        for name, phi in self.phis.items():
            registers = self._parts.known[name]
            sides = [list[str]() for _ in registers.parts]
            for value, source in phi.incoming:
                parts = self._incoming(value, self._begins[source], phi, registers, at_end)
                for side, part in zip(sides, parts, strict=True):
                    side.append(f"[ {part}, {source} ]")
            self._lines[self._function.defined[name][0]] = "\n".join(
                f"  {part} = phi <{registers.each} x i1> {', '.join(side)}{phi.rest}"
                for part, side in zip(registers.parts, sides, strict=True)
            )
        self._put_together(at_end)
        lines_of_blocks = zip(self._function.blocks, self._function.lines, strict=True)
        ends = {block: n for n, (block, line) in enumerate(lines_of_blocks) if _LINE.match(line)}
        for block, lines in at_end.items():
            self._lines[ends[block]] = "\n".join([*lines, self._lines[ends[block]]])
        return "\n".join(self._lines)

    def _incoming(
        self, value: str, block: int, phi: _Phi, registers: Registers, at_end: dict[int, list[str]]
    ) -> Sequence[str]:
        """The parts of what comes to a φ; lines that make them go to the end of the block that it comes from."""
        each, count = registers.each, len(registers.parts)
        if value in (TRUE, FALSE, "poison", "undef"):
            return [value] * count
        if value in self._parts.known and self._parts.known[value].each == each:
            return self._parts.known[value].parts
        new = _Lines(f"{registers.parts[0]}.from.{block}")
        whole = self._whole(value, block, at_end)
        parts = [Lanes(k * each, each).of(phi.lanes, "i1", whole, new) for k in range(count)]
        at_end.setdefault(block, []).extend(new.made)
        return parts

    def _whole(self, name: str, block: int, at_end: dict[int, list[str]]) -> str:
        """A mask as one, at the end of a block: such a mask is put together there."""
        if name not in self.phis:
            return name
        registers = self._parts.known[name]
        new = _Lines(f"{registers.parts[0]}.whole.{len(at_end)}.{len(at_end.get(block, ()))}")
        whole = new(side_by_side(registers.parts, registers.each, "i1", new))
        at_end.setdefault(block, []).extend(new.made)
        return whole

    def _put_together(self, at_end: dict[int, list[str]]) -> None:
        """Give other φs whole masks; people who debug see none."""

        def incoming(found: re.Match[str]) -> str:
            value, source = found["value"], found["block"]
            if value not in self.phis:
                return found[0]
            return f"[ {self._whole(value, self._begins[source], at_end)}, {source} ]"

        for number, line in enumerate(self._function.lines):
            if line.startswith("    #dbg_"):
                self._lines[number] = NAME.sub(lambda n: "poison" if n[0] in self.phis else n[0], line)
            elif " = phi <" in line and self._lines[number] == line:
                self._lines[number] = INCOMING.sub(incoming, line)

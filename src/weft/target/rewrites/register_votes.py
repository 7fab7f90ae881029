"""Votes of lanes that fill several registers join registers for masks, rather than putting them together.

What LLVM makes of the bits of a comparison of 32 lanes is one number: two registers for masks of 16 bits are put
together first, which takes four cycles where joining them takes one. Whether any bit is set asks for no number, and how
many are is the sum of both::

    bits = bitcast <32 x i1> m to i32             low, high = the halves of m
    any = icmp ne i32 bits, 0           ==>       any = icmp ne i16 (bits of low | high), 0
    many = ctpop(bits)                            many = ctpop(bits of low) + ctpop(bits of high)

The branch behind such a vote is what threads that walk a tree together wait for, as nobody foresees it.

Precondition: LLVM's text behind its pipeline. Postcondition: on x86 with registers for masks, votes on comparisons of
their own block, frozen or joined there, are asked so; other votes are as they were. Preserves what functions give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from weft.machine.targets import Isa
from weft.target.definitions import NAME, FunctionLines, rewritten, unused_prefix, with_declarations
from weft.target.rewrites.asked_votes import VOTE, Voters, voters
from weft.target.rewrites.mask_lines import Lanes
from weft.target.rewrites.mask_parts import MaskParts

_COUNTING = "declare i32 @llvm.ctpop.i32(i32)"


def with_register_votes(text: str, isa: Isa) -> str | None:
    """A module's text with such votes; None where it has none."""
    if isa.arch != "x86_64" or not isa.mask_registers or not VOTE.search(text):
        return None

    def change(part: str) -> str | None:
        votes = _Votes(part, isa) if VOTE.search(part) else None
        return "\n".join(votes.lines) if votes is not None and votes.made else None

    changed = rewritten(text, change)
    if changed is None or "@llvm.ctpop.i32(" not in changed:
        return changed
    return with_declarations(changed, [_COUNTING])


class _Votes:
    """The votes of one function, replaced line by line."""

    __slots__ = ("_blocks", "_defined", "_parts", "_prefix", "_text", "_uses", "lines", "made")

    def __init__(self, text: str, isa: Isa) -> None:
        self.made = 0
        self._prefix = unused_prefix("part", text)
        function = FunctionLines.of(text)
        self.lines, self._blocks, self._defined = function.lines, function.blocks, function.defined
        self._text, self._uses = text, Counter[str]()
        self._parts = MaskParts(function, isa, self._times_named)
        # What else is made of bits needs them as one number.
        for each in list(voters(function, self._times_named)):
            self._replace(each)

    def _times_named(self, name: str) -> int:
        """In how many places a name is; where no votes are taken none is counted."""
        if not self._uses:
            self._uses.update(NAME.findall(self._text))
        return self._uses[name]

    def _replace(self, voters: Voters) -> None:
        mask, lanes = voters.mask, voters.lanes
        at = self._defined[voters.bits][0]
        each = self._parts.lanes_of_register(mask, self._blocks[at], lanes)
        if each is None:
            return
        made: list[str] = []

        def new(right: str) -> str:
            name = f"{self._prefix}.{self.made}.{len(made)}"
            made.append(f"  {name} = {right}")
            return name

        parts = [self._parts.part(mask, Lanes(first, each), new) for first in range(0, lanes, each)]
        for vote in voters.votes:
            number = self._defined[vote.name][0]
            if vote.counts:
                self.lines[number] = f"  {vote.name} = or i{lanes} {_count(parts, each, lanes, new)}, 0"
                continue
            joined = parts[0]
            for part in parts[1:]:
                joined = new(f"{vote.joins} <{each} x i1> {joined}, {part}")
            all = new(f"bitcast <{each} x i1> {joined} to i{each}")
            # Nothing is or'ed with it: of a branch on that LLVM makes two.
            self.lines[number] = (
                f"  {vote.name} = icmp {vote.predicate} i{each} {all}, {vote.settled}{vote.rest}"
            )
        self.lines[at] = "\n".join(made)
        self.made += 1


def _count(parts: list[str], each: int, lanes: int, new: Callable[[str], str]) -> str:
    """Write the lines that count lanes of all parts of a mask; the name of the last."""
    total = ""
    for part in parts:
        bits = new(f"bitcast <{each} x i1> {part} to i{each}")
        bits = new(f"zext i{each} {bits} to i32") if each < 32 else bits
        count = new(f"call i32 @llvm.ctpop.i32(i32 {bits})")
        total = new(f"add i32 {total}, {count}") if total else count
    if lanes == 32:
        return total
    return new(f"trunc i32 {total} to i{lanes}" if lanes < 32 else f"zext i32 {total} to i64")

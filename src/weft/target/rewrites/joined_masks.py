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

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, LINE, NAME, parts_by_definition, unused_prefix
from weft.target.rewrites.mask_lines import Comparison, Frozen, Join, mask_line

MOST_REGISTERS = 4
"""Of numbers that go to other blocks: those of more take the registers of others."""

WIDE = 32
"""Numbers of fewer bits are not joined with others: what they decide on may have as few."""


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
    compared
        What it is, where it is a comparison as such.
    """

    lanes: int
    bits: int
    numbers: str = ""
    compared: Comparison | None = None

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
        self._prefix = unused_prefix("joined", function)
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
        read = mask_line(right)
        if isinstance(read, Comparison):
            self._masks[name] = _Mask(read.lanes, read.bits, compared=read)
            return [line]
        made: list[str] = []
        right = NAME.sub(lambda name: self._here(name[0], made), right)
        if read is not None and made:
            read = mask_line(right)
        if isinstance(read, Join) and read.is_inverse and (opposite := self._opposite(read.first)):
            return [*made, *self._lines(f"  {name} = {opposite}{read.rest}")]
        mask = None
        if isinstance(read, Join):
            mask = self._of_one(read, made) if read.is_inverse else self._of_two(read, made)
        elif isinstance(read, Frozen):
            mask = self._of_one(read, made)
        if mask is None:
            return [*made, f"  {name} = {right}" if name else right]
        self._masks[name] = mask
        if mask.lanes * mask.bits <= MOST_REGISTERS * self._vector_bits:
            self._going[name] = mask
        assert isinstance(read, Join | Frozen), "it has made a mask"
        return [*made, f"  {name} = icmp slt {mask.type} {mask.numbers}, zeroinitializer{read.rest}"]

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

    def _opposite(self, name: str) -> str | None:
        """The comparison that gives the opposite of one of several registers."""
        mask = self._masks.get(name)
        if mask is None or mask.compared is None or mask.lanes * mask.bits <= self._vector_bits:
            return None
        return mask.compared.inverse()

    def _of_two(self, join: Join, made: list[str]) -> _Mask | None:
        """A mask that two are joined to, whose numbers are written."""
        one = self._masks.get(join.first)
        other = self._masks.get(join.second)
        if one is None or other is None or (one.bits != other.bits and min(one.bits, other.bits) < WIDE):
            return None
        bits = min(one.bits, other.bits)
        if one.lanes * bits <= self._vector_bits:
            return None
        type = f"<{one.lanes} x i{bits}>"
        second = self._numbers(join.second, bits, made)
        if not join.by_choice:
            line = f"{join.op} {type} {self._numbers(join.first, bits, made)}, {second}"
        else:
            # What is asked second may be poison where it does not count.
            ways = (second, "zeroinitializer") if join.op == "and" else (f"splat (i{bits} -1)", second)
            line = f"select <{one.lanes} x i1> {join.first}, {type} {ways[0]}, {type} {ways[1]}"
        return _Mask(one.lanes, bits, self._new(line, made))

    def _of_one(self, line: Join | Frozen, made: list[str]) -> _Mask | None:
        """A mask that has numbers, turned or frozen; comparisons that have none are as such."""
        one = self._masks.get(line.mask if isinstance(line, Frozen) else line.first)
        if one is None or not one.numbers:
            return None
        right = f"freeze {one.type} {one.numbers}"
        if isinstance(line, Join):
            right = f"xor {one.type} {one.numbers}, splat (i{one.bits} -1)"
        return _Mask(one.lanes, one.bits, self._new(right, made))

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

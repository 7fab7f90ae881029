"""Votes of lanes that fill several registers ask these together, not lane by lane.

What LLVM makes of the bits of a comparison of 32 lanes is exact: each lane has its bit, in order. Where there are no
registers for masks, the four registers of 32-bit answers are packed to one of bytes for that, with a shuffle across its
halves behind each step, which a branch waits some twenty cycles for. Whether any bit is set asks for no order, and how
many are does not either::

    bits = bitcast <32 x i1> m to i32             wide = sext <32 x i1> m to <32 x i32>
    any = icmp ne i32 bits, 0           ==>       all = or of the lanes of wide
    many = ctpop(bits)                            any = icmp ne i32 all, 0
                                                  many = ctpop(the bytes of wide, packed as the registers lie)

Or'ed together, four registers are one; and'ed, where it is asked whether all bits are set.

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back, and masks that are joined of several
are comparisons (`weft.target.rewrites.joined_masks`). Postcondition: such votes are asked so on x86 without registers
for masks; votes on masks of other things than comparisons, or of one register, are as they were. Preserves what
functions give, in all lanes; a frozen comparison becomes one of what is frozen.
"""

from __future__ import annotations

from weft.machine.targets import Isa
from weft.target.definitions import NAME, FunctionLines, rewritten, unused_prefix, with_declarations
from weft.target.rewrites.asked_votes import VOTE, Voters, voters
from weft.target.rewrites.mask_lines import Comparison, Frozen, mask_line

_COUNTING = frozenset(
    (
        "declare <16 x i16> @llvm.x86.avx2.packssdw(<8 x i32>, <8 x i32>)",
        "declare <32 x i8> @llvm.x86.avx2.packsswb(<16 x i16>, <16 x i16>)",
        "declare i32 @llvm.x86.avx2.pmovmskb(<32 x i8>)",
        "declare i32 @llvm.ctpop.i32(i32)",
    )
)


def joins_votes(isa: Isa) -> bool:
    """Whether a processor is better asked so."""
    return isa.arch == "x86_64" and not isa.mask_registers


def with_joined_votes(text: str, isa: Isa) -> str | None:
    """A module's text with such votes; None where it has none."""
    if not joins_votes(isa) or not VOTE.search(text):
        return None
    needed: set[str] = set()

    def change(part: str) -> str | None:
        votes = _Votes(part, isa) if VOTE.search(part) else None
        if votes is None or not votes.made:
            return None
        needed.update(votes.declarations)
        return "\n".join(votes.lines)

    changed = rewritten(text, change)
    return None if changed is None else with_declarations(changed, needed)


class _Votes:
    """The votes of one function, replaced line by line."""

    __slots__ = ("_before", "_blocks", "_defined", "_isa", "_prefix", "declarations", "lines", "made")

    def __init__(self, text: str, isa: Isa) -> None:
        self._isa = isa
        self.declarations: set[str] = set()
        self._prefix = unused_prefix("vote", text)
        self.made = 0
        function = FunctionLines.of(text)
        self._before = tuple(function.lines)
        self.lines, self._blocks, self._defined = function.lines, function.blocks, function.defined
        # What else is made of bits needs their order.
        for each in list(voters(function, lambda bits: len(self._naming(bits)))):
            self._replace(each)

    def _naming(self, name: str) -> list[int]:
        """The lines that name a value; few values are asked for, so lines are not taken apart for all of them."""
        return [
            number for number, line in enumerate(self._before) if name in line and name in NAME.findall(line)
        ]

    def _replace(self, voters: Voters) -> None:
        mask, lanes = voters.mask, voters.lanes
        compared = self._comparison(mask)
        if compared is None:
            return
        width = compared.bits
        if lanes * width <= self._isa.vector_bits or self._is_packed(mask, voters.bits):
            return
        counts = any(vote.counts for vote in voters.votes)
        if counts and (self._isa.vector_bits != 256 or width < 32):
            return
        made: list[str] = []
        prefix = f"{self._prefix}.{self.made}"
        type = f"<{lanes} x i{width}>"
        self._freeze_operands(mask, compared)
        wide = f"{prefix}.{len(made)}"
        made.append(f"  {wide} = sext <{lanes} x i1> {mask} to {type}")
        for vote in voters.votes:
            number, _ = self._defined[vote.name]
            if vote.counts:
                count = self._count(wide, lanes, width, made, prefix)
                self.lines[number] = f"  {vote.name} = or i{lanes} {count}, 0"
                continue
            reduce = f"@llvm.vector.reduce.{vote.joins}.v{lanes}i{width}"
            self.declarations.add(f"declare i{width} {reduce}({type})")
            joined, asked = f"{prefix}.{len(made)}", f"{prefix}.{len(made) + 1}"
            made.append(f"  {joined} = call i{width} {reduce}({type} {wide})")
            made.append(f"  {asked} = icmp {vote.predicate} i{width} {joined}, {vote.settled}")
            self.lines[number] = f"  {vote.name} = or i1 {asked}, false{vote.rest}"
        # Behind the mask, which is packed if it is used in another block.
        at = self._defined[mask][0]
        self.lines[at] = "\n".join([self.lines[at], *made])
        self.made += 1

    def _is_packed(self, mask: str, bits: str) -> bool:
        """Whether a mask goes on to other blocks, as bytes in one register."""
        at = self._blocks[self._defined[mask][0]]
        others = [n for n in self._naming(mask) if n != self._defined[bits][0]]
        return any(self._blocks[n] != at or " = phi <" in self.lines[n] for n in others)

    def _comparison(self, mask: str) -> Comparison | None:
        """What a mask compares, or the one that it freezes."""
        line = mask_line(self._defined[mask][1]) if mask in self._defined else None
        if isinstance(line, Frozen):
            line = mask_line(self._defined[line.mask][1]) if line.mask in self._defined else None
        return line if isinstance(line, Comparison) else None

    def _freeze_operands(self, mask: str, compared: Comparison) -> None:
        """Let a frozen comparison be one of frozen numbers, for all its uses: a vector of i1 is packed to be frozen."""
        number, line = self._defined[mask]
        if not line.startswith("freeze "):
            return
        lines, operands = [], []
        for side, value in zip(("left", "right"), compared.operands, strict=True):
            if value.startswith("%"):
                frozen = f"{self._prefix}.{number}.{side}"
                lines.append(f"  {frozen} = freeze <{compared.lanes} x {compared.type}> {value}")
                value = frozen
            operands.append(value)
        lines.append(f"  {mask} = {compared.of(compared.lanes, *operands, frozen=True)}")
        self.lines[number] = self.lines[number].replace(f"  {mask} = {line}", "\n".join(lines))

    def _count(self, wide: str, lanes: int, width: int, made: list[str], prefix: str) -> str:
        """Write the lines that count lanes, as registers are packed to bytes, four of 32 bits to one; its name."""

        def new(line: str) -> str:
            name = f"{prefix}.{len(made)}"
            made.append(f"  {name} = {line}")
            return name

        words = lanes * width // 32
        whole = wide if width == 32 else new(f"bitcast <{lanes} x i{width}> {wide} to <{words} x i32>")
        registers = [
            new(
                f"shufflevector <{words} x i32> {whole}, <{words} x i32> poison, "
                f"<8 x i32> <{', '.join(f'i32 {k}' for k in range(first, first + 8))}>"
            )
            for first in range(0, words, 8)
        ]
        sums: list[str] = []
        for first in range(0, len(registers), 4):
            some = registers[first : first + 4]
            halves = [
                new(f"call <16 x i16> @llvm.x86.avx2.packssdw(<8 x i32> {some[k]}, <8 x i32> {some[k + 1]})")
                for k in range(0, len(some), 2)
            ]
            if len(halves) == 2:
                packed = (
                    f"call <32 x i8> @llvm.x86.avx2.packsswb(<16 x i16> {halves[0]}, <16 x i16> {halves[1]})"
                )
            else:
                packed = f"bitcast <16 x i16> {halves[0]} to <32 x i8>"
            bits = new(f"call i32 @llvm.x86.avx2.pmovmskb(<32 x i8> {new(packed)})")
            sums.append(new(f"call i32 @llvm.ctpop.i32(i32 {bits})"))
        total = sums[0]
        for other in sums[1:]:
            total = new(f"add i32 {total}, {other}")
        # Of 64-bit lanes, and where registers are few, each lane has several bytes.
        each = 32 * len(sums) // lanes
        total = new(f"lshr i32 {total}, {each.bit_length() - 1}") if each > 1 else total
        self.declarations |= _COUNTING
        if lanes == 32:
            return total
        return new(f"trunc i32 {total} to i{lanes}" if lanes < 32 else f"zext i32 {total} to i64")

"""Votes of lanes that fill several registers ask these together, not lane by lane.

What LLVM makes of the bits of a comparison of 32 lanes is exact: each lane has its bit, in order. Where there are no
registers for masks, the four registers of 32-bit answers are packed to one of bytes for that, with a shuffle across its
halves behind each step, which a branch waits some twenty cycles for. Whether any bit is set asks for no order, and how
many are does not either::

    bits = bitcast <32 x i1> m to i32             wide = sext <32 x i1> m to <32 x i32>
    any = icmp ne i32 bits, 0           ==>       all = or of the lanes of wide
    many = ctpop(bits)                            any = icmp ne i32 all, 0
                                                  many = ctpop(the bytes of wide, packed as the registers lie)

Or'ed together, four registers are one; and'ed, where it is asked whether all bits are set. A mask that is joined of
several is joined as numbers of the same width.

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back. Postcondition: such votes are asked so
on x86 without registers for masks; votes on masks of other things than comparisons of one width, or of one register,
are as they were. Preserves what functions give, in all lanes; a frozen comparison becomes one of what is frozen.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, LINE, NAME, POISONS, WIDTHS, parts_by_definition

_VOTE = re.compile(r"bitcast <(?:8|16|32|64) x i1> ")
_BITS = re.compile(r"bitcast <(?P<lanes>8|16|32|64) x i1> (?P<mask>%\S+) to i(?P=lanes)\b")
_ANY = re.compile(
    r"icmp (?P<predicate>eq|ne) i(?P<lanes>\d+) (?P<bits>%[^\s,]+), (?P<settled>0|-1)(?P<rest>(?:, !.*)?)"
)
_COUNT = re.compile(
    r".*call .*i(?P<lanes>\d+) @llvm\.ctpop\.i(?P=lanes)\(i(?P=lanes) (?P<bits>%[^\s,)]+)\)(?P<rest>.*)"
)
_COMPARISON = re.compile(
    r"(?P<op>[fi]cmp)(?P<flags>(?: [a-z]+)*) (?P<predicate>[a-z]+) "
    r"<(?P<lanes>\d+) x (?P<type>i8|i16|i32|i64|float|double)> (?P<left>.*?)(?P<rest>(?:, !.*)?)$"
)
_LOGIC = re.compile(
    r"(?P<op>and|or|xor) <\d+ x i1> (?P<left>%[^\s,]+), (?P<right>%[^\s,]+|splat \(i1 true\))"
)
_SELECT = re.compile(
    r"select <(\d+) x i1> (?P<mask>%[^\s,]+), <\1 x i1> (?P<one>%[^\s,]+|splat \(i1 true\)), "
    r"<\1 x i1> (?P<other>%[^\s,]+|zeroinitializer)"
)
_FREEZE = re.compile(r"freeze <\d+ x i1> (?P<mask>%[^\s,]+)")
_OPERANDS = re.compile(
    r"(%[^\s,]+|zeroinitializer|splat \([^()]*\)), (%[^\s,]+|zeroinitializer|splat \([^()]*\))"
)
_COUNTING = frozenset(
    (
        "declare <16 x i16> @llvm.x86.avx2.packssdw(<8 x i32>, <8 x i32>)",
        "declare <32 x i8> @llvm.x86.avx2.packsswb(<16 x i16>, <16 x i16>)",
        "declare i32 @llvm.x86.avx2.pmovmskb(<32 x i8>)",
        "declare i32 @llvm.ctpop.i32(i32)",
    )
)
_TRUE, _FALSE = "splat (i1 true)", "zeroinitializer"
MOST_DEEP = 8
"""Masks of masks of masks; deeper ones are left alone."""


def joins_votes(isa: Isa) -> bool:
    """Whether a processor is better asked so."""
    return isa.arch == "x86_64" and not isa.mask_registers


def with_joined_votes(text: str, isa: Isa) -> str | None:
    """A module's text with such votes; None where it has none."""
    if not joins_votes(isa) or not _VOTE.search(text):
        return None
    parts = parts_by_definition(text)
    done = [_Votes(part, isa) if _VOTE.search(part) else None for part in parts]
    if not any(votes is not None and votes.made for votes in done):
        return None
    changed = "".join(
        part if votes is None else "\n".join(votes.lines) for part, votes in zip(parts, done, strict=True)
    )
    needed = {line for votes in done if votes is not None for line in votes.declarations}
    return changed + "".join(f"{line}\n" for line in sorted(needed) if not _is_declared(line, text))


class _Votes:
    """The votes of one function, replaced line by line."""

    __slots__ = ("_before", "_blocks", "_defined", "_isa", "_prefix", "declarations", "lines", "made")

    def __init__(self, text: str, isa: Isa) -> None:
        self._isa = isa
        self._before = tuple(text.split("\n"))
        self.lines = list(self._before)
        self.declarations: set[str] = set()
        self._prefix = "%weft.vote"
        while self._prefix in text:
            # Of votes that have been asked so before LLVM has looked at the text again.
            self._prefix += ".again"
        self.made = 0
        self._defined: dict[str, tuple[int, str]] = {}
        self._blocks: list[int] = []
        for number, line in enumerate(self.lines):
            self._blocks.append(number if LABEL.match(line) else self._blocks[-1] if number else 0)
            if found := LINE.match(line):
                self._defined[found[1]] = number, found[2]
        asked: dict[str, list[tuple[str, re.Match[str]]]] = {}
        for name, (_, line) in self._defined.items():
            found = _ANY.fullmatch(line)
            if found is None and "@llvm.ctpop." in line:
                found = _COUNT.fullmatch(line)
            if found is not None:
                asked.setdefault(found["bits"], []).append((name, found))
        for bits, votes in asked.items():
            found = _BITS.match(self._defined[bits][1]) if bits in self._defined else None
            # What else is made of the bits needs their order.
            if found is not None and len(self._naming(bits)) == 1 + len(votes):
                self._replace(bits, found, votes)

    def _naming(self, name: str) -> list[int]:
        """The lines that name a value; few values are asked for, so lines are not taken apart for all of them."""
        return [
            number for number, line in enumerate(self._before) if name in line and name in NAME.findall(line)
        ]

    def _replace(self, bits: str, found: re.Match[str], votes: list[tuple[str, re.Match[str]]]) -> None:
        mask, lanes = found["mask"].rstrip(","), int(found["lanes"])
        width = self._width(mask, MOST_DEEP)
        if not width or lanes * width <= self._isa.vector_bits or self._is_packed(mask, bits):
            return
        counts = any("ctpop" in vote[0] for _, vote in votes)
        if counts and (self._isa.vector_bits != 256 or width < 32):
            return
        made: list[str] = []
        prefix = f"{self._prefix}.{self.made}"
        type = f"<{lanes} x i{width}>"
        wide = self._wide(mask, lanes, width, made, prefix)
        for name, vote in votes:
            number, _ = self._defined[name]
            if "ctpop" in vote[0]:
                count = self._count(wide, lanes, width, made, prefix)
                self.lines[number] = f"  {name} = or i{lanes} {count}, 0"
                continue
            # All bits are set if they are in the registers and'ed together.
            op = "or" if vote["settled"] == "0" else "and"
            reduce = f"@llvm.vector.reduce.{op}.v{lanes}i{width}"
            self.declarations.add(f"declare i{width} {reduce}({type})")
            joined, asked = f"{prefix}.{len(made)}", f"{prefix}.{len(made) + 1}"
            made.append(f"  {joined} = call i{width} {reduce}({type} {wide})")
            made.append(f"  {asked} = icmp {vote['predicate']} i{width} {joined}, {vote['settled']}")
            self.lines[number] = f"  {name} = or i1 {asked}, false{vote['rest']}"
        # Behind the mask, which is packed if it is used in another block.
        at = self._defined[mask][0]
        self.lines[at] = "\n".join([self.lines[at], *made])
        self.made += 1

    def _is_packed(self, mask: str, bits: str) -> bool:
        """Whether a mask goes on to other blocks, as bytes in one register."""
        at = self._blocks[self._defined[mask][0]]
        others = [n for n in self._naming(mask) if n != self._defined[bits][0]]
        return any(self._blocks[n] != at or " = phi <" in self.lines[n] for n in others)

    def _width(self, mask: str, left: int) -> int:
        """How many bits each of the comparisons has that a mask is made of; 0 if not the same, or of something else."""
        if mask not in self._defined or not left:
            return 0
        line = self._defined[mask][1]
        if found := _COMPARISON.match(line):
            return WIDTHS[found["type"]]
        if found := _FREEZE.match(line):
            inner = self._defined.get(found["mask"])
            compared = _COMPARISON.match(inner[1]) if inner else None
            return WIDTHS[compared["type"]] if compared and _operands(compared) else 0
        if found := _LOGIC.match(line):
            one, other = self._width(found["left"], left - 1), found["right"]
            if other == _TRUE:
                return one if found["op"] == "xor" and self._is_comparison(found["left"]) else 0
            return one if found["op"] != "xor" and one == self._width(other, left - 1) else 0
        if (found := _SELECT.match(line)) and (found["one"] == _TRUE) != (found["other"] == _FALSE):
            one = self._width(found["mask"], left - 1)
            other = found["other"] if found["one"] == _TRUE else found["one"]
            return one if one == self._width(other, left - 1) else 0
        return 0

    def _is_comparison(self, mask: str) -> bool:
        return _COMPARISON.match(self._defined[mask][1]) is not None

    def _wide(self, mask: str, lanes: int, width: int, made: list[str], prefix: str) -> str:
        """Write the lines of a mask as numbers that are all ones where it is set; return its name."""

        def new(line: str) -> str:
            name = f"{prefix}.{len(made)}"
            made.append(f"  {name} = {line}")
            return name

        type = f"<{lanes} x i{width}>"
        line = self._defined[mask][1]
        if found := _LOGIC.match(line):
            if found["op"] == "and":
                return self._where(
                    found["left"], self._wide(found["right"], lanes, width, made, prefix), type, new
                )
            if found["op"] == "or":
                one, other = (self._wide(found[m], lanes, width, made, prefix) for m in ("left", "right"))
                return new(f"or {type} {one}, {other}")
        elif found := _SELECT.match(line):
            if found["other"] == _FALSE:
                inner = self._wide(found["one"], lanes, width, made, prefix)
                return self._where(found["mask"], inner, type, new)
            inner = self._wide(found["other"], lanes, width, made, prefix)
            return new(f"select <{lanes} x i1> {found['mask']}, {type} splat (i{width} -1), {type} {inner}")
        elif found := _FREEZE.match(line):
            self._freeze_operands(mask, found["mask"])
        return new(f"sext <{lanes} x i1> {mask} to {type}")

    def _where(self, mask: str, wide: str, type: str, new: Callable[[str], str]) -> str:
        """Numbers in the lanes of a mask, 0 in others; what a mask is joined of is asked one after the other."""
        line = self._defined[mask][1]
        for found in (_LOGIC.match(line), _SELECT.match(line)):
            if found is None:
                continue
            if found.re is _LOGIC and found["op"] == "and":
                return self._where(found["left"], self._where(found["right"], wide, type, new), type, new)
            if found.re is _SELECT and found["other"] == _FALSE:
                return self._where(found["mask"], self._where(found["one"], wide, type, new), type, new)
        lanes = type[1 : type.index(" ")]
        return new(f"select <{lanes} x i1> {mask}, {type} {wide}, {type} zeroinitializer")

    def _freeze_operands(self, mask: str, comparison: str) -> None:
        """Let a frozen comparison be one of frozen numbers, for all its uses: a vector of i1 is packed to be frozen."""
        number, line = self._defined[mask]
        found = _COMPARISON.match(self._defined[comparison][1])
        compared = _operands(found) if found is not None else None
        if found is None or compared is None or not _FREEZE.match(line):
            return
        type = f"<{found['lanes']} x {found['type']}>"
        lines, operands = [], []
        for side, value in zip(("left", "right"), compared, strict=True):
            if value.startswith("%"):
                frozen = f"{self._prefix}.{number}.{side}"
                lines.append(f"  {frozen} = freeze {type} {value}")
                value = frozen
            operands.append(value)
        flags = "".join(f" {flag}" for flag in found["flags"].split() if flag not in POISONS)
        lines.append(f"  {mask} = {found['op']}{flags} {found['predicate']} {type} {', '.join(operands)}")
        self.lines[number] = self.lines[number].replace(f"  {mask} = {line}", "\n".join(lines))
        self._defined[mask] = number, lines[-1].split(" = ", 1)[1]

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


def _operands(comparison: re.Match[str]) -> tuple[str, str] | None:
    """What is compared, if each is a name or the same in all lanes."""
    found = _OPERANDS.fullmatch(comparison["left"])
    return (found[1], found[2]) if found else None


def _is_declared(line: str, text: str) -> bool:
    return (
        re.search(rf"(?m)^declare .*{re.escape(line[line.index('@') : line.index('(')])}\(", text) is not None
    )

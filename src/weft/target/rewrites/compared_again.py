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

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, LINE, NAME, rewritten, unused_prefix
from weft.target.rewrites.mask_lines import FALSE, TRUE, Comparison, Frozen, Join, Lanes, Part, mask_line

MOST_COMPARISONS = 2
"""Of how many a mask is joined that is made again."""

_NO_MASK = MOST_COMPARISONS + 1


def with_compared_again(text: str, isa: Isa) -> str | None:
    """A module's text with such masks; None where it has none."""
    if isa.arch != "x86_64" or isa.mask_registers:
        return None

    def change(part: str) -> str | None:
        masks = _Masks(part) if " x i1>" in part else None
        return "\n".join(masks.lines) if masks is not None and masks.made else None

    return rewritten(text, change)


class _Masks:
    """The masks of one function: the lines of its text, and how many are made again."""

    __slots__ = ("_again", "_at", "_blocks", "_defined", "_known", "_prefix", "lines", "made")

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.made = 0
        self._prefix = unused_prefix("again", text)
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
        match mask_line(right):
            case Part() as part if self._comparisons(part.mask) <= MOST_COMPARISONS:
                self._rename(own, self._write(part.mask, part.lanes, made, frozen=False), made)
            case Frozen() as mask if self._comparisons(mask.mask) <= MOST_COMPARISONS:
                self._rename(own, self._write(mask.mask, None, made, frozen=True), made)
            case _:
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
        if mask in (TRUE, FALSE):
            return 0
        known = self._known.get(mask)
        if known is None:
            # Masks in loops are of φs, so none is joined of itself.
            known = self._known[mask] = min(self._count(self._defined.get(mask, "")), _NO_MASK)
        return known

    def _count(self, line: str) -> int:
        match mask_line(line):
            case Comparison() as compared:
                packed_to = max(8, 128 // compared.lanes)
                return 1 if compared.bits > packed_to else _NO_MASK
            case Part() as part:
                return self._comparisons(part.mask)
            case Join() as join:
                return self._comparisons(join.first) + self._comparisons(join.second)
            case _:
                return _NO_MASK

    def _write(self, mask: str, lanes: Lanes | None, made: list[str], *, frozen: bool) -> str:
        """Write the lines that make lanes of a mask, or all of them, of frozen numbers where it is frozen; its name."""
        if mask in (TRUE, FALSE):
            return mask

        def new(line: str) -> str:
            name = f"{self._prefix}.{self.made}.{len(made)}"
            made.append(f"  {name} = {line}")
            self._defined[name] = line
            return name

        line = mask_line(self._defined[mask])
        assert isinstance(line, Part | Comparison | Join), "counted"
        if isinstance(line, Part):
            return self._write(line.mask, line.lanes.within(lanes), made, frozen=frozen)
        taken = lanes or Lanes(0, line.lanes)
        if isinstance(line, Join):
            masks = (self._write(mask, lanes, made, frozen=frozen) for mask in (line.first, line.second))
            return new(line.of(taken.count, *masks))
        values = [taken.of(line.lanes, line.type, value, new) for value in line.operands]
        if frozen:
            type = f"<{taken.count} x {line.type}>"
            values = [new(f"freeze {type} {v}") if v.startswith("%") else v for v in values]
        return new(line.of(taken.count, *values, frozen=frozen))

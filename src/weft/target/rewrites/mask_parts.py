"""Masks of lanes that fill several registers, taken apart into the masks of each register.

A mask that its block makes of comparisons, of masks side by side, and of such masks that are frozen or joined, is there
register by register: parts of comparisons are comparisons of parts, and parts of what is joined are joined.

Precondition: LLVM's text behind its pipeline. Postcondition: lines that are written make the same lanes as the mask
has; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from weft.machine.targets import Isa
from weft.target.definitions import FunctionLines
from weft.target.rewrites.mask_lines import (
    FALSE,
    TRUE,
    Comparison,
    Frozen,
    Join,
    Lanes,
    MaskLine,
    SideBySide,
    mask_line,
)

MOST_MASKS = 64
"""That one mask is made of: each is written again for each register."""


class Registers(Struct, frozen=True):
    """A mask that is there register by register: the names of its parts, and lanes of each; 0 if any will do."""

    each: int
    parts: tuple[str, ...] = ()


class MaskParts(Struct, frozen=True):
    """How masks of a function are taken apart.

    Parameters
    ----------
    function
        Its lines.
    isa
        The processor.
    times_named
        In how many places a name is, where it is made included.
    known
        Masks whose parts have names already.
    """

    function: FunctionLines
    isa: Isa
    times_named: Callable[[str], int]
    known: dict[str, Registers] = field(default_factory=dict[str, Registers])

    def lanes_of_register(self, mask: str, block: int, lanes: int) -> int | None:
        """Lanes of each register, eight or more, where a mask of a block is there in several registers."""
        width = self._width(mask, block)
        each = self.isa.lanes(width) if width else 0
        return each if 8 <= each < lanes else None

    def _width(self, mask: str, block: int) -> int | None:
        """Bits of a lane of what a mask compares, 0 if any will do; None if it is made otherwise, or elsewhere."""
        widths: set[int] = set()
        work = [mask]
        for _ in range(MOST_MASKS):
            if not work:
                # Parts that any will do for are as the others.
                return None if len(widths) > 1 else widths.pop() if widths else 0
            mask = work.pop()
            if mask in self.known:
                if each := self.known[mask].each:
                    widths.add(self.isa.vector_bits // each)
                continue
            match self._line(mask, block):
                case Comparison() as compared:
                    widths.add(compared.bits)
                case SideBySide() as line:
                    widths.add(self._width_of_sides(line, block))
                # Frozen twice, poison could be two numbers.
                case Frozen(mask=inner) if self.times_named(mask) == 2:
                    work.append(inner)
                case Join(first=first, second=second):
                    work += [side for side in (first, second) if side not in (TRUE, FALSE)]
                case _:
                    return None
        return None

    def _width_of_sides(self, line: SideBySide, block: int) -> int:
        low = self._line(line.low, block)
        if isinstance(low, SideBySide):
            return self._width_of_sides(low, block)
        return self.isa.vector_bits // (line.lanes // 2)

    def _line(self, mask: str, block: int) -> MaskLine | None:
        number, right = self.function.defined.get(mask, (0, ""))
        return mask_line(right) if right and self.function.blocks[number] == block else None

    def part(self, mask: str, lanes: Lanes, new: Callable[[str], str]) -> str:
        """Write the lines that make so many lanes of a mask; the name of the last."""
        if mask in (TRUE, FALSE):
            return mask
        if mask in self.known:
            return self.known[mask].parts[lanes.first // lanes.count]
        match mask_line(self.function.defined[mask][1]):
            case Frozen(mask=inner):
                return new(f"freeze <{lanes.count} x i1> {self.part(inner, lanes, new)}")
            case Join() as line:
                first, second = (self.part(side, lanes, new) for side in (line.first, line.second))
                return new(line.of(lanes.count, first, second))
            case SideBySide(lanes=all, low=low, high=high):
                half = all // 2
                side, first = (low, lanes.first) if lanes.first < half else (high, lanes.first - half)
                return side if lanes.count == half else self.part(side, Lanes(first, lanes.count), new)
            case Comparison() as line:
                return lanes.of(line.lanes, "i1", mask, new)
            case _:
                raise AssertionError

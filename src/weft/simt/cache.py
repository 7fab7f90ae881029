"""A cache of lines with sectors, in which any line may be anywhere: the one that was used longest ago goes first."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from weft.machine.transactions import LINE, SECTOR

_SECTORS = LINE // SECTOR


class _Line(Struct):
    """Which sectors of a line are there, and which were written since."""

    present: int = 0
    dirty: int = 0


class Cache:
    """Lines of 128 bytes in four sectors each.

    How hardware spreads lines over sets is not known; this is as if it did it perfectly.

    Parameters
    ----------
    size
        Bytes; a cache of none keeps nothing.
    """

    __slots__ = ("_capacity", "_lines")

    def __init__(self, size: int) -> None:
        self._capacity = size // LINE
        self._lines: OrderedDict[int, _Line] = OrderedDict()

    def has(self, sector: int) -> bool:
        """Whether a sector is there."""
        found = self._lines.get(sector // _SECTORS)
        return found is not None and bool(found.present >> sector % _SECTORS & 1)

    def read(self, sector: int) -> tuple[bool, int]:
        """Read a sector, which is there from now on; whether it was, and how many written sectors went for it."""
        return self._touch(sector, False)

    def write(self, sector: int) -> int:
        """Write a sector, which stays until its line goes; how many written sectors went for it."""
        return self._touch(sector, True)[1]

    def _touch(self, sector: int, write: bool) -> tuple[bool, int]:
        if not self._capacity:
            return False, int(write)
        number, bit = sector // _SECTORS, 1 << sector % _SECTORS
        line = self._lines.get(number)
        gone = 0
        if line is None:
            if len(self._lines) >= self._capacity:
                gone = self._lines.popitem(last=False)[1].dirty.bit_count()
            line = self._lines[number] = _Line()
        else:
            self._lines.move_to_end(number)
        was = bool(line.present & bit)
        line.present |= bit
        if write:
            line.dirty |= bit
        return was, gone

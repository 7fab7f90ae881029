"""Numbers of positions in terms of columns, rows and planes, as `weft.transform.groups.id_coordinates` knows them."""

from __future__ import annotations

from msgspec import Struct

from weft.ir import ConstInt, Value
from weft.ir.types import I64

POSITIONS = ConstInt(I64, 1 << 41)
"""There are no more, nor rows or planes of them."""


class Bound(Struct, frozen=True):
    """What a number of positions is at most: `number`, or `POSITIONS` for None, divided by all of `parts`."""

    number: Value | None = None
    parts: tuple[Value, ...] = ()


class Number(Struct, frozen=True):
    """A number of positions: of threads (level 0), rows (1), planes (2), or stacks of planes (3).

    It is what `columns`, `rows` and `planes` say of x, y and z, and `above`, which all threads of a box share: stacks
    where planes are counted in stacks, else planes; None for zero.
    """

    level: int
    columns: bool = False
    rows: bool = False
    planes: bool = False
    above: Value | None = None
    bound: Bound = Bound()

    @property
    def has_planes(self) -> bool:
        return self.planes or self.above is not None

"""Targets: which there are, since which version of PTX, and what they have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from weft.diag.errors import PtxError
from weft.ptx.instructions.forms import Needs

_SINCE: dict[int, tuple[int, int]] = {
    10: (1, 0),
    11: (1, 0),
    12: (1, 2),
    13: (1, 2),
    20: (2, 0),
    21: (2, 0),
    30: (3, 1),
    32: (4, 0),
    35: (3, 1),
    37: (4, 1),
    50: (4, 0),
    52: (4, 1),
    53: (4, 2),
    60: (5, 0),
    61: (5, 0),
    62: (5, 0),
    70: (6, 0),
    72: (6, 1),
    75: (6, 3),
    80: (7, 0),
    86: (7, 1),
    87: (7, 4),
    88: (9, 0),
    89: (7, 8),
    90: (7, 8),
    100: (8, 6),
    101: (8, 6),
    103: (8, 8),
    107: (9, 3),
    110: (9, 0),
    120: (8, 7),
    121: (8, 8),
}
"""The version of PTX that brought each architecture."""

_NAME = re.compile(r"(?:sm|compute)_(\d+)([af]?)", re.ASCII)
_OPTIONS = frozenset(("texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"))
# Architectures of a family have what the first of it has, when compiled for the family (f).
_FAMILIES = ((100, 103, 107), (101, 110), (120, 121))


@dataclass(frozen=True, slots=True)
class Target:
    """A module's target.

    Parameters
    ----------
    version
        Of PTX.
    number
        90 of ``sm_90a``.
    kind
        ``a`` where it is for this architecture alone, ``f`` for its family, or nothing.
    name
        As it is written.
    """

    version: tuple[int, int]
    number: int
    kind: str
    name: str

    def lacks(self, needs: Needs) -> str | None:
        """Say what is too old for something, or None where it is there."""
        if self.version < needs.ptx:
            return f"needs PTX {needs.ptx[0]}.{needs.ptx[1]}, and this module is of {self.version[0]}.{self.version[1]}"
        if needs.gone is not None and self.version >= needs.gone and self.number >= 70:
            return f"is gone from PTX {needs.gone[0]}.{needs.gone[1]} on"
        if needs.families:
            if self.kind and any(self._in_family(number) for number in needs.families):
                return None
            wanted = ", ".join(f"sm_{number}a" for number in needs.families)
            return f"is only on {wanted}, and the target is {self.name}"
        if self.number < needs.sm:
            return f"needs sm_{needs.sm}, and the target is {self.name}"
        return None

    def _in_family(self, number: int) -> bool:
        if number == self.number:
            return True
        return any(
            number in family and self.number in family and number < self.number for family in _FAMILIES
        )


def target_of(version: tuple[int, int], names: tuple[str, ...]) -> Target:
    """The target that a module names.

    Raises
    ------
    PtxError
        There is no such target, or not in this version; without a position.
    """
    architectures = [name for name in names if name not in _OPTIONS]
    if not architectures:
        raise PtxError("the target names no architecture", hint="write '.target sm_90', for instance")
    match = _NAME.fullmatch(architectures[0])
    number = int(match[1]) if match else 0
    if match is None or number not in _SINCE or (match[2] and number < 90):
        known = ", ".join(f"sm_{number}" for number in _SINCE if number >= 50)
        raise PtxError(
            f"there is no target '{architectures[0]}'", hint=f"targets are {known}, and older ones"
        )
    since = _SINCE[number]
    if match[2] == "a":
        since = max(since, (8, 0))
    elif match[2] == "f":
        since = max(since, (8, 8))
    if version < since:
        wanted, given = f"{since[0]}.{since[1]}", f"{version[0]}.{version[1]}"
        raise PtxError(f"target {architectures[0]} needs PTX {wanted}, and this module is of {given}")
    return Target(version, number, match[2], architectures[0])

"""Special registers: names, types, and since when they are there."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERED = re.compile(r"%(envreg|pm|reserved_smem_offset_)(\d+)(_64)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SpecialRegisterFacts:
    """One special register, or a series of them.

    Parameters
    ----------
    type
        How it is read; components of a vector have this type too.
    vector
        Whether it has components x, y, z.
    ptx, sm
        The least version of PTX and of the architecture.
    """

    type: str
    vector: bool = False
    ptx: tuple[int, int] = (1, 0)
    sm: int = 0


_F = SpecialRegisterFacts
SPECIAL_REGISTERS: dict[str, SpecialRegisterFacts] = {
    "%tid": _F("u32", True),
    "%ntid": _F("u32", True),
    "%laneid": _F("u32", False, (1, 3)),
    "%warpid": _F("u32", False, (1, 3)),
    "%nwarpid": _F("u32", False, (2, 0), 20),
    "%ctaid": _F("u32", True),
    "%nctaid": _F("u32", True),
    "%smid": _F("u32", False, (1, 3)),
    "%nsmid": _F("u32", False, (2, 0), 20),
    "%gridid": _F("u64", False, (1, 0)),
    "%is_explicit_cluster": _F("pred", False, (7, 8), 90),
    "%clusterid": _F("u32", True, (7, 8), 90),
    "%nclusterid": _F("u32", True, (7, 8), 90),
    "%cluster_ctaid": _F("u32", True, (7, 8), 90),
    "%cluster_nctaid": _F("u32", True, (7, 8), 90),
    "%cluster_ctarank": _F("u32", False, (7, 8), 90),
    "%cluster_nctarank": _F("u32", False, (7, 8), 90),
    "%lanemask_eq": _F("u32", False, (2, 0), 20),
    "%lanemask_le": _F("u32", False, (2, 0), 20),
    "%lanemask_lt": _F("u32", False, (2, 0), 20),
    "%lanemask_ge": _F("u32", False, (2, 0), 20),
    "%lanemask_gt": _F("u32", False, (2, 0), 20),
    "%clock": _F("u32"),
    "%clock_hi": _F("u32", False, (5, 0), 20),
    "%clock64": _F("u64", False, (2, 0), 20),
    "%globaltimer": _F("u64", False, (3, 1), 30),
    "%globaltimer_lo": _F("u32", False, (3, 1), 30),
    "%globaltimer_hi": _F("u32", False, (3, 1), 30),
    "%total_smem_size": _F("u32", False, (4, 1), 20),
    "%aggr_smem_size": _F("u32", False, (8, 1), 90),
    "%dynamic_smem_size": _F("u32", False, (4, 1), 20),
    "%reserved_smem_offset_begin": _F("b32", False, (7, 6), 80),
    "%reserved_smem_offset_end": _F("b32", False, (7, 6), 80),
    "%reserved_smem_offset_cap": _F("b32", False, (7, 6), 80),
    "%current_graph_exec": _F("u64", False, (8, 0), 50),
    "WARP_SZ": _F("u32"),
}
"""By name; ``WARP_SZ``, a constant, stands among them. Series such as ``%envreg0`` are known to `special_register`."""

_SERIES = {
    "envreg": (32, _F("b32", False, (2, 1))),
    "pm": (8, _F("u32", False, (1, 3))),
    "reserved_smem_offset_": (2, _F("b32", False, (7, 6), 80)),
}
_WIDE_COUNTER = _F("u64", False, (4, 0), 50)


def special_register(name: str) -> SpecialRegisterFacts | None:
    """The facts about a special register by its name without component, or None."""
    facts = SPECIAL_REGISTERS.get(name)
    if facts is not None:
        return facts
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    count, facts = _SERIES[match[1]]
    if int(match[2]) >= count or (match[3] and match[1] != "pm"):
        return None
    return _WIDE_COUNTER if match[3] else facts


def is_special(name: str) -> bool:
    """Whether a name is that of a special register."""
    return special_register(name) is not None

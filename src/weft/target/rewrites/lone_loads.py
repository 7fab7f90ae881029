"""Gathers as loads one by one, on cores where these are faster (`slow_gathers` of `weft.machine.cores`).

So are those of 8 and 16 bits with AVX-512, for which there is no instruction on any core: LLVM takes 512 bits of
addresses apart in two steps for each lane. With AVX2, one step more or less makes no difference. Those of 32 lanes or
more under a mask are loops over active lanes already (`weft.target.rewrites.masked_loops`).

Addresses go through memory, which is faster than to take each out of a register; LLVM would do that if it saw where
they come from, so they are stored as volatile. Lanes that must not load read zeros. Reports and the cost model see a
gather, which costs as much as lanes' loads (`weft.costs.instructions`).
"""

from __future__ import annotations

import re

from weft.machine.cores import MOST_LONE_LOADS
from weft.machine.targets import Isa

_CALL = re.compile(
    r"@llvm\.masked\.gather\.v(?P<lanes>\d+)(?P<type>i8|i16|i32|i64|f32|f64|p0)\.v(?P=lanes)p0(?=\(<(?P=lanes) x ptr> )"
)
_NARROW, _WIDE = ("i8", "i16"), ("i32", "i64", "f32", "f64", "p0")
MOST_NARROW_LOADS = 64
"""Measured on Ice Lake with 64 lanes: lookups of bytes take 0.88 of the time, decoding base64 0.71, resizing pictures
0.77; with AVX2 1.06, 0.99 and 0.97."""
_NAMES = {"f32": "float", "f64": "double", "p0": "ptr"}

_BEGIN = """\
define internal <{n} x {t}> @weft.each.v{n}{m}(<{n} x ptr> %p, <{n} x i1> %mask, <{n} x {t}> %rest) \
alwaysinline nounwind {{
entry:
  %places = alloca <{n} x ptr>, align 64
  %spare = insertelement <{n} x ptr> poison, ptr @weft.zeros, i64 0
  %spares = shufflevector <{n} x ptr> %spare, <{n} x ptr> poison, <{n} x i32> zeroinitializer
  %all = select <{n} x i1> %mask, <{n} x ptr> %p, <{n} x ptr> %spares
  store volatile <{n} x ptr> %all, ptr %places, align 64
"""
_LANE = """\
  %in.{k} = getelementptr ptr, ptr %places, i64 {k}
  %at.{k} = load ptr, ptr %in.{k}, align 8
  %value.{k} = load {t}, ptr %at.{k}, align 1
  %data.{k} = insertelement <{n} x {t}> {before}, {t} %value.{k}, i64 {k}
"""
_END = """\
  ret <{n} x {t}> %data.{last}
}}
"""
_ZEROS = "@weft.zeros = private unnamed_addr constant [8 x i8] zeroinitializer, align 8\n"


def with_lone_loads(text: str, isa: Isa) -> str:
    """Return a module's text in which gathers are such loads, if `isa` is of a core that wants them."""
    most = {type: lanes for types, lanes in _most_lanes(isa).items() for type in types}
    if not most:
        return text
    needed: set[tuple[int, str]] = set()

    def replaced(found: re.Match[str]) -> str:
        if int(found["lanes"]) > most.get(found["type"], 0):
            return found[0]
        needed.add((int(found["lanes"]), found["type"]))
        return f"@weft.each.v{found['lanes']}{found['type']}"

    lines = (
        line if line.startswith("declare ") else _CALL.sub(replaced, line) for line in text.splitlines(True)
    )
    changed = "".join(lines)
    # A text that has been made before has some of them.
    missing = [
        each
        for each in sorted(needed)
        if f"> @weft.each.v{each[0]}{each[1]}(<{each[0]} x ptr> %p," not in text
    ]
    zeros = _ZEROS if needed and "@weft.zeros = " not in text else ""
    return changed + zeros + "".join(_definition(*each) for each in missing)


def _most_lanes(isa: Isa) -> dict[tuple[str, ...], int]:
    """Of how many lanes gathers of which types are such loads."""
    narrow = {_NARROW: MOST_NARROW_LOADS} if isa.gather and isa.vector_bits > 256 else {}
    return narrow | ({_WIDE: MOST_LONE_LOADS} if isa.gather and isa.core.slow_gathers else {})


def _definition(lanes: int, type: str) -> str:
    name = _NAMES.get(type, type)
    before = ["poison", *(f"%data.{k}" for k in range(lanes))]
    each = "".join(_LANE.format(n=lanes, t=name, k=k, before=before[k]) for k in range(lanes))
    return _BEGIN.format(n=lanes, t=name, m=type) + each + _END.format(n=lanes, t=name, last=lanes - 1)

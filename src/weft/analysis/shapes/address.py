"""The transfer function of getelementptr, in bytes (Moll §10.4.6)."""

from __future__ import annotations

from weft.analysis.integers.intervals import full
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.arithmetic import combine, scale
from weft.analysis.shapes.casts import extend, truncate
from weft.analysis.shapes.lattice import make
from weft.analysis.shapes.shape import ACTIVE, WRAPS, Shape


def getelementptr(a: Application) -> Shape:
    """Base + offset + Σ scale·index, indices extended by sign or truncated to the width of addresses.

    `inbounds` and `nusw` say that the offset is a signed number that does not wrap, and that adding it to the
    unsigned base address does not either; so the address is exact in the unsigned reading. `nuw` says it of
    unsigned offsets.
    """
    base = a.operands[0]
    signed = "inbounds" in a.flags or "nusw" in a.flags
    unsigned = "nuw" in a.flags
    total = make(a.extents, a.bits, (0,) * len(a.extents), a.offset, a.bits)
    for position, (index, factor) in enumerate(zip(a.operands[1:], a.scales, strict=True), start=1):
        term = _scaled(a, position, index, factor, signed, unsigned)
        total = combine(
            a.extents,
            a.bits,
            total,
            term,
            1,
            min(ACTIVE, total.nsw, term.nsw) if signed else WRAPS,
            min(ACTIVE, total.nuw, term.nuw) if unsigned else WRAPS,
        )
    exact = max(total.nsw if signed else WRAPS, total.nuw if unsigned else WRAPS)
    return combine(a.extents, a.bits, base, total, 1, WRAPS, min(ACTIVE, base.nuw, exact))


def _scaled(a: Application, position: int, index: Shape, factor: int, signed: bool, unsigned: bool) -> Shape:
    width = a.facts[position].bits
    if width < a.bits:
        index = extend(a.extents, width, a.bits, index, "nsw", a.need)
    elif width > a.bits:
        index = truncate(a.extents, a.bits, index, signed, unsigned)
    bounds = a.range(position)
    limits = full(a.bits)
    if bounds is not None and limits.lo <= factor * bounds.lo and factor * bounds.hi <= limits.hi:
        signed = True
    return scale(
        a.extents,
        a.bits,
        index,
        factor,
        min(ACTIVE, index.nsw) if signed else WRAPS,
        min(ACTIVE, index.nuw) if unsigned else WRAPS,
        positive=True,
    )

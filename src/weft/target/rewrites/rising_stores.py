"""Vectors of several registers are stored register by register, the lowest first.

What LLVM makes of a store of 32 floats on AVX2 is four stores, of which that of the highest register comes first::

    store <32 x float> v, p                       store <8 x float> (v's 0 to 7), p
                                          ==>     store <8 x float> (v's 8 to 15), p + 32
                                                  ...

Where the rows of an array begin within a line of the cache, as behind the edge of a picture, a register ends in a line
that a later one goes on with. Processors write what goes up line by line, and what goes down to and fro. On Emerald
Rapids a stencil of 9 points on 2000 x 2000 floats takes 2.2 ms by four stores that go up, 2.6 by the same that go down,
and by two stores 2.2 and 2.9. In the caches both take as long.

Precondition: LLVM's text behind its pipeline. Postcondition: on x86, no plain store has a vector of several whole
registers, but for one that lanes of two vectors have been put together in. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import NAME, WIDTHS, rewritten, unused_prefix

_STORE = re.compile(
    r"  store <(?P<lanes>\d+) x (?P<type>i8|i16|i32|i64|float|double)> "
    r"(?P<value>%\S+|zeroinitializer|splat \([^()]*\)), "
    r"ptr (?P<pointer>[%@]\S+), align (?P<align>\d+)(?P<rest>.*)"
)

_SHUFFLE = re.compile(rf"  ({NAME.pattern}) = shufflevector <\d+ x \w+> %[^,]+, <\d+ x \w+> (?!poison)")
"""What takes lanes of two vectors by turns: LLVM has instructions for some that are stored."""


def with_rising_stores(text: str, isa: Isa) -> str | None:
    """A module's text with such stores; None where it has none."""
    if isa.arch != "x86_64" or "  store <" not in text:
        return None

    def change(part: str) -> str | None:
        if "  store <" not in part:
            return None
        prefix, made = unused_prefix("rising", part), 0
        lines = part.split("\n")
        shuffled = {found[1] for line in lines if (found := _SHUFFLE.match(line))}
        for number, line in enumerate(lines):
            found = _STORE.fullmatch(line) if line.startswith("  store <") else None
            if found is None or found["value"] in shuffled:
                continue
            if parts := _parts(found, isa, f"{prefix}.{made}"):
                lines[number] = "\n".join(parts)
                made += 1
        return "\n".join(lines) if made else None

    return rewritten(text, change)


def _parts(store: re.Match[str], isa: Isa, prefix: str) -> list[str]:
    """The lines that store a vector register by register; none where it fills no more than one, or none to the end."""
    lanes, type, value, pointer = int(store["lanes"]), store["type"], store["value"], store["pointer"]
    each = isa.lanes(WIDTHS[type])
    if lanes <= each or lanes % each:
        return []
    size = isa.vector_bits // 8
    align = min(int(store["align"]), size)
    made: list[str] = []
    for first in range(0, lanes, each):
        some, place = f"{prefix}.{first}", pointer
        chosen = ", ".join(f"i32 {lane}" for lane in range(first, first + each))
        made.append(
            f"  {some} = shufflevector <{lanes} x {type}> {value}, <{lanes} x {type}> poison, "
            f"<{each} x i32> <{chosen}>"
        )
        if first:
            place = f"{some}.place"
            made.append(f"  {place} = getelementptr i8, ptr {pointer}, i64 {first // each * size}")
        made.append(f"  store <{each} x {type}> {some}, ptr {place}, align {align}{store['rest']}")
    return made

"""The bits of a comparison of two registers are taken of each, not of what they are packed to.

Where there are no registers for masks, LLVM packs the answers of 16 lanes of 32 bits, or of 8 lanes of 64, to bytes of
one register first. That crosses the halves of registers, for which a branch on the bits waits twice as long as for
the bits of each register, shifted and or'ed together::

    m = fcmp ogt <16 x float> a, b                lo = fcmp ogt <8 x float> (a's first half), (b's first half)
    bits = bitcast <16 x i1> m to i16     ==>     hi = fcmp ogt <8 x float> (a's second half), (b's second half)
                                                  bits = (bits of hi) << 8 | (bits of lo)

Precondition: LLVM's text behind its pipeline. Postcondition: such bits are taken so on x86 with registers of 256 bits
and without registers for masks. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import LINE, unused_prefix
from weft.target.rewrites.mask_lines import Comparison, Lanes, mask_line

_BITS = re.compile(
    r"  (?P<name>%\S+) = bitcast <(?P<lanes>8|16) x i1> (?P<mask>%[^\s,]+) to i(?P=lanes)(?P<rest>(?:, !.*)?)"
)


def with_halved_masks(text: str, isa: Isa) -> str | None:
    """A module's text with such bits; None where it has none."""
    is_better = isa.arch == "x86_64" and not isa.mask_registers and isa.vector_bits == 256
    if not is_better or not any(f"bitcast <{lanes} x i1>" in text for lanes in (8, 16)):
        return None
    lines = text.split("\n")
    compared: dict[str, Comparison] = {}
    prefix = unused_prefix("half", text)
    made = 0
    for number, line in enumerate(lines):
        if line.startswith("define "):
            compared = {}
        elif "cmp " in line and (found := LINE.match(line)) is not None:
            mask = mask_line(found[2])
            if isinstance(mask, Comparison) and mask.lanes * mask.bits == 2 * isa.vector_bits:
                compared[found[1]] = mask
        elif compared and (bits := _BITS.fullmatch(line)) is not None and bits["mask"] in compared:
            lines[number] = _halved(bits, compared[bits["mask"]], f"{prefix}.{made}")
            made += 1
    return "\n".join(lines) if made else None


def _halved(bits: re.Match[str], compared: Comparison, prefix: str) -> str:
    whole = compared.lanes
    half = whole // 2
    lines: list[str] = []

    def new(line: str) -> str:
        name = f"{prefix}.{len(lines)}"
        lines.append(f"  {name} = {line}")
        return name

    parts: list[str] = []
    for first in (0, half):
        lanes = Lanes(first, half)
        mask = new(compared.of(half, *(lanes.of(whole, compared.type, v, new) for v in compared.operands)))
        parts.append(new(f"zext i{half} {new(f'bitcast <{half} x i1> {mask} to i{half}')} to i{whole}"))
    low, high = parts
    shifted = new(f"shl i{whole} {high}, {half}")
    lines.append(f"  {bits['name']} = or disjoint i{whole} {shifted}, {low}{bits['rest']}")
    return "\n".join(lines)

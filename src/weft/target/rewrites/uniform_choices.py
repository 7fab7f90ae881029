"""Choices between vectors by one condition are blends, not branches, where nobody foresees the condition.

A choice between two vectors that all lanes make alike has no instruction on x86: LLVM branches around moves. Both
vectors are there already, so a branch spares a few blends, and costs some twenty cycles where it goes another way than
the processor expects: by the axis of a tree's node, or by a vote::

    delta = select i1 %c, <32 x float> %a, %b         wide = splat (sext i1 %c to i32)
                                              ==>     delta = select (wide < 0), %a, %b

Where there are registers for masks, the condition is moved to one, and a register's lanes are chosen by it::

    bits = bitcast (sext i1 %c to i16) to <16 x i1>
    delta = select (bits, bits), %a, %b

A nearest-neighbour search in a kd-tree whose threads vote takes 0.97 of the time so (Zen 3), with AVX-512 0.95 (Emerald
Rapids).

Precondition: LLVM's text behind its pipeline. Postcondition: on x86 with registers of 256 bits or more, such choices
between vectors of floats, or of numbers of 32 or 64 bits, are made by masks. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import WIDTHS

_CHOICE = re.compile(
    r"  (?P<name>%\S+) = select(?P<flags>(?: [a-z]+)*) i1 (?P<condition>%[^\s,]+), "
    r"<(?P<lanes>\d+) x (?P<type>i32|i64|float|double)> (?P<rest>.*)"
)

_LEAST = 8
"""Bits of the least register for masks."""


def with_blended_choices(text: str, isa: Isa) -> str | None:
    """A module's text with such choices; None where it has none."""
    is_better = isa.arch == "x86_64" and isa.vector_bits >= 256
    if not is_better or " = select" not in text:
        return None
    lines = text.split("\n")
    prefix = "%weft.choice"
    while prefix in text:
        prefix += ".again"
    made = 0
    for number, line in enumerate(lines):
        if (found := _CHOICE.fullmatch(line)) is not None:
            each = isa.lanes(WIDTHS[found["type"]])
            by_bits = isa.mask_registers and each >= _LEAST and int(found["lanes"]) % each == 0
            prefixed = f"{prefix}.{made}"
            lines[number] = _by_bits(found, prefixed, each) if by_bits else _blended(found, prefixed)
            made += 1
    return "\n".join(lines) if made else None


def _by_bits(choice: re.Match[str], prefix: str, each: int) -> str:
    lanes = int(choice["lanes"])
    places = ", ".join(f"i32 {k % each}" for k in range(lanes))
    return "\n".join(
        (
            f"  {prefix}.number = sext i1 {choice['condition']} to i{each}",
            f"  {prefix}.bits = bitcast i{each} {prefix}.number to <{each} x i1>",
            f"  {prefix}.mask = shufflevector <{each} x i1> {prefix}.bits, <{each} x i1> poison, "
            f"<{lanes} x i32> <{places}>",
            f"  {choice['name']} = select{choice['flags']} <{lanes} x i1> {prefix}.mask, "
            f"<{lanes} x {choice['type']}> {choice['rest']}",
        )
    )


def _blended(choice: re.Match[str], prefix: str) -> str:
    lanes, bits = choice["lanes"], WIDTHS[choice["type"]]
    vector = f"<{lanes} x i{bits}>"
    return "\n".join(
        (
            f"  {prefix}.bits = sext i1 {choice['condition']} to i{bits}",
            f"  {prefix}.first = insertelement {vector} poison, i{bits} {prefix}.bits, i64 0",
            f"  {prefix}.all = shufflevector {vector} {prefix}.first, {vector} poison, <{lanes} x i32> zeroinitializer",
            f"  {prefix}.mask = icmp slt {vector} {prefix}.all, zeroinitializer",
            f"  {choice['name']} = select{choice['flags']} <{lanes} x i1> {prefix}.mask, "
            f"<{lanes} x {choice['type']}> {choice['rest']}",
        )
    )

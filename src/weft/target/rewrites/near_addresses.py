"""Addresses of gathers and scatters are made in their own blocks, of numbers of 32 bits.

LLVM selects instructions block by block. A gather or scatter in the block of its addresses goes to a scalar and lanes
of 32-bit numbers. In another block, as behind a branch around what no lane stores, it sees a vector of addresses: twice
as many registers, each of them widened, shifted and added to, and two scatters of eight lanes where one of sixteen
would do::

    looked: %w = sext <16 x i32> %n to <16 x i64>          looked: ...
            %p = getelementptr i32, ptr %a, %w      ==>    stored: %w' = sext <16 x i32> %n to <16 x i64>
            %v = gather(%p); br                                    %p' = getelementptr i32, ptr %a, %w'
    stored: scatter(%x, %p)                                        scatter(%x, %p')

Precondition: LLVM's text behind its pipeline. Postcondition: on x86 with gathers at numbers of 32 bits, and scatters,
addresses of one base and widened numbers stand in the block of the access. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import FunctionLines, rewritten, unused_prefix

_ACCESS = re.compile(
    r"call .*@llvm\.masked\.(?:gather|scatter)\..*<(?P<lanes>\d+) x ptr>(?: align \d+)? (?P<pointers>%[^\s,)]+)"
)
_ADDRESSES = re.compile(r"getelementptr .*, ptr %[^\s,]+, <\d+ x i64> (?P<numbers>%[^\s,]+)(?:, !.*)?")
_WIDENED = re.compile(r"(?:sext|zext(?: nneg)?) <\d+ x i32> %[^\s,]+ to <\d+ x i64>(?:, !.*)?")


def with_near_addresses(text: str, isa: Isa) -> str | None:
    """A module's text with such addresses; None where it has none."""
    if isa.arch != "x86_64" or not isa.scatter or "@llvm.masked." not in text:
        return None
    return rewritten(text, lambda part: _near(part) if _ACCESS.search(part) else None)


def _near(text: str) -> str | None:
    """One function's text with such addresses; None where it has none."""
    function = FunctionLines.of(text)
    lines, blocks, defined = function.lines, function.blocks, function.defined
    prefix, made = unused_prefix("near", text), 0
    for number, line in enumerate(lines):
        access = _ACCESS.search(line) if "@llvm.masked." in line else None
        if access is None or access["pointers"] not in defined:
            continue
        where, right = defined[access["pointers"]]
        addresses = _ADDRESSES.fullmatch(right)
        if addresses is None or addresses["numbers"] not in defined:
            continue
        origin, widened = defined[addresses["numbers"]]
        if _WIDENED.fullmatch(widened) is None or blocks[where] == blocks[origin] == blocks[number]:
            continue
        numbers, pointers = f"{prefix}.{made}.numbers", f"{prefix}.{made}.pointers"
        first, last = addresses.span("numbers")
        start, end = access.span("pointers")
        lines[number] = "\n".join(
            (
                f"  {numbers} = {widened}",
                f"  {pointers} = {right[:first]}{numbers}{right[last:]}",
                f"{line[:start]}{pointers}{line[end:]}",
            )
        )
        made += 1
    return "\n".join(lines) if made else None

"""Unsigned comparisons of lanes that have the same sign are signed ones.

SSE2 and AVX2 compare integers as signed ones only. For others LLVM's code generator turns the signs of both sides
first, or takes a maximum and asks for equality; that both have the same sign, as counters and extents have, says LLVM
in its text, and does not read again there::

    m = icmp samesign ult <8 x i64> k, n          vpxor, vpxor, vpcmpgtq
    m = icmp slt <8 x i64> k, n                   vpcmpgtq

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back. Postcondition: on x86 without
registers for masks, no comparison of vectors says ``samesign`` of an order. Preserves what functions give: of numbers
of one sign both orders are the same, and of others it was poison.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa

_UNSIGNED = re.compile(r"= icmp samesign u(?=(?:lt|le|gt|ge) <\d+ x i)")


def with_signed_comparisons(text: str, isa: Isa) -> str | None:
    """Return a module's text with such comparisons; None where it has none."""
    if isa.arch != "x86_64" or isa.mask_registers or "icmp samesign u" not in text:
        return None
    signed, count = _UNSIGNED.subn("= icmp s", text)
    return signed if count else None

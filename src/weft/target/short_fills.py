"""Runs of equal bytes that may be short, as one store under a mask where the processor has bytes under masks.

A call of ``memset`` for a run of some ten bytes takes longer than to write them, and has what is in registers saved
around it. Where the number of bytes is not a constant, up to `SHORT` of them are one store, whose mask is computed from
the number; only more are a call. Without masks for bytes (AVX2) a call it is: branches for the powers of two, which
would be there instead, are not foreseen (a million runs of up to 15 bytes take 2.9 ms by calls, 6.9 ms by branches, and
1.4 ms under masks).
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa

SHORT = 32
"""Bytes; a store of more crosses the lines of the cache as often as not."""

_FILL = re.compile(r"call void @llvm\.memset\.p0\.i64(?=\(ptr [^,]*, i8 [^,]*, i64 %[^,]*, i1 false\))")

_DEFINITION = f"""\
define internal void @weft.fill(ptr %p, i8 %byte, i64 %size, i1 %volatile) alwaysinline nounwind {{
entry:
  %less = sub i64 %size, 1
  %short = icmp ult i64 %less, {SHORT}
  br i1 %short, label %once, label %many
once:
  %size.bits = trunc i64 %size to i{SHORT}
  %off = sub i{SHORT} {SHORT}, %size.bits
  %on = lshr i{SHORT} -1, %off
  %mask = bitcast i{SHORT} %on to <{SHORT} x i1>
  %one = insertelement <{SHORT} x i8> poison, i8 %byte, i64 0
  %all = shufflevector <{SHORT} x i8> %one, <{SHORT} x i8> poison, <{SHORT} x i32> zeroinitializer
  call void @llvm.masked.store.v{SHORT}i8.p0(<{SHORT} x i8> %all, ptr align 1 %p, <{SHORT} x i1> %mask)
  ret void
many:
  call void @llvm.memset.p0.i64(ptr align 1 %p, i8 %byte, i64 %size, i1 false)
  ret void
}}
"""
_DECLARATION = f"declare void @llvm.masked.store.v{SHORT}i8.p0(<{SHORT} x i8>, ptr"


def with_short_fills(text: str, isa: Isa) -> str:
    """Return a module's text in which such runs are stored under masks, if `isa` has them."""
    if not isa.masks_memory(8):
        return text
    changed, count = _FILL.subn("call void @weft.fill", text)
    if not count:
        return text
    declaration = "" if _DECLARATION in changed else f"{_DECLARATION}, <{SHORT} x i1>)\n"
    return changed + declaration + _DEFINITION

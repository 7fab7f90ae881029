"""Comparison and selection."""

from __future__ import annotations

from weft.ptx.instructions.forms import forms

_ICMP = "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
_RESULT = "D:u32|s32|f32"

FORMS = [
    *forms("set", f"{_ICMP} {_RESULT} T:$BITS|$INT", "=D T T"),
    *forms("set", f"{_ICMP} $BOOL {_RESULT} T:$BITS|$INT", "=D T T !pred"),
    *forms("set", f"$CMP ftz? {_RESULT} T:f32|f64", "=D T T"),
    *forms("set", f"$CMP $BOOL ftz? {_RESULT} T:f32|f64", "=D T T !pred"),
    *forms("set", "$CMP ftz? D:f16|u16|s16|u32|s32 T:f16", "=D T T", ptx=4.2, sm=53),
    *forms("set", "$CMP $BOOL ftz? D:f16|u16|s16|u32|s32 T:f16", "=D T T !pred", ptx=4.2, sm=53),
    *forms("set", "$CMP ftz? D:f16x2|u32|s32 T:f16x2", "=D T T", ptx=4.2, sm=53),
    *forms("set", "$CMP $BOOL ftz? D:f16x2|u32|s32 T:f16x2", "=D T T !pred", ptx=4.2, sm=53),
    *forms("set", "$CMP D:bf16|u16|s16|u32|s32 T:bf16", "=D T T", ptx=7.8, sm=90),
    *forms("set", "$CMP $BOOL D:bf16|u16|s16|u32|s32 T:bf16", "=D T T !pred", ptx=7.8, sm=90),
    *forms("set", "$CMP D:bf16x2|u32|s32 T:bf16x2", "=D T T", ptx=7.8, sm=90),
    *forms("set", "$CMP $BOOL D:bf16x2|u32|s32 T:bf16x2", "=D T T !pred", ptx=7.8, sm=90),
    *forms("setp", f"{_ICMP} T:$BITS|$INT", "=pred|pred? T T"),
    *forms("setp", f"{_ICMP} $BOOL T:$BITS|$INT", "=pred|pred? T T !pred"),
    *forms("setp", "$CMP ftz? T:f32|f64", "=pred|pred? T T"),
    *forms("setp", "$CMP $BOOL ftz? T:f32|f64", "=pred|pred? T T !pred"),
    *forms("setp", "$CMP ftz? T:f16", "=pred|pred? T T", ptx=4.2, sm=53),
    *forms("setp", "$CMP $BOOL ftz? T:f16", "=pred|pred? T T !pred", ptx=4.2, sm=53),
    *forms("setp", "$CMP ftz? T:f16x2", "=pred|pred T T", ptx=4.2, sm=53),
    *forms("setp", "$CMP $BOOL ftz? T:f16x2", "=pred|pred T T !pred", ptx=4.2, sm=53),
    *forms("setp", "$CMP T:bf16", "=pred|pred? T T", ptx=7.8, sm=90),
    *forms("setp", "$CMP $BOOL T:bf16", "=pred|pred? T T !pred", ptx=7.8, sm=90),
    *forms("setp", "$CMP T:bf16x2", "=pred|pred T T", ptx=7.8, sm=90),
    *forms("setp", "$CMP $BOOL T:bf16x2", "=pred|pred T T !pred", ptx=7.8, sm=90),
    *forms("selp", "T:$ANY", "=T T T pred"),
    *forms("slct", "T:$ANY C:s32", "=T T T C"),
    *forms("slct", "ftz? T:$ANY C:f32", "=T T T C"),
]

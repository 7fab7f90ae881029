"""Moves, conversions, loads and stores."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_LOAD = Effect.READS
_STORE = Effect.WRITES
_NUMBER = "u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64"
_INTEGER = "u8|u16|u32|u64|s8|s16|s32|s64"
_IRND = "rni|rzi|rmi|rpi"
_FP8X2 = "e4m3x2|e5m2x2"
_FP6X2 = "e2m3x2|e3m2x2"
_NARROW = f"{_FP8X2}|{_FP6X2}|e2m1x2"
_LEVELS = "$L1? $L2? $HINT? $FETCH?"
_LD_CACHE = "ca|cg|cs|lu|cv"
_ST_CACHE = "wb|cg|cs|wt"
_TYPE = "V:$VECTOR? T:$MEMORY"

FORMS = [
    *forms("mov", "T:pred", "=T !T"),
    *forms("mov", "T:b16|u16|s16|f16|bf16|u32|s32|f32|u64|s64|f64", "=T T"),
    *forms("mov", "T:b32|b64|b128", "=<T> <T>"),
    *forms("mov", "V:v2|v4 T:$ANY", "={T} {T}"),
    # Loads. `.weak` is what an access without it is.
    *forms("ld", f"weak? S:$SPACE? {_LEVELS} {_TYPE}", "=~vT [] b64?", _LOAD),
    *forms("ld", f"weak? S:$SPACE? {_LD_CACHE} {_LEVELS} {_TYPE}", "=~vT [] b64?", _LOAD),
    *forms("ld", f"volatile S:$SPACE? $FETCH? {_TYPE}", "=~vT []", _LOAD, ptx=1.1),
    *forms(
        "ld", f"relaxed|acquire C:$SCOPE S:$SPACE? {_LEVELS} {_TYPE}", "=~vT [] b64?", _LOAD, ptx=6.0, sm=70
    ),
    *forms("ld", f"mmio relaxed|acquire C:sys S:global? {_TYPE}", "=~vT []", _LOAD, ptx=8.2, sm=70),
    *forms("ld", f"S:global {_LD_CACHE}? nc {_LEVELS} {_TYPE}", "=~vT [] b64?", _LOAD, ptx=3.1, sm=32),
    *forms("ldu", f"S:global? {_TYPE}", "=~vT []", _LOAD, ptx=2.0, sm=20),
    *forms("st", f"weak? S:$SPACE? {_LEVELS} {_TYPE}", "[] ~vT b64?", _STORE),
    *forms("st", f"weak? S:$SPACE? {_ST_CACHE} {_LEVELS} {_TYPE}", "[] ~vT b64?", _STORE),
    *forms("st", f"volatile S:$SPACE? {_TYPE}", "[] ~vT", _STORE, ptx=1.1),
    *forms(
        "st", f"relaxed|release C:$SCOPE S:$SPACE? {_LEVELS} {_TYPE}", "[] ~vT b64?", _STORE, ptx=6.0, sm=70
    ),
    *forms("st", f"mmio relaxed|release C:sys S:global? {_TYPE}", "[] ~vT", _STORE, ptx=8.2, sm=70),
    *forms("prefetch", "S:global|local? L1|L2", "[]", Effect.OTHER, ptx=2.0, sm=20),
    *forms("prefetch", "S:global L2::evict_last|L2::evict_normal", "[]", Effect.OTHER, ptx=7.4, sm=80),
    *forms("prefetch", "S:const|param? tensormap", "[]", Effect.OTHER, ptx=8.0, sm=90),
    *forms("prefetchu", "L1", "[]", Effect.OTHER, ptx=2.0, sm=20),
    *forms("applypriority", "S:global? L2::evict_normal", "[] imm", Effect.OTHER, ptx=7.4, sm=80),
    *forms("discard", "S:global? L2", "[] imm", Effect.WRITES, ptx=7.4, sm=80),
    *forms(
        "createpolicy", "fractional $L2 L2::evict_first|L2::evict_unchanged? b64", "=b64 f32?", ptx=7.4, sm=80
    ),
    *forms(
        "createpolicy",
        "fractional L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        "=b64 f32?",
        ptx=7.4,
        sm=80,
    ),
    *forms(
        "createpolicy",
        "range global? $L2|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        "=b64 [] u32 u32",
        ptx=7.4,
        sm=80,
    ),
    *forms("createpolicy", "cvt L2 b64", "=b64 b64", ptx=7.4, sm=80),
    *forms("cvta", "to? S:$SPACE T:u32|u64", "=T T", ptx=2.0, sm=20),
    *forms("mapa", "shared::cluster? T:u32|u64", "=T T u32", Effect.OPAQUE, ptx=7.8, sm=90),
    *forms("getctarank", "shared::cluster? T:u32|u64", "=u32 T", Effect.OPAQUE, ptx=7.8, sm=90),
    # Conversions.
    *forms("cvt", f"$RND|{_IRND}? ftz? sat? D:{_NUMBER} A:{_NUMBER}", "=~D ~A"),
    *forms("cvt", "rn|rz|rs? relu? satfinite? D:$HALF|$BHALF A:f32", "=D A A? b32?", ptx=7.0, sm=80),
    *forms("cvt", "rna|rn|rz satfinite? relu? D:tf32 A:f32", "=D A", ptx=7.0, sm=80),
    *forms("cvt", f"rn satfinite relu? D:{_FP8X2} A:f32", "=D A A", ptx=7.8, sm=89),
    *forms("cvt", f"rn satfinite relu? D:{_FP8X2} A:f16x2", "=D A", ptx=7.8, sm=89),
    *forms(
        "cvt",
        f"rn satfinite? relu? D:{_NARROW} A:f32",
        "=~D A A",
        ptx=8.6,
        families=(100, 101, 103, 110, 120, 121),
    ),
    *forms(
        "cvt",
        f"rn satfinite relu? D:{_NARROW}|s2f6x2 A:$HALF|$BHALF",
        "=~D A",
        ptx=9.1,
        families=(100, 101, 103, 110, 120, 121),
    ),
    *forms(
        "cvt",
        "rs relu? satfinite D:e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 A:f32",
        "=D {A} b32",
        ptx=8.7,
        families=(100, 103),
    ),
    *forms("cvt", f"rn relu? D:$HALF A:{_FP8X2}", "=D A", ptx=7.8, sm=89),
    *forms("cvt", f"rn relu? D:f16x2 A:{_NARROW}", "=D ~A", ptx=8.6, families=(100, 101, 103, 110, 120, 121)),
    *forms(
        "cvt", "rz|rp satfinite? D:ue8m0x2 A:f32", "=D A A", ptx=8.6, families=(100, 101, 103, 110, 120, 121)
    ),
    *forms(
        "cvt", "rz|rp satfinite? D:ue8m0x2 A:bf16x2", "=D A", ptx=8.6, families=(100, 101, 103, 110, 120, 121)
    ),
    *forms("cvt", "rn D:bf16x2 A:ue8m0x2", "=D A", ptx=8.6, families=(100, 101, 103, 110, 120, 121)),
    *forms(
        "cvt",
        "rn satfinite? relu? scaled::n2::ue8m0 D:s2f6x2 A:f32|bf16x2",
        "=D A A? b16?",
        ptx=9.1,
        families=(100, 103, 110),
    ),
    *forms(
        "cvt",
        f"rn satfinite? relu? scaled::n2::ue8m0? D:bf16x2 A:{_NARROW}|s2f6x2",
        "=D ~A b16?",
        ptx=9.1,
        families=(100, 103, 110),
    ),
    *forms("cvt", "pack sat D:u16|s16 A:s32", "=b32 A A", ptx=6.5, sm=72),
    *forms("cvt", "pack sat D:u8|s8|u4|s4|u2|s2 A:s32 b32", "=b32 A A b32", ptx=6.5, sm=72),
    *forms("stacksave", "T:u32|u64", "=T", Effect.OTHER, ptx=7.3, sm=52),
    *forms("stackrestore", "T:u32|u64", "T", Effect.OTHER, ptx=7.3, sm=52),
    *forms("alloca", "T:u32|u64", "=T T imm?", Effect.OTHER, ptx=7.3, sm=52),
]

"""Moves, conversions, loads and stores."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, Form, forms
from weft.ptx.types import VALUE_TYPES

_LOAD = Effect.READS
_STORE = Effect.WRITES
_IRND = "rni|rzi|rmi|rpi"
_FP8X2 = "e4m3x2|e5m2x2"
_FP6X2 = "e2m3x2|e3m2x2"
_FP4 = (100, 101, 103, 107, 110, 120, 121)
_S2F6 = (100, 103, 107, 110)
_LD_SPACE = "S:$SPACE?"
_ST_SPACE = "S:global|local|shared|shared::cta|shared::cluster|param|param::func?"
_HINT = "b64@L2::cache_hint"
_WORDS = "b32|u32|s32|f32"
_LONGS = "b64|u64|s64|f64"
_SHORTS = "b8|u8|s8|b16|u16|s16"
_SINGLE = f"{_SHORTS}|{_WORDS}|{_LONGS}"
_VOLATILE_SPACE = "S:global|local|$SHARED?"
_CACHED = "C:$SCOPE S:global? $L1? $HINT? $FETCH?"
_INTEGER = "u8|u16|u32|u64|s8|s16|s32|s64"


def _access(
    opcode: str, modifiers: str, operands: str, effects: Effect, *, ptx: float = 1.0, sm: int = 0
) -> list[Form]:
    """Rows of an access to memory for single values and vectors of up to 128 bits."""
    narrow = f"{modifiers} V:v2|v4? T:{_SHORTS}|{_WORDS}"
    return [
        *forms(opcode, narrow, operands, effects, ptx=ptx, sm=sm),
        *forms(opcode, f"{modifiers} V:v2? T:{_LONGS}", operands, effects, ptx=ptx, sm=sm),
        *forms(opcode, f"{modifiers} T:b128", operands, effects, ptx=8.3, sm=70),
    ]


def _wide(opcode: str, modifiers: str, operands: str, effects: Effect) -> list[Form]:
    """Rows of an access to 256 bits of global memory."""
    return [
        *forms(opcode, f"{modifiers} V:v8 T:{_WORDS}", operands, effects, ptx=8.8, sm=100),
        *forms(opcode, f"{modifiers} V:v4 T:{_LONGS}", operands, effects, ptx=8.8, sm=100),
    ]


def _clamping(source: str) -> str:
    """The integer types that do not have all values of another."""
    kind, bits = VALUE_TYPES[source]
    targets: list[str] = []
    for target in _INTEGER.split("|"):
        target_kind, target_bits = VALUE_TYPES[target]
        wide = target_bits >= bits if target_kind == kind else target_kind == "s" and target_bits > bits
        if not wide:
            targets.append(target)
    return "|".join(targets)


FORMS = [
    *forms("mov", "T:pred", "=T !T"),
    *forms("mov", "T:u16|s16|u32|s32|f32|u64|s64|f64", "=T T"),
    *forms("mov", "T:b16|b32|b64|b128", "=<T> <T>"),
    *forms("mov", "V:v2|v4 T:b16|u16|s16|b32|u32|s32|f32", "={T} {T}"),
    *forms("mov", "V:v2 T:b64|u64|s64|f64", "={T} {T}"),
    # Loads and stores. `.weak` is what an access without it is.
    *_access("ld", f"weak? {_LD_SPACE} ca|cg|cs|lu|cv?", "=~vT []", _LOAD),
    *_access(
        "ld", "weak? S:global? ca|cg|cs|lu|cv $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD, ptx=7.4, sm=75
    ),
    *_access("ld", "weak? S:global? $L1? $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD, ptx=7.4, sm=70),
    *_wide("ld", "weak? S:global? $L1? $L2? $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD),
    *_access("ld", f"volatile {_VOLATILE_SPACE}", "=~vT []", _LOAD, ptx=1.1),
    *_access("ld", "volatile S:global? $FETCH", "=~vT []", _LOAD, ptx=7.4, sm=75),
    *_access("ld", "relaxed|acquire C:$SCOPE S:$SHARED", "=~vT []", _LOAD, ptx=6.0, sm=70),
    *_access("ld", f"relaxed|acquire {_CACHED}", f"=~vT [] {_HINT}", _LOAD, ptx=6.0, sm=70),
    *_wide("ld", "relaxed|acquire C:$SCOPE S:global? $L1? $L2? $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD),
    *forms("ld", f"mmio relaxed|acquire C:sys S:global? T:{_SINGLE}", "=~T []", _LOAD, ptx=8.2, sm=70),
    *_access("ld", "S:global ca|cg|cs? nc $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD, ptx=3.1, sm=32),
    *_access("ld", "S:global nc $L1 $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD, ptx=7.4, sm=70),
    *_wide("ld", "S:global nc $L1? $L2? $HINT? $FETCH?", f"=~vT [] {_HINT}", _LOAD),
    *_access("ldu", "S:global?", "=~vT []", _LOAD, ptx=2.0, sm=20),
    *_access("st", f"weak? {_ST_SPACE} wb|cg|cs|wt?", "[] ~vT", _STORE),
    *_access("st", "weak? S:global? wb|cg|cs|wt $HINT", f"[] ~vT {_HINT}", _STORE, ptx=7.4, sm=80),
    *_access("st", "weak? S:global? $L1? $HINT?", f"[] ~vT {_HINT}", _STORE, ptx=7.4, sm=70),
    *_wide("st", "weak? S:global? $L1? $L2? $HINT?", f"[] ~vT {_HINT}", _STORE),
    *_access("st", f"volatile {_VOLATILE_SPACE}", "[] ~vT", _STORE, ptx=1.1),
    *_access("st", "relaxed|release C:$SCOPE S:$SHARED", "[] ~vT", _STORE, ptx=6.0, sm=70),
    *_access(
        "st", "relaxed|release C:$SCOPE S:global? $L1? $HINT?", f"[] ~vT {_HINT}", _STORE, ptx=6.0, sm=70
    ),
    *_wide("st", "relaxed|release C:$SCOPE S:global? $L1? $L2? $HINT?", f"[] ~vT {_HINT}", _STORE),
    *forms("st", f"mmio relaxed|release C:sys S:global? T:{_SINGLE}", "[] ~T", _STORE, ptx=8.2, sm=70),
    *forms("prefetch", "S:global|local? L1|L2", "[]", Effect.OTHER, ptx=2.0, sm=20),
    *forms("prefetch", "S:global L2::evict_last|L2::evict_normal", "[]", Effect.OTHER, ptx=7.4, sm=80),
    *forms("prefetch", "S:const|param? tensormap", "[]", Effect.OTHER, ptx=8.0, sm=90),
    *forms("prefetch", "S:global L1::32B valid_addr", "[]", Effect.OTHER, ptx=9.4, sm=90),
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
    *forms("cvta", "to? S:const|global|local|$SHARED|param|param::entry T:u32|u64", "=T T", ptx=2.0, sm=20),
    *forms("mapa", "shared::cluster? T:u32|u64", "=T T u32", Effect.OPAQUE, ptx=7.8, sm=90),
    *forms("getctarank", "shared::cluster? T:u32|u64", "=u32 T", Effect.OPAQUE, ptx=7.8, sm=90),
    # Conversions.
    *forms("cvt", f"D:{_INTEGER} A:{_INTEGER}", "=~D ~A"),
    *(
        row
        for source in _INTEGER.split("|")
        for row in forms("cvt", f"sat D:{_clamping(source)} A:{source}", "=~D ~A")
    ),
    *forms("cvt", f"{_IRND} ftz? sat? D:{_INTEGER} A:f32", "=~D ~A"),
    *forms("cvt", f"{_IRND} sat? D:{_INTEGER} A:f16|f64", "=~D ~A"),
    *forms("cvt", f"{_IRND} D:{_INTEGER} A:bf16", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", f"$RND ftz? sat? D:f32 A:{_INTEGER}", "=~D ~A"),
    *forms("cvt", f"$RND sat? D:f16|f64 A:{_INTEGER}", "=~D ~A"),
    *forms("cvt", "$RND D:bf16 A:$INT", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", "$RND ftz? sat? D:f16 A:f32", "=~D ~A"),
    *forms("cvt", "$RND ftz? sat? D:f32 A:f64", "=~D ~A"),
    *forms("cvt", "$RND sat? D:f16 A:f64", "=~D ~A"),
    *forms("cvt", "ftz? sat? D:f32 A:f16", "=~D ~A"),
    *forms("cvt", "ftz? sat? D:f64 A:f32", "=~D ~A"),
    *forms("cvt", "sat? D:f64 A:f16", "=~D ~A"),
    *forms("cvt", f"{_IRND}? ftz? sat? D:f32 A:f32", "=~D ~A"),
    *forms("cvt", f"{_IRND}? sat? D:f64 A:f64", "=~D ~A"),
    *forms("cvt", f"{_IRND}? sat? D:f16 A:f16", "=~D ~A"),
    *forms("cvt", "ftz? D:f32 A:bf16", "=~D ~A", ptx=7.1, sm=80),
    *forms("cvt", "rm|rp D:bf16 A:f32", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", "$RND D:bf16 A:f16|f64", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", "$RND D:f16 A:bf16", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", f"{_IRND}? D:bf16 A:bf16", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", "D:f64 A:bf16", "=~D ~A", ptx=7.8, sm=90),
    *forms("cvt", "rn|rz relu? satfinite? D:f16|bf16 A:f32", "=D A", ptx=7.0, sm=80),
    *forms("cvt", "rn|rz relu? satfinite? D:f16x2|bf16x2 A:f32", "=D A A", ptx=7.0, sm=80),
    *forms("cvt", "rs relu? satfinite? D:f16x2|bf16x2 A:f32", "=D A A b32", ptx=8.7, families=(100, 103)),
    *forms("cvt", "rna satfinite? D:tf32 A:f32", "=D A", ptx=7.0, sm=80),
    *forms("cvt", "rn|rz relu? D:tf32 A:f32", "=D A", ptx=7.8, sm=90),
    *forms("cvt", "rn|rz satfinite relu? D:tf32 A:f32", "=D A", ptx=8.6, sm=100),
    *forms("cvt", f"rn satfinite relu? D:{_FP8X2} A:f32", "=D A A", ptx=7.8, sm=89),
    *forms("cvt", f"rn satfinite relu? D:{_FP8X2} A:f16x2", "=D A", ptx=7.8, sm=89),
    *forms("cvt", f"rn relu? D:f16x2 A:{_FP8X2}", "=D A", ptx=7.8, sm=89),
    *forms("cvt", f"rn satfinite relu? D:{_FP6X2}|e2m1x2 A:f32", "=D A A", ptx=8.6, families=_FP4),
    *forms("cvt", f"rn satfinite relu? D:{_FP6X2}|e2m1x2 A:f16x2|bf16x2", "=D A", ptx=9.1, families=_FP4),
    *forms("cvt", f"rn satfinite relu? D:{_FP8X2} A:bf16x2", "=D A", ptx=9.1, families=_FP4),
    *forms("cvt", f"rn relu? D:f16x2 A:{_FP6X2}|e2m1x2", "=D A", ptx=8.6, families=_FP4),
    *forms(
        "cvt",
        "rs relu? satfinite D:e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 A:f32",
        "=D {A} b32",
        ptx=8.7,
        families=(100, 103),
    ),
    *forms("cvt", "rz|rp satfinite? D:ue8m0x2 A:f32", "=D A A", ptx=8.6, families=_FP4),
    *forms("cvt", "rz|rp satfinite? D:ue8m0x2 A:bf16x2", "=D A", ptx=8.6, families=_FP4),
    *forms("cvt", "rn D:bf16x2 A:ue8m0x2", "=D A", ptx=8.6, families=_FP4),
    *forms(
        "cvt",
        "rn satfinite relu? scaled::n2::ue8m0? D:s2f6x2 A:f32",
        "=D A A b16@scaled::n2::ue8m0",
        ptx=9.1,
        families=_S2F6,
    ),
    *forms(
        "cvt",
        "rn satfinite relu? scaled::n2::ue8m0? D:s2f6x2 A:bf16x2",
        "=D A b16@scaled::n2::ue8m0",
        ptx=9.1,
        families=_S2F6,
    ),
    *forms(
        "cvt",
        f"rn satfinite? relu? scaled::n2::ue8m0? D:bf16x2 A:{_FP8X2}|{_FP6X2}|e2m1x2|s2f6x2",
        "=D A b16@scaled::n2::ue8m0",
        ptx=9.1,
        families=_S2F6,
    ),
    *forms("cvt", f"rz satfinite relu? D:{_FP6X2}|e2m1x2|{_FP8X2} A:f32", "=D A A", ptx=9.3, families=(107,)),
    *forms(
        "cvt",
        f"rz satfinite relu? D:{_FP6X2}|e2m1x2|{_FP8X2} A:f16x2|bf16x2",
        "=D A",
        ptx=9.3,
        families=(107,),
    ),
    *forms("cvt", "rn|rz|rp satfinite? D:ue5m3x2 A:f32", "=D A A", ptx=9.3, families=(107,)),
    *forms("cvt", "rn|rz|rp satfinite? D:ue5m3x2 A:f16x2|bf16x2", "=D A", ptx=9.3, families=(107,)),
    *forms("cvt", "rn D:f16x2|bf16x2 A:ue5m3x2", "=D A", ptx=9.3, families=(107,)),
    *forms("cvt", "pack sat D:u16|s16 A:s32", "=b32 A A", ptx=6.5, sm=72),
    *forms("cvt", "pack sat D:u8|s8|u4|s4|u2|s2 A:s32 b32", "=b32 A A b32", ptx=6.5, sm=72),
    *forms("stacksave", "T:u32|u64", "=T", Effect.OTHER, ptx=7.3, sm=52),
    *forms("stackrestore", "T:u32|u64", "T", Effect.OTHER, ptx=7.3, sm=52),
    *forms("alloca", "T:u32|u64", "=T T imm?", Effect.OTHER, ptx=7.3, sm=52),
]

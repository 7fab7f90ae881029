"""Tensor cores: wmma, mma, wgmma, tcgen05, and what loads and stores their matrices."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_WARP = Effect.OPAQUE | Effect.WARP
_READ = _WARP | Effect.READS
_WRITE = _WARP | Effect.WRITES
_BOTH = _READ | Effect.WRITES
_LAYOUT = "row|col"
_FRAGMENT = "m16n16k16|m8n32k16|m32n8k16|m8n8k32|m8n8k128|m16n16k8|m8n8k4"
_ELEMENT = "f16|f32|f64|bf16|tf32|s8|u8|s4|u4|b1|s32|e4m3|e5m2|e2m1|e2m3|e3m2"
_SHAPE = "m8n8k4|m8n8k16|m8n8k32|m8n8k128|m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256"
_KIND = (
    "kind::f8f6f4|kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4|kind::f16|kind::tf32|kind::i8"
    "|block_scale|scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32"
)
_TCGEN = (100, 101, 103, 107, 110)
_GROUP = "$CGROUP"
_TCSHAPE = "16x32bx2|16x64b|16x128b|16x256b|32x32b"
_COUNT = "x1|x2|x4|x8|x16|x32|x64|x128"
_COLLECT = (
    "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard"
    + "".join(
        f"|collector::b{number}::{use}"
        for number in range(4)
        for use in ("fill", "use", "lastuse", "discard")
    )
    + "|collector::b0|collector::a|ashift|ws"
)

FORMS = [
    *forms(
        "wmma",
        f"load a|b|c sync aligned {_LAYOUT} {_FRAGMENT} S:$SPACE? {_ELEMENT}",
        "=any [] u32?",
        _READ,
        ptx=6.0,
        sm=70,
    ),
    *forms(
        "wmma",
        f"store d sync aligned {_LAYOUT} {_FRAGMENT} S:$SPACE? {_ELEMENT}",
        "[] any u32?",
        _WRITE,
        ptx=6.0,
        sm=70,
    ),
    *forms(
        "wmma",
        f"mma and|xor? popc? sync aligned {_LAYOUT} {_LAYOUT} {_FRAGMENT} $RND? {_ELEMENT}"
        f" {_ELEMENT}? {_ELEMENT}? {_ELEMENT}? satfinite?",
        "=any any any any",
        _WARP,
        ptx=6.0,
        sm=70,
    ),
    *forms(
        "wmma",
        f"mma and|xor popc sync aligned {_LAYOUT} {_LAYOUT} {_FRAGMENT} {_ELEMENT} {_ELEMENT} {_ELEMENT} {_ELEMENT}",
        "=any any any any",
        _WARP,
        ptx=7.1,
        sm=75,
    ),
    *forms(
        "mma",
        f"sync aligned {_SHAPE} {_LAYOUT} {_LAYOUT} {_KIND}* satfinite? {_ELEMENT} {_ELEMENT} {_ELEMENT} {_ELEMENT}"
        " and|xor? popc? ue8m0|ue4m3?",
        "=any any any any any? any? any? any?",
        _WARP,
        ptx=6.4,
        sm=70,
    ),
    *forms(
        "mma",
        f"sp|sp::ordered_metadata sync aligned {_SHAPE} {_LAYOUT} {_LAYOUT} {_KIND}* satfinite? {_ELEMENT}"
        f" {_ELEMENT} {_ELEMENT} {_ELEMENT} ue8m0|ue4m3?",
        "=any any any any any any any? any? any? any?",
        _WARP,
        ptx=7.1,
        sm=80,
    ),
    *forms(
        "ldmatrix",
        "sync aligned m8n8|m16n16|m8n16 x1|x2|x4 trans? S:shared|shared::cta? b16|b8",
        "=any []",
        _READ,
        ptx=6.5,
        sm=75,
    ),
    *forms(
        "ldmatrix",
        "sync aligned m8n16|m16n16 x1|x2|x4 trans? S:shared|shared::cta? b8x16 b6x16_p32|b4x16_p64",
        "=any []",
        _READ,
        ptx=8.6,
        families=(100, 101, 103, 107, 110, 120, 121),
    ),
    *forms(
        "stmatrix",
        "sync aligned m8n8|m16n8 x1|x2|x4 trans? S:shared|shared::cta? b16|b8",
        "[] any",
        _WRITE,
        ptx=7.8,
        sm=90,
    ),
    *forms("movmatrix", "sync aligned m8n8 trans b16", "=b32 b32", _WARP, ptx=7.8, sm=75),
    *forms("wgmma", "fence sync aligned", "", _WARP, ptx=8.0, families=(90,)),
    *forms("wgmma", "commit_group sync aligned", "", _WARP, ptx=8.0, families=(90,)),
    *forms("wgmma", "wait_group sync aligned", "imm", _WARP, ptx=8.0, families=(90,)),
]
_WGMMA_SHAPE = "|".join(f"m64n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32, 64, 256))
FORMS += [
    *forms(
        "wgmma",
        f"mma_async sp? sync aligned {_WGMMA_SHAPE} {_ELEMENT} {_ELEMENT} {_ELEMENT} and|satfinite? popc?",
        "+any any any any any? any? any? any? any?",
        _READ,
        ptx=8.0,
        families=(90,),
    ),
    *forms(
        "tcgen05",
        f"alloc exclusive? {_GROUP} sync aligned S:$SHARED? b32",
        "[] u32",
        _WRITE,
        ptx=8.6,
        families=_TCGEN,
    ),
    *forms(
        "tcgen05", f"dealloc exclusive? {_GROUP} sync aligned b32", "u32 u32", _WARP, ptx=8.6, families=_TCGEN
    ),
    *forms("tcgen05", f"relinquish_alloc_permit {_GROUP} sync aligned", "", _WARP, ptx=8.6, families=_TCGEN),
    *forms(
        "tcgen05",
        f"ld sync aligned {_TCSHAPE} {_COUNT} pack::16b? b32",
        "=any [] imm?",
        _READ,
        ptx=8.6,
        families=_TCGEN,
    ),
    *forms(
        "tcgen05",
        f"ld red spcompress sync aligned {_TCSHAPE} {_COUNT} min|max sp::2:4 abs? NaN? f32 b2",
        "=any =any =any []",
        _READ,
        ptx=9.4,
        families=(107,),
    ),
    *forms(
        "tcgen05",
        f"ld red sync aligned {_TCSHAPE} {_COUNT} min|max abs? NaN? u32|s32|f32",
        "=any =any [] imm?",
        _READ,
        ptx=8.8,
        families=(101, 103, 110),
    ),
    *forms(
        "tcgen05",
        f"st sync aligned {_TCSHAPE} {_COUNT} unpack::16b? b32",
        "[] any any?",
        _WRITE,
        ptx=8.6,
        families=_TCGEN,
    ),
    *forms("tcgen05", "wait::ld|wait::st sync aligned", "", _WARP, ptx=8.6, families=_TCGEN),
    *forms(
        "tcgen05",
        f"cp {_GROUP} 128x256b|4x256b|128x128b|64x128b|32x128b warpx2::02_13|warpx2::01_23|warpx4?"
        " b8x16? b6x16_p32|b4x16_p64?",
        "[] b64",
        _WRITE,
        ptx=8.6,
        families=_TCGEN,
    ),
    *forms("tcgen05", f"shift {_GROUP} down", "[]", _WRITE, ptx=8.6, families=_TCGEN),
    *forms(
        "tcgen05",
        f"mma sp? ws? {_GROUP} {_KIND}* {_COLLECT}*",
        "[] any any any any? any? any? any? any? any?",
        _BOTH,
        ptx=8.6,
        families=_TCGEN,
    ),
    *forms(
        "tcgen05", "fence::before_thread_sync|fence::after_thread_sync", "", _WARP, ptx=8.6, families=_TCGEN
    ),
    *forms(
        "tcgen05",
        f"commit {_GROUP} mbarrier::arrive::one sync_restrict::shared::read::mma::a? $SHARED?"
        " multicast::cluster|multicast::cluster::32b? b64",
        "[] any?",
        _WRITE,
        ptx=8.6,
        families=_TCGEN,
    ),
]

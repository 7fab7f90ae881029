"""Barriers, fences, and communication within a warp."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_BARRIER = Effect.BARRIER
_WARP = Effect.WARP
_PROXY = Effect.FENCE | Effect.OPAQUE
FORMS = [
    *forms("bar", "cta? sync", "u32 u32?", _BARRIER),
    *forms("bar", "cta? arrive", "u32 u32", _BARRIER, ptx=2.0, sm=20),
    *forms("bar", "cta? red popc u32", "=u32 u32 !pred", _BARRIER, ptx=2.0, sm=20),
    *forms("bar", "cta? red popc u32", "=u32 u32 u32 !pred", _BARRIER, ptx=2.0, sm=20),
    *forms("bar", "cta? red and|or pred", "=pred u32 !pred", _BARRIER, ptx=2.0, sm=20),
    *forms("bar", "cta? red and|or pred", "=pred u32 u32 !pred", _BARRIER, ptx=2.0, sm=20),
    *forms("barrier", "cta? sync aligned?", "u32 u32?", _BARRIER, ptx=6.0, sm=30),
    *forms("barrier", "cta? arrive aligned?", "u32 u32", _BARRIER, ptx=6.0, sm=30),
    *forms("barrier", "cta? red popc aligned? u32", "=u32 u32 !pred", _BARRIER, ptx=6.0, sm=30),
    *forms("barrier", "cta? red popc aligned? u32", "=u32 u32 u32 !pred", _BARRIER, ptx=6.0, sm=30),
    *forms("barrier", "cta? red and|or aligned? pred", "=pred u32 !pred", _BARRIER, ptx=6.0, sm=30),
    *forms("barrier", "cta? red and|or aligned? pred", "=pred u32 u32 !pred", _BARRIER, ptx=6.0, sm=30),
    *forms("bar", "warp sync", "b32", _BARRIER | _WARP, ptx=6.0, sm=30),
    *forms(
        "barrier", "cluster arrive release|relaxed? aligned?", "", _BARRIER | Effect.OPAQUE, ptx=7.8, sm=90
    ),
    *forms("barrier", "cluster wait acquire? aligned?", "", _BARRIER | Effect.OPAQUE, ptx=7.8, sm=90),
    *forms("membar", "cta|gl|sys", "", Effect.FENCE, ptx=1.4),
    *forms(
        "membar",
        "proxy alias|async|async::generic|tensormap",
        "",
        _PROXY,
        ptx=7.5,
        sm=70,
    ),
    *forms("fence", "sc|acq_rel? $SCOPE", "", Effect.FENCE, ptx=6.0, sm=70),
    *forms("fence", "acquire|release $SCOPE", "", Effect.FENCE, ptx=8.6, sm=90),
    *forms(
        "fence",
        "acquire|release sync_restrict::shared::cta|sync_restrict::shared::cluster cluster",
        "",
        _PROXY,
        ptx=8.6,
        sm=90,
    ),
    *forms("fence", "mbarrier_init release cluster", "", _PROXY, ptx=8.0, sm=90),
    *forms("fence", "proxy alias", "", _PROXY, ptx=7.5, sm=70),
    *forms("fence", "proxy async", "", _PROXY, ptx=8.0, sm=90),
    *forms(
        "fence",
        "proxy async::global|async::shared::cta|async::shared::cluster",
        "",
        _PROXY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "fence",
        "proxy async global|shared::cta|shared::cluster",
        "",
        _PROXY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "fence",
        "proxy tensormap::generic acquire $SCOPE",
        "[] imm",
        _PROXY,
        ptx=8.3,
        sm=90,
    ),
    *forms(
        "fence",
        "proxy tensormap::generic release $SCOPE",
        "",
        _PROXY,
        ptx=8.3,
        sm=90,
    ),
    *forms(
        "fence",
        "proxy async::generic acquire|release sync_restrict::shared::cta|sync_restrict::shared::cluster cluster",
        "",
        _PROXY,
        ptx=8.6,
        sm=90,
    ),
    *forms("fence", "proxy alias acquire|release sys", "", _PROXY, ptx=9.4, sm=90),
    *forms("fence", "alias sync_restrict::read release sys", "", _PROXY, ptx=9.5, sm=90),
    *forms(
        "fence",
        "proxy async::generic acquire|release"
        " sync_restrict::shared::cta::read|sync_restrict::shared::cluster::read $SCOPE",
        "",
        _PROXY,
        ptx=9.4,
        sm=90,
    ),
    *forms(
        "fence",
        "proxy fabric::fabric|fabric::generic|generic::fabric alias acquire|release sys",
        "",
        _PROXY,
        ptx=9.3,
        sm=100,
    ),
    # Within a warp.
    *forms("shfl", "up|down|bfly|idx T:b32", "=T|pred? T b32 b32", _WARP, gone=(6, 4), ptx=3.0, sm=30),
    *forms("shfl", "sync up|down|bfly|idx T:b32", "=T|pred? T b32 b32 b32", _WARP, ptx=6.0, sm=30),
    *forms("vote", "all|any|uni pred", "=pred !pred", _WARP, gone=(6, 4), ptx=1.2),
    *forms("vote", "ballot b32", "=b32 !pred", _WARP, gone=(6, 4), ptx=2.0, sm=20),
    *forms("vote", "sync all|any|uni pred", "=pred !pred b32", _WARP, ptx=6.0, sm=30),
    *forms("vote", "sync ballot b32", "=b32 !pred b32", _WARP, ptx=6.0, sm=30),
    *forms("match", "any sync T:b32|b64", "=b32 T b32", _WARP, ptx=6.0, sm=70),
    *forms("match", "all sync T:b32|b64", "=b32|pred? T b32", _WARP, ptx=6.0, sm=70),
    *forms("activemask", "T:b32", "=T", _WARP, ptx=6.2, sm=30),
    *forms("redux", "sync add|min|max T:u32|s32", "=T T b32", _WARP, ptx=7.0, sm=80),
    *forms("redux", "sync and|or|xor T:b32", "=T T b32", _WARP, ptx=7.0, sm=80),
    *forms(
        "redux", "sync min|max abs? NaN? T:f32", "=T T b32", _WARP, ptx=8.6, families=(100, 101, 103, 110)
    ),
    *forms("elect", "sync", "=b32|pred b32", _WARP, ptx=8.0, sm=90),
]

"""Asynchronous copies, their barriers in memory, tensor maps, clusters, and reductions over several GPUs."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_O = Effect.OPAQUE
_READ = _O | Effect.READS
_WRITE = _O | Effect.WRITES
_COPY = _READ | Effect.WRITES
_CTA = "S:shared|shared::cta?"
_SHARED = "S:$SHARED?"
_ORDER = "release|relaxed|acquire?"
_SCOPE = "cta|cluster?"
_PHASE = "phase_type::primary|phase_type::conditional?"
_DONE = "mbarrier::complete_tx::bytes"
_DIM = "1d|2d|3d|4d|5d"
_MODE = "tile|tile::gather4|tile::scatter4|im2col|im2col::w|im2col::w::128|im2col_no_offs?"
_MORE = (
    "multicast::cluster|multicast::cluster::32b|cta_group::1|cta_group::2|cp_mask"
    "|L2::cache_hint|L2::evict_last|L2::evict_normal"
    "|override::global_address|override::global_dim|override::global_dim_stride|mbarrier::report::disabled"
    "|mbarrier::report::validity::per_16bytes::8|mbarrier::report::validity::per_16bytes::80"
    "|mbarrier::report::validity::per_16bytes::8000|mbarrier::report::validity::per_16bytes::80000000"
    "|mbarrier::report::validity::per_element::ff"
)
_REDUCE = "and|or|xor|add|inc|dec|min|max"
_BULK_TYPE = "f16|bf16|b32|u32|s32|b64|u64|s64|f32|f64"

FORMS = [
    *forms(
        "cp",
        "async ca|cg S:shared|shared::cta D:global $HINT? $FETCH?",
        "[] [] any any? b64@L2::cache_hint",
        _COPY,
        ptx=7.0,
        sm=80,
    ),
    *forms("cp", "async commit_group|wait_all", "", _O | Effect.FENCE, ptx=7.0, sm=80),
    *forms("cp", "async wait_group", "imm", _O | Effect.FENCE, ptx=7.0, sm=80),
    *forms("cp", f"async mbarrier arrive noinc? {_CTA} b64", "[]", _COPY, ptx=7.0, sm=80),
    *forms(
        "cp",
        f"async bulk shared::cluster|shared::cta global {_DONE} {_MORE}*",
        "[] [] u32 [] any? any?",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"async bulk shared::cta global {_DONE} ignore_oob {_MORE}*",
        "[] [] u32 u32 u32 [] any?",
        _COPY,
        ptx=9.2,
        sm=90,
    ),
    *forms("cp", f"async bulk shared::cluster shared::cta {_DONE}", "[] [] u32 []", _COPY, ptx=8.0, sm=90),
    *forms(
        "cp",
        f"async bulk global shared::cta bulk_group {_MORE}*",
        "[] [] u32 any? any?",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms("cp", f"async bulk prefetch L2 global {_MORE}*", "[] u32 any?", _O | Effect.OTHER, ptx=8.0, sm=90),
    *forms(
        "applypriority",
        "async bulk global bulk_group L2::evict_normal",
        "[] u32",
        _O | Effect.OTHER,
        ptx=9.3,
        sm=107,
    ),
    *forms("cp", "async bulk commit_group", "", _O | Effect.FENCE, ptx=8.0, sm=90),
    *forms("cp", "async bulk wait_group read?", "imm", _O | Effect.FENCE, ptx=8.0, sm=90),
    *forms(
        "cp", "async bulk wait_group sync_restrict::proxy::async", "imm", _O | Effect.FENCE, ptx=9.5, sm=90
    ),
    *forms(
        "cp",
        f"async bulk tensor {_DIM} shared::cluster|shared::cta global {_MODE} {_DONE} {_MORE}*",
        "[] [] [] any? any? any?",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"async bulk tensor {_DIM} global shared::cta {_MODE} {_MORE}* bulk_group {_MORE}*",
        "[] [] any?",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"async bulk prefetch tensor {_DIM} L2 global {_MODE} {_MORE}*",
        "[] any? any?",
        _O | Effect.OTHER,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"reduce async bulk shared::cluster shared::cta {_DONE} {_REDUCE} {_BULK_TYPE}",
        "[] [] u32 []",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"reduce async bulk global shared::cta bulk_group $HINT? {_REDUCE} noftz? {_BULK_TYPE}",
        "[] [] u32 b64@L2::cache_hint",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "cp",
        f"reduce async bulk tensor {_DIM} global shared::cta {_REDUCE} {_MODE} {_MORE}* bulk_group {_MORE}*",
        "[] [] any?",
        _COPY,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "tensormap",
        "replace tile global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|interleave_layout"
        "|swizzle_mode|fill_mode|swizzle_atomicity S:global|shared::cta? b1024 b32|b64?",
        "[] any any?",
        _WRITE,
        ptx=8.3,
        families=(90, 100, 101, 103, 107, 110, 120, 121),
    ),
    *forms(
        "tensormap",
        "cp_fenceproxy global shared::cta tensormap::generic|proxy::tensormap::generic release $SCOPE sync aligned",
        "[] [] imm",
        _COPY | Effect.FENCE,
        ptx=8.3,
        sm=90,
    ),
    *forms("mbarrier", f"init layout::v0|layout::v1? {_CTA} b64", "[] u32", _WRITE, ptx=7.0, sm=80),
    *forms("mbarrier", f"inval {_CTA} b64", "[]", _WRITE, ptx=7.0, sm=80),
    *forms(
        "mbarrier", f"expect_tx|complete_tx relaxed? {_SCOPE} {_SHARED} b64", "[] u32", _COPY, ptx=8.0, sm=90
    ),
    *forms(
        "mbarrier",
        f"arrive|arrive_drop {_ORDER} {_SCOPE} {_SHARED} b64",
        "=b64 [] u32?",
        _COPY | Effect.BARRIER,
        ptx=7.0,
        sm=80,
    ),
    *forms(
        "mbarrier",
        f"arrive|arrive_drop expect_tx {_ORDER} {_SCOPE} {_SHARED} b64",
        "=b64 [] u32",
        _COPY | Effect.BARRIER,
        ptx=8.0,
        sm=90,
    ),
    *forms(
        "mbarrier",
        f"arrive|arrive_drop noComplete {_ORDER} {_SCOPE} {_CTA} b64",
        "=b64 [] u32",
        _COPY | Effect.BARRIER,
        ptx=7.0,
        sm=80,
    ),
    *forms(
        "mbarrier",
        f"test_wait {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred? [] b64",
        _READ | Effect.BARRIER,
        ptx=7.0,
        sm=80,
    ),
    *forms(
        "mbarrier",
        f"test_wait parity {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred? [] u32",
        _READ | Effect.BARRIER,
        ptx=7.1,
        sm=80,
    ),
    *forms(
        "mbarrier",
        f"try_wait {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred? [] b64 u32?",
        _READ | Effect.BARRIER,
        ptx=7.8,
        sm=90,
    ),
    *forms(
        "mbarrier",
        f"try_wait parity {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred? [] u32 u32?",
        _READ | Effect.BARRIER,
        ptx=7.8,
        sm=90,
    ),
    *forms("mbarrier", f"check_layout layout::v0|layout::v1 {_CTA} b64", "=pred []", _READ, ptx=9.4, sm=90),
    *forms(
        "mbarrier",
        f"arrive|arrive_drop expect_tx? {_ORDER} {_SCOPE} S:shared::cluster multicast::cluster::32b b64",
        "=b64 [] u32 b32?",
        _COPY | Effect.BARRIER,
        ptx=9.4,
        sm=107,
    ),
    *forms(
        "mbarrier",
        f"complete_tx relaxed? {_SCOPE} S:shared::cluster multicast::cluster::32b b64",
        "[] u32 b32",
        _COPY,
        ptx=9.4,
        sm=107,
    ),
    *forms(
        "mbarrier",
        f"test_wait|try_wait {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred =b8 [] b64 u32?",
        _READ | Effect.BARRIER,
        ptx=9.4,
        sm=90,
    ),
    *forms(
        "mbarrier",
        f"test_wait|try_wait parity {_PHASE} {_ORDER} {_SCOPE} {_CTA} b64",
        "=pred|pred =b8 [] u32 u32?",
        _READ | Effect.BARRIER,
        ptx=9.4,
        sm=90,
    ),
    *forms("mbarrier", "pending_count b64", "=u32 b64", _O, ptx=7.0, sm=80),
    *forms(
        "st",
        "async weak? S:shared::cluster? mbarrier::complete_tx::bytes V:v2|v4? T:b32|b64|u32|u64|s32|s64|f32|f64",
        "[] vT []",
        _WRITE,
        ptx=8.1,
        sm=90,
    ),
    *forms(
        "st",
        "async mmio? release $SCOPE S:global? T:b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        "[] ~T",
        _WRITE,
        ptx=8.7,
        sm=100,
    ),
    *forms("st", "bulk weak? S:shared::cta?", "[] u64 imm", _WRITE, ptx=8.6, sm=100),
    *forms(
        "red",
        "async relaxed cluster shared::cluster? mbarrier::complete_tx::bytes inc|dec|min|max|and|or|xor|add"
        " T:u32|s32|u64|b32|s64|b64",
        "[] T []",
        _COPY,
        ptx=8.1,
        sm=90,
    ),
    *forms(
        "red", "async mmio? release $SCOPE S:global? add T:u32|s32|u64|s64", "[] T", _COPY, ptx=8.7, sm=100
    ),
    *forms(
        "multimem",
        "ld_reduce weak|relaxed|acquire? $SCOPE? S:global? min|max|add|and|or|xor acc::f32|acc::f16? V:v2|v4|v8?"
        " T:b32|b64|u32|u64|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2|e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4",
        "=any []",
        _READ,
        ptx=8.1,
        sm=90,
    ),
    *forms(
        "multimem",
        "st weak|relaxed|release? $SCOPE? S:global? V:v2|v4|v8?"
        " T:b32|b64|u32|u64|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2|e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4",
        "[] any",
        _WRITE,
        ptx=8.1,
        sm=90,
    ),
    *forms(
        "multimem",
        "red relaxed|release? $SCOPE? S:global? min|max|add|and|or|xor V:v2|v4|v8?"
        " T:b32|b64|u32|u64|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2",
        "[] any",
        _COPY,
        ptx=8.1,
        sm=90,
    ),
    *forms(
        "multimem",
        "cp async bulk global shared::cta bulk_group cp_mask?",
        "[] [] u32 any?",
        _COPY,
        ptx=9.1,
        sm=90,
    ),
    *forms(
        "multimem",
        f"cp reduce async bulk global shared::cta bulk_group {_REDUCE} noftz? {_BULK_TYPE}",
        "[] [] u32",
        _COPY,
        ptx=9.1,
        sm=90,
    ),
    *forms(
        "clusterlaunchcontrol",
        f"try_cancel async {_CTA} {_DONE} multicast::cluster::all? b128",
        "[] []",
        _COPY,
        ptx=8.6,
        sm=100,
    ),
    *forms("clusterlaunchcontrol", "query_cancel is_canceled pred b128", "=pred b128", _O, ptx=8.6, sm=100),
    *forms(
        "clusterlaunchcontrol", "query_cancel get_first_ctaid v4 b32 b128", "=any b128", _O, ptx=8.6, sm=100
    ),
    *forms(
        "clusterlaunchcontrol",
        "query_cancel get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128",
        "=b32 b128",
        _O,
        ptx=8.6,
        sm=100,
    ),
]

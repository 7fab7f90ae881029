"""Textures and surfaces."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_READ = Effect.OPAQUE | Effect.READS
_WRITE = Effect.OPAQUE | Effect.WRITES
_GEOMETRY = "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms"
_QUERY = (
    "width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples"
    "|force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2"
)
_SURFACE = "width|height|depth|channel_data_type|channel_order|array_size|memory_layout"

FORMS = [
    *forms(
        "tex",
        f"level|grad? {_GEOMETRY} V:v4|v2? D:u32|s32|f32|f16|f16x2|b32|u64 C:s32|f32",
        "={D}|pred? [] any? any? any? any?",
        _READ,
    ),
    *forms(
        "tex",
        f"base {_GEOMETRY} V:v4|v2? D:u32|s32|f32|f16|f16x2|b32 C:s32|f32",
        "={D}|pred? [] any? any?",
        _READ,
    ),
    *forms(
        "tld4",
        f"r|g|b|a {_GEOMETRY} v4 D:u32|s32|f32|b32 f32",
        "={D}|pred? [] any? any?",
        _READ,
        ptx=2.2,
        sm=20,
    ),
    *forms("txq", f"level? {_QUERY} b32", "=b32 [] b32?", _READ, ptx=1.5),
    *forms("istypep", "texref|samplerref|surfref", "=pred sym", Effect.OPAQUE, ptx=4.0, sm=30),
    *forms(
        "suld",
        f"b {_GEOMETRY} ca|cg|cs|cv? V:v2|v4? D:b8|b16|b32|b64 trap|clamp|zero?",
        "=~{D} []",
        _READ,
        ptx=1.5,
    ),
    *forms(
        "sust",
        f"b|p {_GEOMETRY} wb|cg|cs|wt? V:v2|v4? D:b8|b16|b32|b64 trap|clamp|zero?",
        "[] ~{D}",
        _WRITE,
        ptx=1.5,
    ),
    *forms(
        "sured",
        f"b {_GEOMETRY} add|min|max|and|or D:u32|u64|s32|s64|b32|b64 trap|clamp|zero?",
        "[] D",
        _WRITE,
        ptx=3.0,
        sm=20,
    ),
    *forms(
        "sured",
        f"p {_GEOMETRY} add|min|max|and|or b32|b64 trap|clamp|zero?",
        "[] b32",
        _WRITE,
        ptx=3.0,
        sm=20,
    ),
    *forms("suq", f"{_SURFACE} b32", "=b32 []", _READ, ptx=1.5),
]

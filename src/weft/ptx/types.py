"""Types of PTX: their sizes, and what fits where."""

from __future__ import annotations

FUNDAMENTAL: dict[str, tuple[str, int]] = {
    **{f"{kind}{bits}": (kind, bits) for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": ("b", 128),
    "f16": ("f", 16),
    "f16x2": ("f", 32),
    "bf16": ("f", 16),
    "bf16x2": ("f", 32),
    "f32": ("f", 32),
    "f64": ("f", 64),
    "pred": ("pred", 1),
}
"""Types that variables can have: kind (bits, unsigned, signed, float, predicate) and size in bits."""

OPAQUE_TYPES = frozenset(("texref", "samplerref", "surfref"))
"""Handles of textures, samplers and surfaces."""

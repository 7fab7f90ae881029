"""Modifiers that are newer than the instructions that take them."""

from __future__ import annotations

from weft.ptx.instructions.forms import Needs

_PRIORITY = Needs((7, 4), 70)

NEWER: dict[str, Needs] = {
    "L1::evict_normal": _PRIORITY,
    "L1::evict_unchanged": _PRIORITY,
    "L1::evict_first": _PRIORITY,
    "L1::evict_last": _PRIORITY,
    "L1::no_allocate": _PRIORITY,
    "L2::cache_hint": Needs((7, 4), 80),
    "L2::64B": Needs((7, 4), 75),
    "L2::128B": Needs((7, 4), 75),
    "L2::256B": Needs((7, 4), 80),
    "L2::evict_first": Needs((7, 4), 80),
    "b128": Needs((8, 3), 70),
    "cluster": Needs((7, 8), 90),
    "shared::cta": Needs((7, 8), 30),
    "shared::cluster": Needs((7, 8), 90),
    "param::entry": Needs((8, 3)),
    "param::func": Needs((8, 3)),
    "cp_mask": Needs((8, 6), 100),
    "tile::gather4": Needs((8, 6), 100),
    "tile::scatter4": Needs((8, 6), 100),
    "phase_type::primary": Needs((9, 4), 90),
    "phase_type::conditional": Needs((9, 4), 90),
    "layout::v0": Needs((9, 4), 90),
    "layout::v1": Needs((9, 4), 90),
    "exclusive": Needs((9, 4), 100),
    "ignore_oob": Needs((9, 2), 90),
    "multicast::cluster::32b": Needs((9, 4), 107),
    "mbarrier::report::disabled": Needs((9, 4), 107),
    "override::global_address": Needs((9, 3), 100),
    "cta_group::1": Needs((8, 6), 100),
    "cta_group::2": Needs((8, 6), 100),
}
"""What a modifier needs, whatever it belongs to."""

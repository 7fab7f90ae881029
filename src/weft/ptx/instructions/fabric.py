"""Copies and atomics over the fabric between GPUs."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, forms

_COPY = Effect.OPAQUE | Effect.READS | Effect.WRITES
_WHAT = "tensor|multimem|1d|2d|3d|4d|5d"
_HOW = "counted::bytes|cp_mask|L2::cache_hint|override::global_address|override::global_dim|override::global_dim_stride"
_OPERATION = "and|or|xor|inc|dec|add|min|max|exch|cas"
_TYPE = "b32|b64|b128|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64"

FORMS = [
    *forms("fabric", "submit op_restrict::fetching?", "", Effect.OPAQUE | Effect.FENCE, ptx=9.3, sm=100),
    *forms("fabric", "submit commit_group", "", Effect.OPAQUE | Effect.FENCE, ptx=9.5, sm=100),
    *forms("fabric", "wait sync_restrict::reads", "", Effect.OPAQUE | Effect.FENCE, ptx=9.3, sm=100),
    *forms("fabric", "wait sync_restrict::read", "imm", Effect.OPAQUE | Effect.FENCE, ptx=9.5, sm=100),
    *forms(
        "fabric",
        f"try_get|try_put|try_atom|try_red|try_pullred async {_WHAT}* shared::cta tile?"
        " mbarrier::complete_tx::bytes|mbarrier::complete_tx::16B mbarrier::report::fabric"
        f" {_HOW}* relaxed sys {_OPERATION}? noftz? acc::f32|acc::f16? {_TYPE} sync?",
        "[] [] any? any? any? any?",
        _COPY,
        ptx=9.3,
        sm=100,
    ),
]

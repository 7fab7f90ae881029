"""Atomics: those that give the old value back (atom), and those that do not (red)."""

from __future__ import annotations

from weft.ptx.instructions.forms import Effect, Form, forms

_EFFECTS = Effect.ATOMIC | Effect.READS | Effect.WRITES
_ATOM = "relaxed|acquire|release|acq_rel? C:$SCOPE?"
_RED = "relaxed|release? C:$SCOPE?"
_SHARED = "S:$SHARED"
_GLOBAL = "S:global?"
_HINT = "b64@L2::cache_hint"


def _both(operation: str, types: str, *, ptx: float = 1.1, sm: int = 0) -> list[Form]:
    """Rows of atom and red; only global memory takes a cache policy."""
    return [
        *forms("atom", f"{_ATOM} {_SHARED} {operation} {types}", "=T [] T", _EFFECTS, ptx=ptx, sm=sm),
        *forms(
            "atom",
            f"{_ATOM} {_GLOBAL} {operation} $HINT? {types}",
            f"=T [] T {_HINT}",
            _EFFECTS,
            ptx=ptx,
            sm=sm,
        ),
        *forms("red", f"{_RED} {_SHARED} {operation} {types}", "[] T", _EFFECTS, ptx=max(ptx, 1.2), sm=sm),
        *forms(
            "red",
            f"{_RED} {_GLOBAL} {operation} $HINT? {types}",
            f"[] T {_HINT}",
            _EFFECTS,
            ptx=max(ptx, 1.2),
            sm=sm,
        ),
    ]


def _vectors(operation: str, types: str) -> list[Form]:
    """Rows of atom and red for vectors in global memory."""
    where = f"{_GLOBAL} {operation} $HINT? {types}"
    return [
        *forms("atom", f"{_ATOM} {where}", f"=vT [] vT {_HINT}", _EFFECTS, ptx=8.1, sm=90),
        *forms("red", f"{_RED} {where}", f"[] vT {_HINT}", _EFFECTS, ptx=8.1, sm=90),
    ]


def _only_atom(operation: str, types: str, operands: str, *, ptx: float, sm: int) -> list[Form]:
    return forms("atom", f"{_ATOM} S:global|$SHARED? {operation} {types}", operands, _EFFECTS, ptx=ptx, sm=sm)


FORMS = [
    *_both("and|or|xor", "T:b32|b64"),
    *_both("add", "T:u32|s32|u64"),
    *_both("add", "T:f32", ptx=2.0, sm=20),
    *_both("add", "T:f64", ptx=5.0, sm=60),
    *_both("min|max", "T:u32|s32|u64|s64"),
    *_both("inc|dec", "T:u32"),
    *_both("add noftz", "T:f16x2", ptx=6.2, sm=60),
    *_both("add noftz", "T:f16", ptx=6.3, sm=70),
    *_both("add noftz", "T:$BHALF", ptx=7.8, sm=90),
    *_vectors("add", "V:v2|v4 T:f32"),
    *_vectors("add|min|max noftz", "V:v2|v4|v8 T:f16|bf16"),
    *_vectors("add|min|max noftz", "V:v2|v4 T:f16x2|bf16x2"),
    *_only_atom("exch", "T:b32|b64", "=T [] T", ptx=1.1, sm=0),
    *forms("atom", f"{_ATOM} {_GLOBAL} exch $HINT T:b32|b64", "=T [] T b64", _EFFECTS, ptx=7.4, sm=80),
    *_only_atom("exch", "T:b128", "=T [] T", ptx=8.3, sm=90),
    *_only_atom("cas", "T:b32|b64", "=T [] T T", ptx=1.1, sm=0),
    *_only_atom("cas", "T:b16", "=T [] T T", ptx=6.3, sm=70),
    *_only_atom("cas", "T:b128", "=T [] T T", ptx=8.3, sm=90),
]

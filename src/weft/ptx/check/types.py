"""PTX's rules about which registers and constants an operand of a given type may be."""

from __future__ import annotations

from weft.ptx.types import VALUE_TYPES

_INTEGERS = frozenset("us")


def fits(wanted: str, given: str, loose: bool = False) -> bool:
    """Whether a register of type `given` may stand where `wanted` is asked for.

    Sizes have to agree. Signed and unsigned integers stand for each other, and types of bits for all of their size.
    With `loose` (ld, st, cvt) the register may be wider, but floats stand for floats of their size or bits only.
    """
    kind, size = VALUE_TYPES[wanted]
    given_kind, given_size = VALUE_TYPES[given]
    if "pred" in {kind, given_kind}:
        return kind == given_kind
    if loose and given_size > size:
        # Wider floats hold no narrow value; wider bits may hold any.
        return given_kind != "f" and not (kind == "f" and given_kind in _INTEGERS)
    return given_size == size and (
        kind == given_kind or "b" in {kind, given_kind} or {kind, given_kind} <= _INTEGERS
    )


def takes_integer(wanted: str) -> bool:
    """Whether an operand of this type may be an integer constant."""
    return VALUE_TYPES[wanted][0] in {"b", "u", "s", "pred"}


def takes_float(wanted: str) -> bool:
    """Whether an operand of this type may be a floating constant."""
    return VALUE_TYPES[wanted][0] in {"f", "b"}

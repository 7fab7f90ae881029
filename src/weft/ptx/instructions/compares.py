"""Comparison and selection."""

from __future__ import annotations

from weft.ptx.instructions.forms import Form, forms


def _compare(
    choices: str, modifiers: str, results: str, least: str, *, ptx: float = 1.0, sm: int = 0
) -> list[Form]:
    """Rows of set and setp, each with and without a predicate that the result is combined with.

    Parameters
    ----------
    choices
        The comparisons.
    modifiers
        What may stand behind them, with the types that are compared.
    results
        What ``set`` may give.
    least
        What ``setp`` writes.
    ptx, sm
        As of `forms`.
    """
    flush, _, types = modifiers.rpartition(" ")
    rows: list[Form] = []
    for combined, operands in (("", "T T"), ("$BOOL", "T T !pred")):
        both = f"{choices} {combined} {flush}"
        rows += forms("set", f"{both} D:{results} {types}", f"=D {operands}", ptx=ptx, sm=sm)
        rows += forms("setp", f"{both} {types}", f"={least} {operands}", ptx=ptx, sm=sm)
    return rows


FORMS = [
    *_compare("eq|ne", "T:$BITS", "u32|s32|f32", "pred|pred?"),
    *_compare("$SCMP", "T:$SINT", "u32|s32|f32", "pred|pred?"),
    *_compare("$UCMP", "T:$UINT", "u32|s32|f32", "pred|pred?"),
    *_compare("$FCMP", "ftz? T:f32", "u32|s32|f32", "pred|pred?"),
    *_compare("$FCMP", "T:f64", "u32|s32|f32", "pred|pred?", sm=13),
    *_compare("$FCMP", "ftz? T:f16", "f16|u16|s16|u32|s32", "pred", ptx=4.2, sm=53),
    *_compare("$FCMP", "ftz? T:f16x2", "f16x2|u32|s32", "pred|pred", ptx=4.2, sm=53),
    *_compare("$FCMP", "T:bf16", "bf16|u16|s16|u32|s32", "pred", ptx=7.8, sm=90),
    *_compare("$FCMP", "T:bf16x2", "bf16x2|u32|s32", "pred|pred", ptx=7.8, sm=90),
    *forms("selp", "T:$ANY", "=T T T pred"),
    *forms("slct", "T:$ANY C:s32", "=T T T C"),
    *forms("slct", "ftz? T:$ANY C:f32", "=T T T C"),
]

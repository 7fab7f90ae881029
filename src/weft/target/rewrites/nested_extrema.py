"""Extrema of floats that LLVM's InstCombine would take for others are said without a nest.

    i = select (c > x), c, x                               t = (c > x) ? false : x > c
    o = select (i > c), i, c            becomes            o = select t, x, c

This is ``max(c, max(x, c))`` of Python: c where x is NaN, or the other zero. InstCombine of LLVM 22 takes o for i as
soon as c is known to be no NaN, a constant for example, and x would come out. The condition of the new o is what the
old one is where i is x; where i is c, o is c in any case.

Precondition: text as LLVM prints it. Postcondition: no select between two floats, by a comparison of them, has for one
of them a select between the other and a third; vectors, and comparisons with fast-math flags, are left alone. Preserves
the program under FR: what the new comparison says counts only where x was compared before.
"""

from __future__ import annotations

import re

from weft.target.definitions import rewritten

_SELECT = re.compile(r"  (%\S+) = select i1 (\S+), (half|bfloat|float|double) (\S+), \3 ([^\s,]+)(.*)")
_COMPARISON = re.compile(r"  (%\S+) = fcmp ([ou]\w\w) (half|bfloat|float|double) (\S+), ([^\s,]+)")


def without_nested_extrema(text: str) -> str | None:
    """A module's text without such nests; None where it has none."""
    if not _may_nest(text):
        return None
    return rewritten(text, _flattened)


def _compares(comparison: re.Match[str], inner: str, same: str) -> bool:
    """Whether two numbers are compared; InstCombine writes 0 for -0 there."""
    operands = {comparison[4], comparison[5]}
    return operands == {inner, same} or operands == {inner, same.removeprefix("-")}


def _may_nest(text: str) -> bool:
    return " = fcmp " in text and text.count(" = select i1 ") >= 2


def _flattened(text: str) -> str | None:
    if not _may_nest(text):
        return None
    lines = text.split("\n")
    comparisons = {m[1]: m for line in lines if (m := _COMPARISON.match(line))}
    selects = {m[1]: (m[2], m[4], m[5]) for line in lines if (m := _SELECT.match(line))}
    made = 0
    for number, line in enumerate(lines):
        outer = _SELECT.match(line)
        comparison = comparisons.get(outer[2]) if outer else None
        if outer is None or comparison is None:
            continue
        for inner, same in ((outer[4], outer[5]), (outer[5], outer[4])):
            if inner not in selects or not _compares(comparison, inner, same):
                continue
            condition, one, two = selects[inner]
            if same not in (one, two) or one == two:
                continue
            other = two if one == same else one
            test, asked = f"%weft.extremum.{made}", f"%weft.extremum.{made}.asked"
            operands = ", ".join(other if v == inner else v for v in (comparison[4], comparison[5]))
            # What is chosen where the inner one is the same number, which both arms are then.
            settled = "false" if inner == outer[4] else "true"
            arms = (settled, test) if one == same else (test, settled)
            value, another = (other if v == inner else v for v in (outer[4], outer[5]))
            type = outer[3]
            lines[number] = "\n".join(
                [
                    f"  {test} = fcmp {comparison[2]} {type} {operands}",
                    f"  {asked} = select i1 {condition}, i1 {arms[0]}, i1 {arms[1]}",
                    f"  {outer[1]} = select i1 {asked}, {type} {value}, {type} {another}{outer[6]}",
                ]
            )
            selects[outer[1]] = (asked, value, another)
            made += 1
            break
    return "\n".join(lines) if made else None

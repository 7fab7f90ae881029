"""Minima and maxima that a loop carries through sums are moves under a condition, not branches.

LLVM turns such moves in loops into branches, since these are foreseen where one number is mostly the lesser, as the
greatest so far is. In a table of distances each place is the least of its neighbours and something that is added: which
one is not foreseen, and each wrong guess costs as much as several iterations::

    %m = call i32 @llvm.smin.i32(i32 %p, i32 %u)   ==>   %c = icmp slt i32 %p, %u
    %x = add i32 %m, 1                                   %m = select i1 %c, i32 %p, i32 %u, !unpredictable !{}

Precondition: LLVM's text behind its pipeline. Postcondition: in loops of one block, extrema of integers are such
choices that hang on themselves in the iteration before, through a sum, and compare with what the iteration loads.
Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import (
    INCOMING,
    NAME,
    FunctionLines,
    loops_of_one_block,
    rewritten,
    unused_prefix,
)

_EXTREMUM = re.compile(
    r"(?:tail )?call (?P<type>i\d+) @llvm\.(?P<kind>[su](?:min|max))\.i\d+\(i\d+ (?P<a>[^\s,]+), i\d+ (?P<b>[^\s,)]+)\)"
    r"(?P<rest>(?: #\d+)?)(?P<debug>(?:, !\w+ !\d+)*)$"
)
_PHI = re.compile(r"phi i\d+ (\[.*\])")
_PREDICATES = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}
_SUMS = ("add ", "sub ")


def with_carried_choices(text: str, isa: Isa) -> str | None:
    """A module's text with such choices; None where it has none."""
    if isa.arch != "x86_64":
        return None
    return rewritten(text, lambda part: _changed(part) if "call i" in part and "@llvm." in part else None)


def _changed(text: str) -> str | None:
    """One function's text with such choices; None where it has none."""
    if re.search(r"@llvm\.[su](?:min|max)\.i", text) is None:
        return None
    function = FunctionLines.of(text)
    prefix, made = unused_prefix("choice", text), 0
    for first, last, label in loops_of_one_block(function):
        inside = {name: right for name, (_, right) in function.defined_between(first, last).items()}
        loaded = _loaded(inside)
        for name in _carried(inside, label):
            found = _EXTREMUM.match(inside[name])
            # Of what is loaded it is not known how it goes on; ends of ranges are reached once.
            if (
                found is None
                or loaded.isdisjoint((found["a"], found["b"]))
                or not {found["a"], found["b"]} <= inside.keys()
            ):
                continue
            type, a, b = found["type"], found["a"], found["b"]
            condition = f"{prefix}.{made}"
            function.lines[function.defined[name][0]] = (
                f"  {condition} = icmp {_PREDICATES[found['kind']]} {type} {a}, {b}{found['debug']}\n"
                f"  {name} = select i1 {condition}, {type} {a}, {type} {b}, !unpredictable !{{}}{found['debug']}"
            )
            made += 1
    return "\n".join(function.lines) if made else None


def _loaded(inside: dict[str, str]) -> set[str]:
    """What is loaded in an iteration, and what is made of that there."""
    found: set[str] = set()
    for name, right in inside.items():
        if right.startswith("load ") or not (
            right.startswith("phi ") or found.isdisjoint(NAME.findall(right))
        ):
            found.add(name)
    return found


def _carried(inside: dict[str, str], label: str) -> list[str]:
    """What hangs on itself in the iteration before through a sum and an extremum: sums, extrema and choices between."""
    back: dict[str, str] = {}
    for name, right in inside.items():
        if found := _PHI.match(right):
            values = [value for value, source in INCOMING.findall(found[1]) if source == label]
            back.update((name, value) for value in values)
    made_of = {
        name: NAME.findall(right)
        for name, right in inside.items()
        if right.startswith((*_SUMS, "select ")) or _EXTREMUM.match(right)
    }
    ways: set[str] = set()
    for phi, value in back.items():
        before = _reached(value, made_of)
        after = _hanging(phi, made_of)
        way = before & after
        sums = any(inside[n].startswith(_SUMS) for n in way)
        if sums and any(_EXTREMUM.match(inside[n]) for n in way):
            ways |= way
    return [name for name in inside if name in ways]


def _reached(value: str, made_of: dict[str, list[str]]) -> set[str]:
    """What a value is made of."""
    found: set[str] = set()
    work = [value]
    while work:
        name = work.pop()
        if name in made_of and name not in found:
            found.add(name)
            work += made_of[name]
    return found


def _hanging(phi: str, made_of: dict[str, list[str]]) -> set[str]:
    """What is made of a value, in the order of the lines."""
    found = {phi}
    for name, values in made_of.items():
        if not found.isdisjoint(values):
            found.add(name)
    return found

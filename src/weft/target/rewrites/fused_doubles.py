"""What is taken from a sum of floats twice is taken at once, where contraction is allowed and one operation does both.

LLVM makes ``x + x`` of ``2 * x`` before it looks for sums of products. Where that is added it sees the product still,
where it is taken away it does not, and doubling and taking away are two operations, as in second differences and in the
filters that weight rows by 1, 2, 1::

    %d = fmul fast float %x, -2.0      ==>      %s = call fast float @llvm.fma.f32(float %x, float -2.0, float %a)
    %s = fadd fast float %a, %d

Precondition: LLVM's text behind its pipeline. Postcondition: where the processor has such an operation, no number is
doubled to be taken from another one alone, if both operations may be contracted. Rounds once where it rounded twice
(doubling is exact, so results are the same but where the double is out of range).
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import NAME, FunctionLines, rewritten, unused_prefix, with_declarations

_FLAGS = r"(?P<flags>(?:nnan |ninf |nsz |arcp |contract |afn |reassoc |fast )+)"
_TYPE = r"(?P<type><(?P<lanes>\d+) x (?:float|double)>|float|double)"
_DOUBLED = re.compile(
    rf"fmul {_FLAGS}{_TYPE} (?P<x>{NAME.pattern}), "
    r"(?:splat \((?:float|double) )?(?P<sign>-?)2\.000000e\+00\)?(?:, !.*)?"
)
_TAKEN = re.compile(
    rf"f(?P<kind>add|sub) {_FLAGS}{_TYPE} (?P<a>{NAME.pattern}), (?P<b>{NAME.pattern})(?P<debug>(?:, !\w+ !\d+)*)"
)
_CONTRACTED = {"fast", "contract"}


def with_fused_doubles(text: str, isa: Isa) -> str | None:
    """A module's text with such operations; None where it has none."""
    if not _fuses(isa) or "2.000000e+00" not in text:
        return None
    declared: set[str] = set()
    made = rewritten(text, lambda part: _changed(part, declared) if "2.000000e+00" in part else None)
    return None if made is None else with_declarations(made, declared)


def _changed(text: str, declared: set[str]) -> str | None:
    """One function's text with such operations; None where it has none."""
    function = FunctionLines.of(text)
    doubles = {
        name: found
        for name, (_, right) in function.defined.items()
        if right.startswith("fmul ") and (found := _DOUBLED.fullmatch(right)) and _may_be_contracted(found)
    }
    if not doubles:
        return None
    uses = function.uses()
    prefix, made = unused_prefix("double", text), 0
    for name, (number, right) in function.defined.items():
        taken = _TAKEN.fullmatch(right) if right.startswith(("fadd ", "fsub ")) else None
        if taken is None or not _may_be_contracted(taken):
            continue
        for double, other in ((taken["b"], taken["a"]), (taken["a"], taken["b"])):
            found = doubles.get(double)
            if found is None or uses[double] != [name]:
                continue
            first_less = taken["kind"] == "sub" and double == taken["a"]
            away = (taken["kind"] == "sub" and not first_less) != bool(found["sign"])
            if not away and not first_less:
                continue  # LLVM sees that product.
            lines = ""
            if first_less:
                other = f"{prefix}.{made}"
                lines = f"  {other} = fneg {taken['flags']}{taken['type']} {taken['b']}{taken['debug']}\n"
            lines += _fused(name, found["x"], "-" * away, other, taken, declared)
            function.lines[number] = lines
            made += 1
            break
    return "\n".join(function.lines) if made else None


def _fuses(isa: Isa) -> bool:
    return not isa.features.isdisjoint(("fma", "neon"))


def _may_be_contracted(operation: re.Match[str]) -> bool:
    return not _CONTRACTED.isdisjoint(operation["flags"].split())


def _fused(name: str, x: str, sign: str, other: str, taken: re.Match[str], declared: set[str]) -> str:
    """The line that makes a value of a number twice, or less twice, and another one."""
    type, lanes = taken["type"], taken["lanes"]
    element = "double" if "double" in type else "float"
    two = f"{sign}2.000000e+00"
    constant = f"splat ({element} {two})" if lanes else two
    called = "@llvm.fma." + (f"v{lanes}" if lanes else "") + ("f64" if element == "double" else "f32")
    declared.add(f"declare {type} {called}({type}, {type}, {type})")
    return (
        f"  {name} = call {taken['flags']}{type} {called}({type} {x}, {type} {constant}, {type} {other})"
        f"{taken['debug']}"
    )

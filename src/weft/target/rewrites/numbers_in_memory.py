"""Numbers that lanes load from one by one are read from memory, not taken out of registers.

A gather without an instruction for it takes each lane's number out of a register, loads, and puts the result into
another. Both go through the one unit for shuffles. Where the numbers have just been loaded they lie in memory, too::

    %v = load <8 x i8>, ptr %p                          %v = load <8 x i8>, ptr %p
    %w = zext <8 x i8> %v to <8 x i32>          ==>     %a = getelementptr i8, ptr %p, i64 3
    %n = extractelement <8 x i32> %w, i64 3             %b = load i8, ptr %a
                                                        %n = zext i8 %b to i32

Precondition: LLVM's text behind its pipeline. Postcondition: on x86, lanes of loaded vectors that are nothing but
taken out, each once and in the block of the load before anything else may be stored, are loads of their own, of what
the vector's load reads. Each number is read once, as it was. Preserves what functions give.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import FunctionLines, rewritten, unused_prefix

_LOAD = re.compile(
    r"load <(?P<lanes>\d+) x i(?P<bits>8|16|32|64)>, ptr (?P<from>%[^\s,]+), align \d+(?P<notes>(?:, !.*)?)"
)
_WIDENED = re.compile(
    r"(?P<how>sext|zext(?: nneg)?) <\d+ x i\d+> (?P<of>%[^\s,]+) to <\d+ x i(?P<bits>\d+)>(?:, !.*)?"
)
_SHUFFLED = re.compile(
    r"shufflevector <(?P<lanes>\d+) x i\d+> (?P<of>%[^\s,]+), <\d+ x i\d+> (?P<other>[^\s,]+), "
    r"<\d+ x i32> <(?P<places>[^>]*)>(?:, !.*)?"
)
_TAKEN = re.compile(
    r"extractelement <\d+ x i(?P<bits>\d+)> (?P<of>%[^\s,]+), i64 (?P<lane>\d+)(?P<debug>(?:, !.*)?)"
)
_CALLED = re.compile(
    r"\bcall\b.* @llvm\.(?:[su](?:min|max)|abs|fma|fmuladd|fabs|ctpop|vector\.reduce|masked\.gather)\."
)
_FEWEST = 4
"""Lanes that are taken out: fewer are as well taken from a register."""


class _Lane(Struct, frozen=True):
    """A lane that is taken out: on which line, under which name, of which vector's load, and what became of it."""

    line: int
    name: str
    load: str
    lane: int
    casts: tuple[tuple[str, int], ...]
    debug: str


def with_numbers_in_memory(text: str, isa: Isa) -> str | None:
    """A module's text with such loads; None where it has none."""
    if isa.arch != "x86_64" or " = extractelement <" not in text:
        return None
    return rewritten(text, lambda part: _changed(part) if " = extractelement <" in part else None)


def _changed(text: str) -> str | None:
    """One function's text with such loads; None where it has none."""
    function = FunctionLines.of(text)
    found: dict[str, list[_Lane]] = {}
    for name, (line, right) in function.defined.items():
        if right.startswith("extractelement <") and (lane := _taken(function, name, line, right)) is not None:
            found.setdefault(lane.load, []).append(lane)
    if not found:
        return None
    uses = function.uses()
    prefix, made = unused_prefix("number", text), 0
    taken = {each.name for lanes in found.values() for each in lanes}
    for load, lanes in found.items():
        places = [each.lane for each in lanes]
        if len(lanes) < _FEWEST or len(set(places)) < len(places):
            continue
        if not _only_taken(function, load, uses, taken):
            continue
        if not _is_quiet(function, function.defined[load][0], max(each.line for each in lanes)):
            continue
        for each in lanes:
            function.lines[each.line] = _loaded(function, each, f"{prefix}.{made}")
            made += 1
    return "\n".join(function.lines) if made else None


def _taken(function: FunctionLines, name: str, line: int, right: str) -> _Lane | None:
    """The lane of a load that is taken out on a line, if it is one."""
    taken = _TAKEN.fullmatch(right)
    if taken is None:
        return None
    lane, vector, casts = int(taken["lane"]), taken["of"], list[tuple[str, int]]()
    while vector in function.defined:
        at, right = function.defined[vector]
        if function.blocks[at] != function.blocks[line]:
            return None
        if _LOAD.fullmatch(right) is not None:
            return _Lane(line, name, vector, lane, tuple(reversed(casts)), taken["debug"])
        if (cast := _WIDENED.fullmatch(right)) is not None:
            casts.append((cast["how"], int(cast["bits"])))
            vector = cast["of"]
        elif (shuffle := _SHUFFLED.fullmatch(right)) is not None:
            place, lanes = shuffle["places"].split(", ")[lane].removeprefix("i32 "), int(shuffle["lanes"])
            if not place.isdigit():
                return None
            vector = shuffle["of"] if int(place) < lanes else shuffle["other"]
            lane = int(place) % lanes
        else:
            return None
    return None


def _loaded(function: FunctionLines, each: _Lane, prefix: str) -> str:
    """Lines that load a lane by itself."""
    load = _LOAD.fullmatch(function.defined[each.load][1])
    assert load is not None
    bits = int(load["bits"])
    lines = [f"  {prefix}.at = getelementptr i{bits}, ptr {load['from']}, i64 {each.lane}"]
    steps = [(f"load i{bits}, ptr {prefix}.at, align 1{load['notes']}", bits)]
    value = f"{prefix}.0"
    for how, wide in each.casts:
        steps.append((f"{how} i{steps[-1][1]} {value} to i{wide}{each.debug}", wide))
        value = f"{prefix}.{len(steps) - 1}"
    names = [*(f"{prefix}.{n}" for n in range(len(steps) - 1)), each.name]
    return "\n".join([*lines, *(f"  {n} = {right}" for n, (right, _) in zip(names, steps, strict=True))])


def _only_taken(function: FunctionLines, load: str, uses: dict[str, list[str]], taken: set[str]) -> bool:
    """Whether all that is made of a load ends in lanes that are taken out of it."""
    work, seen = [load], set[str]()
    while work:
        name = work.pop()
        for use in uses[name]:
            if use in taken or use in seen:
                continue
            right = function.defined[use][1] if use in function.defined else ""
            if _WIDENED.fullmatch(right) is None and _SHUFFLED.fullmatch(right) is None:
                return False
            seen.add(use)
            work.append(use)
    return True


def _is_quiet(function: FunctionLines, first: int, last: int) -> bool:
    """Whether nothing between two lines may store."""
    return not any(
        line.startswith(("  store ", "  fence ", "  call ", "  tail call "))
        or " = atomicrmw " in line
        or " = cmpxchg " in line
        or " = load atomic " in line
        or (" call " in line and _CALLED.search(line) is None)
        for line in function.lines[first:last]
        if not line.startswith("    #dbg_")
    )

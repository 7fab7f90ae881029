"""Counters of lanes go on by a one that LLVM does not know, where numbers of 512 bits would be counted by all ones.

To add one LLVM subtracts a register whose bits are all ones, which costs no load: ``vpternlogd $255, r, r, r``. Where
it has no register to keep that in over a loop, it makes it anew in each round, and the processor takes it to depend on
what was in r before, of 512 bits it does not know better. So the next round, which begins with the counter, waits for
whatever this one has computed last in r. What is kept on the stack instead depends on nothing::

                                                 entry:  %one = call i32 asm "", "=r,0"(i32 1)
                                                         %lane = insertelement <16 x i32> poison, i32 %one, i64 0
                                                         %few = shufflevector <16 x i32> %lane, ...
    %next = add <32 x i32> %k, splat (i32 1)       ==>   %ones = shufflevector <16 x i32> %few, ...
                                                         %next = add <32 x i32> %k, %ones

Precondition: LLVM's text behind its pipeline. Postcondition: on x86 with registers of 512 bits, φs of as many bits or
more go on by such ones in loops that hold many registers. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import LABEL, WIDTHS, FunctionLines, rewritten, unused_prefix

_COUNTED = re.compile(
    r"add (?:nuw |nsw )*<(?P<lanes>\d+) x (?P<type>i32|i64)> (?P<counter>%[^\s,]+), "
    r"(?P<one>splat \(i(?:32|64) 1\))(?:, !.*)?"
)
_USED = re.compile(r"<(\d+) x (i32|i64|float|double)> (%[^\s,)]+)")
_BITS = 512

CROWDED = 8
"""Registers that a loop holds, without its constants and what it computes in a round. Measured on Emerald Rapids:
Lennard-Jones forces by lists of neighbours (22 registers) take 0.82 of the time in 32 lanes, forces between particles
in cells (9 to 13) 0.83; breadth-first search (3), where all ones are kept in a register, 1.03."""


def with_counted_lanes(text: str, isa: Isa) -> str | None:
    """A module's text with such counters; None where it has none."""
    if isa.arch != "x86_64" or isa.vector_bits < _BITS or "splat (i" not in text:
        return None
    return rewritten(text, _counted)


def _counted(text: str) -> str | None:
    """One function's text with such counters; None where it has none."""
    if "= phi <" not in text or not _COUNTED.search(text):
        return None
    function = FunctionLines.of(text)
    prefix, needed = unused_prefix("ones", text), set[str]()
    for name, (number, right) in function.defined.items():
        found = _COUNTED.fullmatch(right)
        if found is None or int(found["lanes"]) * WIDTHS[found["type"]] < _BITS:
            continue
        counter = function.defined.get(found["counter"])
        if counter is None or not _goes_on(counter[1], name):
            continue
        if _held(function, {function.blocks[counter[0]], function.blocks[number]}) < CROWDED:
            continue
        type, lanes = found["type"], int(found["lanes"])
        needed.add(type)
        few, places = (
            _BITS // WIDTHS[type],
            ", ".join(f"i32 {k % (_BITS // WIDTHS[type])}" for k in range(lanes)),
        )
        register, ones = f"<{few} x {type}> {prefix}.{type}", f"{prefix}.{number}"
        start, end = found.span("one")
        function.lines[number] = "\n".join(
            (
                f"  {ones} = shufflevector {register}, <{few} x {type}> poison, <{lanes} x i32> <{places}>",
                f"  {name} = {right[:start]}{ones}{right[end:]}",
            )
        )
    if not needed:
        return None
    begin = 2 if LABEL.match(function.lines[1]) else 1
    function.lines[begin:begin] = [line for type in sorted(needed) for line in _register(type, prefix)]
    return "\n".join(function.lines)


def _held(function: FunctionLines, blocks: set[int]) -> int:
    """How many registers what some blocks use and do not make fills, φs among it."""
    registers: dict[str, float] = {}
    for line, block in zip(function.lines, function.blocks, strict=True):
        if block not in blocks:
            continue
        for lanes, type, name in _USED.findall(line):
            made = function.defined.get(name)
            if made is None or function.blocks[made[0]] not in blocks or made[1].startswith("phi "):
                registers[name] = int(lanes) * WIDTHS[type] / _BITS
    return round(sum(registers.values()))


def _register(type: str, prefix: str) -> tuple[str, ...]:
    """A register of ones."""
    lanes = _BITS // WIDTHS[type]
    vector, name = f"<{lanes} x {type}>", f"{prefix}.{type}"
    return (
        f'  {name}.one = call {type} asm "", "=r,0"({type} 1)',
        f"  {name}.lane = insertelement {vector} poison, {type} {name}.one, i64 0",
        f"  {name} = shufflevector {vector} {name}.lane, {vector} poison, <{lanes} x i32> zeroinitializer",
    )


def _goes_on(right: str, name: str) -> bool:
    """Whether a value is a φ that some block hands this one on to."""
    return right.startswith("phi ") and re.search(rf"\[ {re.escape(name)},", right) is not None

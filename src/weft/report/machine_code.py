"""The machine code of each line of the source, for reports.

What the pipeline leaves of a kernel is one function, whose instructions say from which place they are, but which has no
description of its own any more: LLVM would write no places for it. It gets that of the source function, so that the
assembly has a ``.loc`` in front of each run of instructions from one place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath

from weft.target.machine import TargetSpec, emit_assembly, optimized
from weft.target.passes import PassList, Pipeline

Lines = Mapping[tuple[str, int], tuple[str, ...]]
"""By the name of a file, without its directory, and a line: the instructions that come of it."""

MakeLines = Callable[[], Lines]
"""Makes machine code by lines: LLVM runs for it, so only who asks has it made."""

_DESCRIPTION = re.compile(r"^(!\d+) = distinct !DISubprogram\((.*)\)$", re.MULTILINE)
_VARIABLES = re.compile(r", retainedNodes: !\d+")
_UNDESCRIBED = re.compile(r"^(define (?!.*!dbg ).*) \{$", re.MULTILINE)
_FILE = re.compile(r'^\s*\.file\s+(\d+)(?:\s+"[^"]*")?\s+"([^"]*)"')
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")


def machine_lines(text: str, passes: PassList | Pipeline, spec: TargetSpec) -> Lines:
    """Return the instructions of each line, given LLVM IR and the passes that run on it.

    Instructions from no line of the source, such as those of loops over work-groups, are left out.
    """
    return lines_of(emit_assembly(described(optimized(text, spec, passes)), spec))


def joined_lines(makers: Iterable[MakeLines | None]) -> MakeLines | None:
    """Makes what all of them make, one after the other; None where there are none."""
    present = [make for make in makers if make is not None]
    if not present:
        return None

    def make_all() -> Lines:
        found: dict[tuple[str, int], tuple[str, ...]] = {}
        for make in present:
            for place, code in make().items():
                found[place] = (*found.get(place, ()), *code)
        return found

    return make_all


def described(text: str) -> str:
    """The module with descriptions that are alike made one, which the functions without any have."""
    first: dict[str, str] = {}
    for name, about in _DESCRIPTION.findall(text):
        kept = first.setdefault(_VARIABLES.sub("", about), name)
        if kept != name:
            text = re.sub(rf"(scope: |!dbg ){name}\b", rf"\g<1>{kept}", text)
    taken = set(re.findall(r"^define .*!dbg (!\d+)", text, re.MULTILINE))
    free = [name for name in first.values() if name not in taken]
    return _UNDESCRIBED.sub(rf"\1 !dbg {free[0]} {{", text, count=1) if free else text


def lines_of(assembly: str) -> Lines:
    """Return the instructions of each line that assembly with ``.loc`` has."""
    files: dict[str, str] = {}
    found: dict[tuple[str, int], list[str]] = {}
    place: tuple[str, int] | None = None
    for line in assembly.split("\n"):
        if about := _FILE.match(line):
            files[about[1]] = PurePath(about[2]).name
        elif about := _PLACE.match(line):
            number = int(about[2])
            place = (files.get(about[1], ""), number) if number else None
        elif line.startswith(".L") or not line.strip():
            continue
        elif line.startswith("\t") and not line.startswith(("\t.", "\t#")):
            if place is not None:
                found.setdefault(place, []).append(" ".join(line.split("#")[0].split()))
        elif not line.startswith(("\t", " ", "#")):
            place = None
    return {key: tuple(instructions) for key, instructions in found.items()}

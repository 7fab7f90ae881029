"""The machine code of each line of the source, for reports.

What the pipeline leaves of a kernel is one function, whose instructions say from which place they are, but which has no
description of its own any more: LLVM would write no places for it. It gets that of the source function, so that the
assembly has a ``.loc`` in front of each run of instructions from one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from weft.target.machine import TargetSpec, emit_assembly

Lines = Mapping[tuple[str, int], tuple[str, ...]]
"""By the name of a file, without its directory, and a line: the instructions that come of it."""

_DESCRIPTION = re.compile(r"^(!\d+) = distinct !DISubprogram\((.*)\)$", re.MULTILINE)
_UNDESCRIBED = re.compile(r"^(define (?!.*!dbg ).*) \{$", re.MULTILINE)
_FILE = re.compile(r'^\s*\.file\s+(\d+)(?:\s+"[^"]*")?\s+"([^"]*)"')
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")


def machine_lines(optimized: str, spec: TargetSpec) -> Lines:
    """Return the instructions of each line, given the optimized LLVM IR of a program.

    Instructions from no line of the source, such as those of loops over work-groups, are left out.
    """
    return lines_of(emit_assembly(described(optimized), spec))


def described(text: str) -> str:
    """The module with descriptions that are alike made one, which the functions without any have."""
    first: dict[str, str] = {}
    for name, about in _DESCRIPTION.findall(text):
        kept = first.setdefault(about, name)
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

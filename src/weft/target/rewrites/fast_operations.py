"""Operations under all flags of fast mathematics, read from lines of LLVM's text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_OPERATION = re.compile(r"(fadd|fsub|fmul|fneg) fast (<[^>]+>|\w+) (.*?)((?:, !\w+ !\d+)*)$")
_EXTREMUM = re.compile(
    r"(?:tail )?call fast (<[^>]+>|\w+) (@llvm\.(?:min|max)(?:num|imum|imumnum)\.\w+)\((.*)\)"
    r"(?: #\d+)?((?:, !\w+ !\d+)*)$"
)
SUFFIXES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
"""How LLVM abbreviates types of elements."""


class FastOperation(Struct, frozen=True):
    """An operation under fast mathematics: its kind or function, type, operands, and what debuggers want."""

    kind: str
    type: str
    operands: tuple[str, ...]
    debug: str

    @property
    def is_linear(self) -> bool:
        """Whether it is a sum, difference, product or negation, and no extremum."""
        return not self.kind.startswith("@")


def one_of(type: str) -> str | None:
    """The number 1 of a type; None where LLVM writes that in bits."""
    element = type.strip("<>").split(" ")[-1]
    if element not in ("float", "double"):
        return None
    return f"splat ({element} 1.000000e+00)" if type.startswith("<") else "1.000000e+00"


def fast_operation(right: str) -> FastOperation | None:
    """What a line makes under fast mathematics; None where it makes something else."""
    if found := _OPERATION.match(right):
        kind, type, operands, debug = found.groups()
        return FastOperation(kind, type, tuple(_parted(operands)), debug)
    if found := _EXTREMUM.match(right):
        type, kind, operands, debug = found.groups()
        return FastOperation(kind, type, tuple(v.removeprefix(f"{type} ") for v in _parted(operands)), debug)
    return None


def _parted(operands: str) -> Iterator[str]:
    """Operands at their commas, but not those within vectors."""
    depth = start = 0
    for place, letter in enumerate(operands):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and not depth:
            yield operands[start:place].strip()
            start = place + 1
    yield operands[start:].strip()

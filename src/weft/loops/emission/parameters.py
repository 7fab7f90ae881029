"""What a kernel takes, and what may be its name: arrays, numbers, how integers in them are read."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from weft.analysis.symbolic.expression import Symbol
from weft.ir import Instruction, Value
from weft.ir.types import IntType, Type
from weft.loops.emission.subscripts import Shape

RESERVED = frozenset(
    (*keyword.kwlist, "range", "int", "float", "double", "long", "short", "char", "unsigned", "signed", "void",
     "kernel", "global", "local", "constant", "private", "const", "struct", "auto", "register", "switch", "case",
     "default", "do", "goto", "sizeof", "static", "typedef", "union", "enum", "volatile", "half", "uint", "ulong",
     "uchar", "ushort", "bool", "true", "false", "cuda", "np", "math", "abs", "min", "max", "sqrt", "exp", "log",
     "sin", "cos", "pow", "inline", "extern", "restrict", "event_t", "size_t", "image2d_t", "sampler_t", "pipe")
)  # fmt: skip


@dataclass(slots=True)
class ArrayParameter:
    """An array that a kernel takes.

    Parameters
    ----------
    name
        What it is called.
    base
        Its symbol.
    element
        The type of its elements in memory.
    reading
        How integers in it are read, ``s`` or ``u``.
    shape
        Its dimensions; None for one that is indexed by one number.
    order
        To sort parameters by.
    is_written
        Whether the kernel stores to it.
    """

    name: str
    base: Symbol
    element: Type
    reading: str
    shape: Shape | None
    order: tuple[int, str]
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class NumberParameter:
    """A number that a kernel takes.

    Parameters
    ----------
    name, type
        What it is.
    text
        What the program calls it.
    order
        To sort parameters by.
    value
        A value that is this number.
    """

    name: str
    type: Type
    text: str
    order: tuple[int, str]
    value: Value


def legal(name: str) -> str:
    """A name as Python and OpenCL C allow it: ``im->data`` is ``im_data``."""
    found = re.sub(r"\W+", "_", name)
    # Underscores at the ends stay where the program has them.
    found = (found if found == name else found.strip("_")) or "value"
    if found[0].isdigit():
        found = f"_{found}"
    return f"{found}_" if found in RESERVED else found


def reading_of(members: list[Instruction], loose: frozenset[Instruction]) -> str:
    """How integers of a variable are read: unsigned if they may leave the signed numbers, or are always extended so."""
    extended = {u.op for v in members for u in v.instruction_users()} & {"sext", "zext", "sitofp", "uitofp"}
    if extended and extended <= {"zext", "uitofp"}:
        return "u"
    for value in members:
        sources = value.operands if value.is_phi else [value]
        for source in sources:
            if isinstance(source, Instruction) and source.op in ("add", "sub", "mul", "shl"):
                is_short = isinstance(source.type, IntType) and source.type.bits < 64
                if is_short and ("nsw" not in source.flags or source in loose):
                    return "u"
            if isinstance(source, Instruction) and source.op in ("lshr", "udiv", "urem"):
                return "u"
    return "s"


def element_reading(element: Type, accesses: list[Instruction], is_unsigned: bool | None) -> str:
    """How elements that are accessed are read, ``s`` or ``u``; `is_unsigned` where that is known."""
    if not isinstance(element, IntType):
        return "s"
    if is_unsigned is not None:
        return "u" if is_unsigned else "s"
    extended = {u.op for i in accesses if i.op == "load" for u in i.instruction_users()}
    return "u" if extended & {"zext", "uitofp"} else "s"

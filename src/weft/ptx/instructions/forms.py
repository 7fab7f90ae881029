"""What a row of the instruction table says, and the notation in which rows are written.

A row (`Form`) is an opcode, a pattern of modifiers, a pattern of operands, effects, and least version and target.

Modifiers are slots in their order, parted by blanks. A slot is alternatives parted by ``|``; ``?`` behind it makes it
optional, ``*`` lets any number of the alternatives stand there in any order. A name and a colon before it bind the
modifier that was chosen: ``T:u32|s32``. Words in capitals behind ``$`` are sets (`SETS`).

Operands are parted by blanks:

====================  ======================================================================================
``T``                 read, of the type that slot T bound
``u32``               read, of this type
``T*2``               of twice the width of T
``=T``  ``+T``        written; read and written
``~T``                the register may be wider (ld, st, cvt)
``=T|pred?``          a pair ``d|p``; with ``?`` the second may be missing
``!pred``             may be negated
``vT``                a vector if a slot named V chose one, of that length; else a single one
``{T}``               a vector of any length, or a single one
``<T>``               a vector or one of T, whichever (packing moves)
``[]``                an address
``imm``               an integer constant
``sym``               the name of a variable, function or texture, or a register that holds one
``label`` ``targets`` a label; a list of branch targets
``func`` ``group``    what is called; what is passed
``any``               whatever
``...?``              may be missing, as all behind it
``b64@L2::hint``      there if this modifier is, and else not
====================  ======================================================================================
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass

from weft.ptx.types import VALUE_TYPES


class Effect(enum.Flag):
    """What an instruction does besides computing its results from its operands."""

    NONE = 0
    READS = enum.auto()
    """Reads memory."""
    WRITES = enum.auto()
    """Writes memory."""
    ATOMIC = enum.auto()
    """Reads and writes as one."""
    BARRIER = enum.auto()
    """Waits for other threads, or tells them of its arrival."""
    FENCE = enum.auto()
    """Orders accesses to memory."""
    WARP = enum.auto()
    """The result depends on other threads of the warp."""
    BRANCH = enum.auto()
    """Goes somewhere else in the body."""
    CALL = enum.auto()
    """Calls a function."""
    ENDS = enum.auto()
    """Ends the thread, or the function."""
    CARRY_IN = enum.auto()
    """Reads the carry flag."""
    CARRY_OUT = enum.auto()
    """Writes the carry flag."""
    OTHER = enum.auto()
    """Must stay, although nothing above says why (prefetches, stack, debugging, clocks)."""
    OPAQUE = enum.auto()
    """Read and written as text only: tensor cores, textures, surfaces, asynchronous copies, clusters."""


_INT = "u16|u32|u64|s16|s32|s64"
SETS = {
    "INT": _INT,
    "UINT": "u16|u32|u64",
    "SINT": "s16|s32|s64",
    "INT32": "u32|s32",
    "WORD": "u32|s32|u64|s64",
    "BITS": "b16|b32|b64",
    "ANY": f"b16|b32|b64|{_INT}|f32|f64",
    "RND": "rn|rz|rm|rp",
    "RND2": "rn|rz",
    "HALF": "f16|f16x2",
    "BHALF": "bf16|bf16x2",
    "SCOPE": "cta|cluster|gpu|sys",
    "SHARED": "shared|shared::cta|shared::cluster",
    "SPACE": "const|global|local|shared|shared::cta|shared::cluster|param|param::entry|param::func",
    "SCMP": "eq|ne|lt|le|gt|ge",
    "UCMP": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "FCMP": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
    "BOOL": "and|or|xor",
    "L1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "L2": "L2::evict_normal|L2::evict_first|L2::evict_last",
    "HINT": "L2::cache_hint",
    "FETCH": "L2::64B|L2::128B|L2::256B",
    "CGROUP": "cta_group::1|cta_group::2",
}
_SET = re.compile(r"\$(\w+)")
_SLOT = re.compile(r"(?:([A-Z]\w*):(?!:))?([^?*]+)([?*]?)")
_OPERAND = re.compile(r"([=+]?)([~!]?)(.+?)(\|pred)?(\?)?(?:@(\S+))?")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a modifier: what may stand there, and the name under which the choice is known."""

    choices: tuple[str, ...]
    name: str = ""
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class OperandForm:
    """What one operand may be.

    Parameters
    ----------
    kind
        ``value``, ``vector`` (any length), ``vec`` (as long as slot V says), ``pack``, ``address``, ``imm``, ``sym``,
        ``label``, ``targets``, ``func``, ``group``, ``any``.
    type
        A type, or the name of the slot that bound it; empty where there is none.
    reads, writes
        Whether the instruction reads and writes the registers named; those of an address are read.
    factor
        How many times the width of the type is meant.
    loose
        Whether wider registers fit.
    negatable
        Whether ``!`` may stand before it.
    pair
        Whether a second, a predicate, may follow behind ``|``, and (``must``) whether it has to.
    optional
        Whether this operand and all behind it may be missing.
    when
        The modifier with which alone it is there.
    """

    kind: str
    type: str = ""
    reads: bool = True
    writes: bool = False
    factor: int = 1
    loose: bool = False
    negatable: bool = False
    pair: str = ""
    optional: bool = False
    when: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """The least version of PTX and architecture, and the last.

    `families` names architectures of which only the variants with ``a`` or ``f`` have it (``sm_90a``); where it is
    empty, `sm` and all later ones have it. From version `gone` on it is no more for sm_70 and later.
    """

    ptx: tuple[int, int] = (1, 0)
    sm: int = 0
    families: tuple[int, ...] = ()
    gone: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A row of the table."""

    opcode: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandForm, ...]
    effects: Effect = Effect.NONE
    needs: Needs = Needs()


def forms(
    opcodes: str,
    modifiers: str,
    operands: str,
    effects: Effect = Effect.NONE,
    *,
    ptx: float = 1.0,
    sm: int = 0,
    families: tuple[int, ...] = (),
    gone: tuple[int, int] | None = None,
) -> list[Form]:
    """Rows of the table for several opcodes that differ in nothing else; `ptx` is 8.5 for version 8.5."""
    slots = tuple(_slot(text) for text in modifiers.split())
    kinds = tuple(_operand(text) for text in operands.split())
    major, _, minor = str(ptx).partition(".")
    needs = Needs((int(major), int(minor)), sm, families, gone)
    return [Form(opcode, slots, kinds, effects, needs) for opcode in opcodes.split()]


@functools.cache
def _slot(text: str) -> Slot:
    match = _SLOT.fullmatch(_SET.sub(lambda m: SETS[m[1]], text))
    if match is None:
        raise ValueError(text)
    return Slot(tuple(match[2].split("|")), match[1] or "", match[3] != "", match[3] == "*")


@functools.cache
def _operand(text: str) -> OperandForm:
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise ValueError(text)
    role, mark, core, pair, optional, when = match.groups()
    kind, type, factor = _core(core)
    # The question mark of a pair is the pair's.
    return OperandForm(
        kind,
        type,
        role != "=",
        role != "",
        factor,
        mark == "~",
        mark == "!",
        "" if not pair else "may" if optional else "must",
        bool(optional) and not pair,
        when or "",
    )


def _core(core: str) -> tuple[str, str, int]:
    if core == "[]":
        return "address", "", 1
    if core in {"imm", "sym", "label", "targets", "func", "group", "any"}:
        return core, "", 1
    kind = "value"
    if core[0] == "{":
        kind, core = "vector", core[1:-1]
    elif core[0] == "<":
        kind, core = "pack", core[1:-1]
    elif core[0] == "v" and core[1].isupper():
        kind, core = "vec", core[1:]
    core, _, factor = core.partition("*")
    if core not in VALUE_TYPES and not core[0].isupper():
        raise ValueError(f"{core} is no type and no slot")
    return kind, core, int(factor or 1)

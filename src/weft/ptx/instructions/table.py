"""The table: all rows by opcode, and which of them an instruction is."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.diag.errors import PtxError
from weft.ptx.instructions import (
    asynchronous,
    atomics,
    compares,
    control,
    fabric,
    floats,
    integers,
    moves,
    tensors,
    textures,
    threads,
    video,
)
from weft.ptx.instructions.forms import Effect, Form, Needs, OperandForm, Slot
from weft.ptx.instructions.newer import NEWER
from weft.ptx.syntax import Address, Float, Group, Instruction, Integer, Operand, Pair, Vector
from weft.ptx.types import VALUE_TYPES

_AREAS = (
    integers, floats, compares, moves, control, threads, atomics, video, textures, tensors, asynchronous, fabric,
)  # fmt: skip


def _by_opcode() -> dict[str, tuple[Form, ...]]:
    rows: dict[str, list[Form]] = {}
    for area in _AREAS:
        for form in area.FORMS:
            rows.setdefault(form.opcode, []).append(form)
    return {opcode: tuple(forms) for opcode, forms in rows.items()}


OPCODES: dict[str, tuple[Form, ...]] = _by_opcode()
"""The rows of each opcode."""

_MEMORY = Effect.READS | Effect.WRITES


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A row of the table with the choices that an instruction made.

    There is one of it for an opcode with its modifiers, so it is compared by identity.

    Parameters
    ----------
    form
        The row.
    operands
        What each operand may be, with types in place of the slots' names, and vectors' lengths in `lengths`.
    lengths
        For each operand, how long its vector has to be; 0 where any length will do, or none is a vector.
    bound
        The modifier that each named slot took.
    space
        ``global``, ``shared``, ``local``, ``const``, ``param`` for accesses that name one (without what follows
        ``::``); ``generic`` for those that name none; empty for what is no access.
    volatile
        Whether an access has to be made as it stands.
    needs
        All that it needs, by the row or one of the modifiers.
    least
        How many operands there are at least.
    """

    form: Form
    operands: tuple[OperandForm, ...]
    lengths: tuple[int, ...]
    bound: tuple[tuple[str, str], ...]
    space: str
    volatile: bool
    needs: tuple[Needs, ...]
    least: int

    @property
    def effects(self) -> Effect:
        """What it does besides computing its results."""
        return self.form.effects

    def choice(self, name: str) -> str:
        """The modifier that the slot of this name took, or nothing."""
        return next((modifier for slot, modifier in self.bound if slot == name), "")


def variant_of(instruction: Instruction) -> Variant:
    """The row of the table that an instruction is, by its modifiers and the number and kinds of its operands.

    Raises
    ------
    PtxError
        There is no such opcode, it has no such modifiers, or does not take so many operands; without a position.
    """
    variants = variants_of(instruction.opcode, instruction.modifiers)
    operands = instruction.operands
    for variant in variants:
        forms = variant.operands
        if variant.least <= len(operands) <= len(forms) and False not in map(_fits, forms, operands):
            return variant
    raise _no_fit(instruction, variants)


@functools.cache
def variants_of(opcode: str, modifiers: tuple[str, ...]) -> tuple[Variant, ...]:
    """The rows that these modifiers fit; at least one.

    As the assembler does, take modifiers that are not in the order of the language in any order.

    Raises
    ------
    PtxError
        As of `variant_of`.
    """
    rows = OPCODES.get(opcode)
    if rows is None:
        raise PtxError(f"PTX has no instruction '{opcode}'")
    found = [
        _variant(form, modifiers, bound)
        for form in rows
        if (bound := next(_matches(form.slots, 0, modifiers, 0), None)) is not None
    ]
    if not found:
        found = [
            _variant(form, modifiers, bound)
            for form in rows
            if (bound := _in_any_order(form.slots, modifiers)) is not None
        ]
    if not found:
        raise _no_modifiers(opcode, modifiers, rows)
    return tuple(found)


def _matches(
    slots: tuple[Slot, ...], at: int, modifiers: tuple[str, ...], used: int
) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every way to give the modifiers from `used` on to the slots from `at` on; early slots come first."""
    if at == len(slots):
        if used == len(modifiers):
            yield ()
        return
    slot = slots[at]
    if used < len(modifiers) and modifiers[used] in slot.choices:
        rest = at if slot.repeated else at + 1
        for others in _matches(slots, rest, modifiers, used + 1):
            yield ((slot.name, modifiers[used]), *others) if slot.name else others
    if slot.optional:
        yield from _matches(slots, at + 1, modifiers, used)


def _in_any_order(slots: tuple[Slot, ...], modifiers: tuple[str, ...]) -> tuple[tuple[str, str], ...] | None:
    """The modifiers given to slots without regard to order, but that of types; None where they do not fit."""
    free = list(slots)
    bound: list[tuple[str, str]] = []
    for modifier in modifiers:
        slot = next((slot for slot in free if modifier in slot.choices), None)
        if slot is None:
            return None
        if not slot.repeated:
            free.remove(slot)
        if slot.name:
            bound.append((slot.name, modifier))
    return tuple(bound) if all(slot.optional for slot in free) else None


def _variant(form: Form, modifiers: tuple[str, ...], bound: tuple[tuple[str, str], ...]) -> Variant:
    choices = dict(bound)
    vector = int(choices["V"][1:]) if "V" in choices else 0
    operands: list[OperandForm] = []
    lengths: list[int] = []
    for operand in form.operands:
        if operand.when and operand.when not in modifiers:
            continue
        kind = operand.kind
        if kind == "vec":
            kind = "vector" if vector else "value"
        type = _widened(choices.get(operand.type, operand.type), operand.factor)
        operands.append(replace(operand, kind=kind, type=type, factor=1))
        lengths.append(vector if kind == "vector" and (operand.kind == "vec" or operand.type == "T") else 0)
    space = ""
    if form.effects & _MEMORY or "S" in choices:
        space = choices.get("S", "generic").partition("::")[0]
    needs = (form.needs, *(NEWER[modifier] for modifier in modifiers if modifier in NEWER))
    volatile = "volatile" in modifiers or "mmio" in modifiers
    least = next((at for at, operand in enumerate(operands) if operand.optional), len(operands))
    return Variant(form, tuple(operands), tuple(lengths), bound, space, volatile, needs, least)


def _widened(type: str, factor: int) -> str:
    if factor == 1:
        return type
    return f"{type[0]}{VALUE_TYPES[type][1] * factor}"


def _fits(form: OperandForm, operand: Operand) -> bool:
    """Whether an operand is of the kind that a form asks for; its type is not looked at."""
    kind = form.kind
    shape = type(operand)
    if shape is Pair:
        return form.pair != ""
    if form.pair == "must":
        return False
    if kind == "any":
        return True
    if shape is Vector:
        return kind in {"vector", "pack"}
    if shape is Address:
        return kind == "address"
    if shape is Group:
        return kind == "group"
    if shape is Integer and form.type == "pred":
        return not form.writes
    if kind in {"value", "pack", "vector"}:
        return not (form.writes and shape in {Integer, Float})
    if kind == "imm":
        return shape is Integer
    return kind not in {"address", "group"}


def _no_fit(instruction: Instruction, variants: tuple[Variant, ...]) -> PtxError:
    count = len(instruction.operands)
    bounds = [(variant.least, len(variant.operands)) for variant in variants]
    if not any(least <= count <= most for least, most in bounds):
        least, most = min(least for least, _ in bounds), max(most for _, most in bounds)
        wanted = str(least) if least == most else f"{least} to {most}"
        return PtxError(f"'{instruction.name}' takes {wanted} operands, not {count}")
    variant = next(v for v, (least, most) in zip(variants, bounds, strict=True) if least <= count <= most)
    for number, (form, operand) in enumerate(zip(variant.operands, instruction.operands, strict=False), 1):
        if not _fits(form, operand):
            return PtxError(f"operand {number} of '{instruction.name}' has to be {describe(form)}")
    return PtxError(f"'{instruction.name}' does not take these operands")


def describe(form: OperandForm) -> str:
    """What an operand has to be, in words."""
    words = {
        "value": "a register" if form.writes else "a register or constant",
        "vector": "a vector in braces",
        "pack": "a register or a vector in braces",
        "address": "an address in brackets",
        "imm": "an integer constant",
        "sym": "the name of a variable",
        "label": "a label",
        "targets": "the name of a list of branch targets",
        "func": "a function",
        "group": "operands in parentheses",
        "any": "an operand",
    }[form.kind]
    typed = (
        f"{words} of type .{form.type}" if form.type and form.kind in {"value", "vector", "pack"} else words
    )
    return f"a pair d|p of {typed} and a predicate" if form.pair == "must" else typed


def _no_modifiers(opcode: str, modifiers: tuple[str, ...], rows: tuple[Form, ...]) -> PtxError:
    """Say which modifier is wrong: the first that no row has at its place, behind those before it."""
    best, wanted = -1, dict[str, None]()
    for form in rows:
        used, choices = _furthest(form.slots, 0, modifiers, 0)
        if used > best:
            best, wanted = used, {}
        if used == best:
            wanted.update(dict.fromkeys(choices))
    name = ".".join((opcode, *modifiers[:best]))
    shown = ", ".join(f".{choice}" for choice in list(wanted)[:16])
    more = " and others" if len(wanted) > 16 else ""
    if best == len(modifiers):
        return PtxError(f"'{name}' is not complete", hint=f"{shown}{more} may follow" if shown else None)
    message = f"'{name}' has no modifier '.{modifiers[best]}' here"
    if not wanted:
        return PtxError(message, hint="nothing more follows")
    return PtxError(message, hint=f"{shown}{more} may stand here")


def _furthest(
    slots: tuple[Slot, ...], at: int, modifiers: tuple[str, ...], used: int
) -> tuple[int, tuple[str, ...]]:
    """How many modifiers the slots take at most, and what could follow."""
    best, wanted = used, tuple[str, ...]()
    for number in range(at, len(slots)):
        slot = slots[number]
        if used < len(modifiers) and modifiers[used] in slot.choices:
            deep, choices = _furthest(slots, number if slot.repeated else number + 1, modifiers, used + 1)
            if deep > best:
                best, wanted = deep, choices
            elif deep == best:
                wanted += choices
        if best == used:
            wanted += slot.choices
        if not slot.optional:
            break
    return best, wanted

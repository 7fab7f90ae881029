"""Random instructions, made from the table of instructions: whatever the table allows can come out."""

import random

from weft.ptx.check.targets import target_of
from weft.ptx.instructions import OPCODES, Effect, variant_of, variants_of
from weft.ptx.instructions.forms import Form, OperandForm
from weft.ptx.syntax import (
    Address,
    Float,
    Group,
    Guard,
    Instruction,
    Integer,
    Label,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from weft.ptx.types import VALUE_TYPES

FILES = {("b", 8): "%b", ("b", 16): "%h", ("b", 32): "%r", ("b", 64): "%rd", ("b", 128): "%q", ("pred", 1): "%p",
         ("f", 32): "%f", ("f", 64): "%fd"}  # fmt: skip
WHERE = {"global": "g", "shared": "s", "local": "l", "const": "c", "param": "out"}


def modifiers(form: Form, rng: random.Random, optional: float = 0.4) -> tuple[str, ...]:
    """Modifiers that a form takes."""
    slots = [slot for slot in form.slots if not slot.optional or rng.random() < optional]
    return tuple(rng.choice(slot.choices) for slot in slots)


def register(type: str, rng: random.Random) -> Register:
    kind, bits = VALUE_TYPES[type]
    kind = kind if (kind, bits) in FILES else "b"
    if bits == 8 and VALUE_TYPES[type][0] != "packed":
        bits = 16
    return Register(f"{FILES[kind, bits]}{rng.randrange(1, 4)}")


def value(type: str, writes: bool, rng: random.Random) -> Operand:
    """A register, or for what is read now and then a constant."""
    if writes or rng.random() < 0.7 or type == "pred":
        return register(type, rng)
    if VALUE_TYPES[type] == ("f", 16) or VALUE_TYPES[type][0] == "packed":
        return register(type, rng)
    if VALUE_TYPES[type][0] == "f" and VALUE_TYPES[type][1] >= 32:
        return rng.choice((Float(rng.getrandbits(32), 32), Float(rng.getrandbits(62), 64)))
    # What all types of this size have, so that ptxas has nothing to warn of.
    return Integer(rng.randrange(0, 1 << 7))


def operand(form: OperandForm, length: int, space: str, rng: random.Random) -> Operand:
    """An operand that a form takes."""
    match form.kind:
        case "value":
            made = value(form.type, form.writes, rng)
        case "vector":
            made = Vector(
                tuple(value(form.type, form.writes or not form.loose, rng) for _ in range(length or 4))
            )
        case "pack":
            made = value(form.type, form.writes, rng)
        case "address":
            if space in WHERE and rng.random() < 0.5:
                return Address(Symbol(WHERE[space]), rng.choice((0, 16)))
            base = register("b32" if space == "shared" and rng.random() < 0.5 else "b64", rng)
            return Address(base, rng.choice((0, 16, -16)))
        case "imm":
            return Integer(rng.randrange(0, 32))
        case "label":
            return Symbol("L")
        case "targets":
            return Symbol("T")
        case "func":
            return Symbol("f")
        case "group":
            count = 1 if form.writes else 2
            return Group(tuple(Register(f"%r{number}") for number in range(1, count + 1)))
        case _:
            return register("b32", rng)
    if form.negatable and isinstance(made, Register) and rng.random() < 0.3:
        made = Negated(made)
    if form.pair == "must" or (form.pair and rng.random() < 0.3):
        made = Pair(made, register("pred", rng) if rng.random() < 0.7 or form.pair == "must" else Sink())
    return made


def instruction(form: Form, rng: random.Random, optional: float = 0.4) -> Instruction:
    """An instruction of a form."""
    name = modifiers(form, rng, optional)
    variant = next(variant for variant in variants_of(form.opcode, name) if variant.form is form)
    count = rng.choice((variant.least, len(variant.operands))) if optional else variant.least
    if form.opcode == "mov" and name == ("u32",) and rng.random() < 0.5:
        return Instruction("mov", name, (register("u32", rng), SpecialRegister("%tid", rng.choice("xyz"))))
    operands = tuple(
        operand(each, length, variant.space, rng)
        for each, length in list(zip(variant.operands, variant.lengths, strict=True))[:count]
    )
    guard = Guard(Register("%p1"), rng.random() < 0.5) if rng.random() < 0.1 else None
    return Instruction(form.opcode, name, operands, guard)


# What follows rules about values, or about other instructions around, which the table does not state.
_LEFT_OUT = frozenset(
    (
        "call", "brx", "bra", "ret", "exit", "trap", "brkpt", "istypep", "applypriority", "discard", "createpolicy",
        "alloca", "stackrestore", "elect", "pmevent", "bar", "barrier",
    )
)  # fmt: skip


def body(rng: random.Random, module: Module, count: int) -> list[Statement]:
    """Statements in which `count` instructions are drawn from all that the target of a module has.

    The kernel is that of `ptx.text`; around it, the module declares ``g`` and ``c`` in global and constant memory.
    """
    target = target_of(module.version, module.target)
    statements: list[Statement] = [
        Variable("local", "b8", "l", align=16, extents=(64,)),
        Variable("shared", "b8", "s", align=16, extents=(64,)),
    ]
    rows = [form for name, forms in OPCODES.items() if name not in _LEFT_OUT for form in forms]
    while len(statements) < count:
        form = rng.choice(rows)
        made = instruction(form, rng)
        parameter = "param::func" in made.modifiers or (form.opcode == "st" and "param" in made.modifiers)
        constant = form.opcode == "cvt" and any(isinstance(each, Integer | Float) for each in made.operands)
        if Effect.OPAQUE in form.effects or parameter or constant:
            continue
        if all(target.lacks(needs) is None for needs in variant_of(made).needs):
            statements.append(made)
    return [*statements, Label("L"), Instruction("ret")]

"""Operands against what the table asks for."""

from __future__ import annotations

from weft.ptx.check.declared import Declared, DeclaredRegister, kind_of
from weft.ptx.check.types import fits, takes_float, takes_integer
from weft.ptx.instructions.forms import OperandForm
from weft.ptx.names import Names
from weft.ptx.special_registers import special_register
from weft.ptx.syntax import (
    Address,
    Alias,
    BranchTargets,
    Element,
    Float,
    Function,
    Group,
    Integer,
    Label,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from weft.ptx.types import VALUE_TYPES, bits_of
from weft.ptx.writer import write_operand

_VECTOR_PARTS = frozenset("xyzwrgba")
_VIDEO_PARTS = frozenset(("b0", "b1", "b2", "b3", "h0", "h1", "h10", "h32", "b10", "b32"))
_KEEPS_SPACE = frozenset(("generic", ""))


def operand_problem(
    operand: Operand, form: OperandForm, length: int, space: str, names: Names[Declared]
) -> str | None:
    """Say what is wrong with an operand, or None.

    Parameters
    ----------
    operand
        It is of the kind that the form asks for.
    form
        What the table asks for, with the type that the instruction chose.
    length
        How long a vector has to be, 0 for any length.
    space
        The memory that an address is for.
    names
        The names in scope.
    """
    if isinstance(operand, Pair):
        return operand_problem(operand.first, form, length, space, names) or _value(
            operand.second, "pred", False, True, names
        )
    if isinstance(operand, Negated):
        if not form.negatable and form.kind != "any":
            return f"'{write_operand(operand)}' cannot be negated here"
        operand = operand.operand
    match form.kind:
        case "value":
            return _value(operand, form.type, form.loose, form.writes, names)
        case "vector":
            return _vector(operand, form, length, names)
        case "pack":
            return _pack(operand, form, names)
        case "address":
            return _address(operand, space, names)
        case "label":
            return _named(operand, Label, "label", names)
        case "targets":
            return _named(operand, BranchTargets, "list of branch targets", names)
        case "func":
            return _callee(operand, names)
        case _:
            return _parts(operand, names)


def _value(operand: Operand, wanted: str, loose: bool, written: bool, names: Names[Declared]) -> str | None:
    match operand:
        case Register():
            return _register(operand, wanted, loose, names)
        case Sink():
            return None if written else "'_' holds no value"
        case SpecialRegister():
            return "special registers cannot be written" if written else _special(operand, wanted, loose)
        case Integer():
            return (
                None
                if takes_integer(wanted)
                else f"an integer constant is no .{wanted}: write 0f3F800000 or 1.0"
            )
        case Float():
            return None if takes_float(wanted) else f"a floating constant is no .{wanted}"
        case Symbol() | Element():
            return _address_of(operand, wanted, loose, names)
        case _:
            return f"'{write_operand(operand)}' is no register or constant"


def _register(operand: Register, wanted: str, loose: bool, names: Names[Declared]) -> str | None:
    declared = names.find(operand.name)
    if not isinstance(declared, DeclaredRegister):
        return f"'{operand.name}' is not declared"
    if operand.component and (
        operand.component not in _VECTOR_PARTS or "xyzwrgba".index(operand.component) % 4 >= declared.vector
    ):
        return f"'{operand.name}' has no component '{operand.component}'"
    if declared.vector and not operand.component:
        return f"'{operand.name}' is a vector: name one of its components"
    if fits(wanted, declared.type, loose):
        return None
    wider = " or wider" if loose else ""
    return f"'{write_operand(operand)}' is of type .{declared.type}, and .{wanted}{wider} is needed here"


def _special(operand: SpecialRegister, wanted: str, loose: bool) -> str | None:
    facts = special_register(operand.name)
    assert facts is not None
    if operand.name == "WARP_SZ":
        return None if takes_integer(wanted) else f"WARP_SZ is an integer constant and no .{wanted}"
    if operand.component and not (facts.vector and operand.component in {"x", "y", "z", "w"}):
        return f"'{operand.name}' has no component '{operand.component}'"
    if facts.vector and not operand.component:
        return f"'{operand.name}' is a vector: name one of its components"
    kind, size = VALUE_TYPES[wanted]
    # Old programs read 16 bits of thread ids.
    if fits(wanted, facts.type, loose) or (facts.vector and kind != "f" and size == 16):
        return None
    return f"'{write_operand(operand)}' is of type .{facts.type}, and .{wanted} is needed here"


def _address_of(operand: Symbol | Element, wanted: str, loose: bool, names: Names[Declared]) -> str | None:
    declared = names.find(operand.name)
    if declared is None:
        return f"'{operand.name}' is not declared"
    kind, size = VALUE_TYPES[wanted]
    if kind in {"b", "u", "s"} and (size in {32, 64} or (loose and size >= 32)):
        return None
    return f"'{operand.name}' is an address, and .{wanted} is needed here"


def _vector(operand: Operand, form: OperandForm, length: int, names: Names[Declared]) -> str | None:
    if not isinstance(operand, Vector):
        declared = names.find(operand.name) if isinstance(operand, Register) else None
        if (
            isinstance(declared, DeclaredRegister)
            and declared.vector
            and declared.vector == (length or declared.vector)
        ):
            ok = fits(form.type, declared.type, form.loose)
            return (
                None
                if ok
                else f"'{write_operand(operand)}' is of type .{declared.type}, and not .{form.type}"
            )
        if isinstance(operand, SpecialRegister):
            return None
        if length:
            return f"a vector of {length} elements in braces is needed here"
        return _value(operand, form.type, form.loose, form.writes, names)
    if length and len(operand.elements) != length:
        return f"this vector has {len(operand.elements)} elements, and {length} are needed"
    for element in operand.elements:
        problem = _value(element, form.type, form.loose, form.writes, names)
        if problem is not None:
            return problem
    return None


def _pack(operand: Operand, form: OperandForm, names: Names[Declared]) -> str | None:
    if not isinstance(operand, Vector):
        return _value(operand, form.type, False, form.writes, names)
    count = len(operand.elements)
    size = bits_of(form.type)
    if count not in {2, 4} or size // count < 8:
        return f"a .{form.type} has no {count} parts"
    for element in operand.elements:
        problem = _value(element, f"b{size // count}", False, form.writes, names)
        if problem is not None:
            return problem
    return None


def _address(operand: Operand, space: str, names: Names[Declared]) -> str | None:
    if not isinstance(operand, Address):
        return "an address in brackets is needed here"
    base = operand.base
    if isinstance(base, Register):
        declared = names.find(base.name)
        if not isinstance(declared, DeclaredRegister):
            return f"'{base.name}' is not declared"
        kind, size = VALUE_TYPES[declared.type]
        if kind in {"f", "pred"} or size not in {32, 64}:
            return f"'{base.name}' is of type .{declared.type}, and an address is of 32 or 64 bits"
    elif isinstance(base, Symbol):
        declared = names.find(base.name)
        if declared is None:
            return f"'{base.name}' is not declared"
        if not isinstance(declared, Variable):
            return f"'{base.name}' is a {kind_of(declared)}, and no variable"
        given = declared.space.partition("::")[0].partition("[")[0]
        if space not in _KEEPS_SPACE and given != space and given not in {"tex"}:
            return f"'{base.name}' is in .{given}, and this instruction is for .{space}"
    for part in operand.more:
        problem = _parts(part, names)
        if problem is not None:
            return problem
    return None


def _named(operand: Operand, wanted: type, what: str, names: Names[Declared]) -> str | None:
    if not isinstance(operand, Symbol):
        return f"'{write_operand(operand)}' is no {what}"
    declared = names.find(operand.name)
    if declared is None:
        return f"there is no {what} '{operand.name}' here"
    return (
        None if isinstance(declared, wanted) else f"'{operand.name}' is a {kind_of(declared)}, and no {what}"
    )


def _callee(operand: Operand, names: Names[Declared]) -> str | None:
    if isinstance(operand, Register):
        return _register(operand, "u64", False, names) and _register(operand, "u32", False, names)
    if not isinstance(operand, Symbol):
        return f"'{write_operand(operand)}' is no function"
    declared = names.find(operand.name)
    if declared is None:
        return f"there is no function '{operand.name}'"
    return None if isinstance(declared, Function | Alias) else f"'{operand.name}' is a {kind_of(declared)}"


def _parts(operand: Operand, names: Names[Declared]) -> str | None:
    """Operands whose types the table does not say: every name has to be declared."""
    match operand:
        case Symbol(name) | Element(name):
            return None if names.find(name) is not None else f"'{name}' is not declared"
        case Register(name, component):
            if not isinstance(names.find(name), DeclaredRegister):
                return f"'{name}' is not declared"
            known = component in _VIDEO_PARTS or set(component) <= set("b0123h") or component in _VECTOR_PARTS
            return None if known else f"'{name}' has no component '{component}'"
        case Vector(parts) | Group(parts):
            return next((problem for part in parts if (problem := _parts(part, names))), None)
        case Pair(first, second):
            return _parts(first, names) or _parts(second, names)
        case Negated(inner):
            return _parts(inner, names)
        case Address():
            return _address(operand, "", names)
        case _:
            return None

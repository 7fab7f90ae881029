"""From `weft.ptx.syntax` to PTX text.

Reading the text gives an equal module again. Bodies have one statement a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft.ptx.syntax import (
    Address,
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Difference,
    Directive,
    Dwarf,
    Element,
    File,
    Float,
    Function,
    Group,
    Initializer,
    Instruction,
    Integer,
    Label,
    Loc,
    Module,
    Negated,
    Operand,
    Pair,
    Pragma,
    Register,
    RegisterDeclaration,
    RegisterNames,
    ScopeBegin,
    ScopeEnd,
    Section,
    SectionData,
    Setting,
    Sink,
    SpecialRegister,
    Statement,
    Symbol,
    Top,
    Variable,
    Vector,
)


def write_module(module: Module) -> str:
    """The text of a module."""
    lines = [f".version {module.version[0]}.{module.version[1]}", f".target {', '.join(module.target)}"]
    if module.address_size is not None:
        lines.append(f".address_size {module.address_size}")
    lines.append("")
    for item in module.body:
        lines.extend(_top(item))
    return "\n".join(lines) + "\n"


def write_function(function: Function) -> str:
    """The text of a function."""
    return "\n".join(_function(function)) + "\n"


def write_statement(statement: Statement) -> str:
    """The text of a statement, without indentation."""
    return _STATEMENTS[type(statement)](statement)


def write_operand(operand: Operand) -> str:
    """The text of an operand."""
    return _OPERANDS[type(operand)](operand)


def _list(operands: Iterable[Operand]) -> str:
    return ", ".join([_OPERANDS[type(operand)](operand) for operand in operands])


def _dotted(operand: Register | SpecialRegister) -> str:
    return f"{operand.name}.{operand.component}" if operand.component else operand.name


def _integer(operand: Integer) -> str:
    # 2**63 and more are unsigned anyway.
    return f"{operand.value}U" if operand.unsigned and operand.value < 1 << 63 else str(operand.value)


def _float(operand: Float) -> str:
    return f"0f{operand.pattern:08X}" if operand.width == 32 else f"0d{operand.pattern:016X}"


def _offset(offset: int) -> str:
    # ptxas takes no difference, but a sum with a negative number.
    return f"+{offset}" if offset else ""


def _symbol(operand: Symbol) -> str:
    text = f"{operand.name}{_offset(operand.offset)}"
    if operand.generic:
        text = f"generic({operand.name}){_offset(operand.offset)}"
    return f"{operand.mask:#x}({text})" if operand.mask else text


def _address(operand: Address) -> str:
    more = f", {_list(operand.more)}" if operand.more else ""
    return f"[{write_operand(operand.base)}{_offset(operand.offset)}{more}]{'.unified' if operand.unified else ''}"


# Dispatch on the exact class: each entry takes that class alone.
_OPERANDS: dict[type, Callable[[Any], str]] = {
    Register: _dotted,
    SpecialRegister: _dotted,
    Integer: _integer,
    Float: _float,
    Symbol: _symbol,
    Vector: lambda operand: f"{{{_list(operand.elements)}}}",
    Address: _address,
    Element: lambda operand: f"{operand.name}[{operand.index}]",
    Negated: lambda operand: f"{operand.sign}{write_operand(operand.operand)}",
    Sink: lambda operand: "_",
    Pair: lambda operand: f"{write_operand(operand.first)}|{write_operand(operand.second)}",
    Group: lambda operand: f"({_list(operand.elements)})",
}


def _instruction(statement: Instruction) -> str:
    text = ".".join((statement.opcode, *statement.modifiers))
    if statement.guard is not None:
        text = f"@{'!' if statement.guard.negated else ''}{_dotted(statement.guard.register)} {text}"
    return f"{text} {_list(statement.operands)};" if statement.operands else f"{text};"


def _names(names: RegisterNames) -> str:
    return names.name if names.count is None else f"{names.name}<{names.count}>"


def _registers(statement: RegisterDeclaration) -> str:
    vector = f".v{statement.vector} " if statement.vector else ""
    return f".reg {vector}.{statement.type} {', '.join(map(_names, statement.declared))};"


def _loc(statement: Loc) -> str:
    text = f".loc {statement.file} {statement.source_line} {statement.source_column}"
    if statement.function is not None:
        text += f", function_name {statement.function.name}{_offset(statement.function.offset)}"
    if statement.inlined_at is not None:
        text += f", inlined_at {' '.join(map(str, statement.inlined_at))}"
    return text


def _pragma(statement: Pragma) -> str:
    texts = ", ".join(f'"{text}"' for text in statement.texts)
    return f".pragma {texts};"


def _prototype(statement: CallPrototype) -> str:
    returns = f" {_parameters(statement.returns)}" if statement.returns else ""
    directives = "".join(f" {_directive(directive)}" for directive in statement.directives)
    return f"{statement.name}: .callprototype{returns} _ {_parameters(statement.parameters)}{directives};"


def _attributes(attributes: tuple[tuple[str, tuple[int, ...]], ...]) -> list[str]:
    if not attributes:
        return []
    texts = [
        f".{name}({', '.join(map(str, numbers))})" if numbers else f".{name}" for name, numbers in attributes
    ]
    return [f".attribute({', '.join(texts)})"]


def _declaration(variable: Variable) -> str:
    """A variable or parameter, without the semicolon."""
    parts = [f".{variable.linkage}"] if variable.linkage else []
    parts.append(f".{variable.space}")
    parts.extend(_attributes(variable.attributes))
    if variable.align:
        parts.append(f".align {variable.align}")
    if variable.vector:
        parts.append(f".v{variable.vector}")
    parts.append(f".{variable.type}")
    if variable.pointer is not None:
        parts.append(".ptr")
        if variable.pointer.space:
            parts.append(f".{variable.pointer.space}")
        if variable.pointer.align:
            parts.append(f".align {variable.pointer.align}")
    extents = "".join(f"[{'' if extent is None else extent}]" for extent in variable.extents)
    parts.append(_names(RegisterNames(variable.name, variable.count)) + extents)
    if variable.initializer is not None:
        parts.append(f"= {_initializer(variable.initializer)}")
    return " ".join(parts)


def _initializer(value: Initializer) -> str:
    if isinstance(value, tuple):
        return f"{{{', '.join(map(_initializer, value))}}}"
    if isinstance(value, Setting):
        return f"{value.name} = {write_operand(value.value)}"
    return _OPERANDS[type(value)](value)


def _parameters(parameters: tuple[Variable, ...]) -> str:
    return f"({', '.join(map(_declaration, parameters))})"


_STATEMENTS: dict[type, Callable[[Any], str]] = {
    Instruction: _instruction,
    Label: lambda statement: f"{statement.name}:",
    ScopeBegin: lambda statement: "{",
    ScopeEnd: lambda statement: "}",
    RegisterDeclaration: _registers,
    Variable: lambda statement: f"{_declaration(statement)};",
    Loc: _loc,
    Pragma: _pragma,
    BranchTargets: lambda s: f"{s.name}: .branchtargets {', '.join(map(_names, s.targets))};",
    CallTargets: lambda s: f"{s.name}: .calltargets {', '.join(s.targets)};",
    CallPrototype: _prototype,
}


def _directive(directive: Directive) -> str:
    if directive.name == "pragma":
        return _pragma(Pragma(tuple(map(str, directive.values))))
    if not directive.values:
        return f".{directive.name}"
    return f".{directive.name} {', '.join(map(str, directive.values))}"


def _function(function: Function) -> list[str]:
    head = [f".{function.linkage}"] if function.linkage else []
    head.append(".entry" if function.entry else ".func")
    head.extend(_attributes(function.attributes))
    if function.returns:
        head.append(_parameters(function.returns))
    parameters = [_declaration(parameter) for parameter in function.parameters]
    lines = [f"{' '.join(head)} {function.name}("]
    if parameters:
        lines.extend([f"\t{text}," for text in parameters[:-1]])
        lines.append(f"\t{parameters[-1]}")
    lines.append(")")
    lines.extend(_directive(directive) for directive in function.directives)
    if function.body is None:
        lines[-1] += ";"
        return lines
    lines.append("{")
    for statement in function.body:
        text = _STATEMENTS[type(statement)](statement)
        lines.append(text if type(statement) is Label else f"\t{text}")
    lines.append("}")
    return lines


def _top(item: Top) -> list[str]:
    if isinstance(item, Function):
        return [*_function(item), ""]
    if isinstance(item, File):
        stamp = f", {item.stamp[0]}, {item.stamp[1]}" if item.stamp else ""
        return [f'.file {item.number} "{item.name}"{stamp}']
    if isinstance(item, Alias):
        return [f".alias {item.name}, {item.aliasee};"]
    if isinstance(item, Dwarf):
        return [item.text]
    if isinstance(item, Section):
        return [f".section {item.name}", "{", *map(_section_item, item.body), "}"]
    return [_STATEMENTS[type(item)](item)]


def _section_item(item: SectionData | Label) -> str:
    if isinstance(item, Label):
        return f"{item.name}:"
    return f".{item.type} {', '.join(map(_datum, item.values))}"


def _datum(value: Integer | Symbol | Difference) -> str:
    if isinstance(value, Difference):
        return f"{value.minuend}-{value.subtrahend}"
    return _OPERANDS[type(value)](value)

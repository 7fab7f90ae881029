"""Bodies of functions: one statement after the other."""

from __future__ import annotations

from weft.ptx.reader.constants import read_integer
from weft.ptx.reader.cursor import Cursor, is_name
from weft.ptx.reader.declarations import (
    SPACES,
    read_names,
    read_parameters,
    read_registers,
    read_variables,
)
from weft.ptx.reader.operands import read_operands
from weft.ptx.syntax import (
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Guard,
    Instruction,
    Label,
    Loc,
    Pragma,
    Register,
    ScopeBegin,
    ScopeEnd,
    Statement,
    Symbol,
    Variable,
)


def read_body(c: Cursor, parameters: tuple[Variable, ...]) -> list[Statement]:
    """Read a body, from its opening to its closing brace."""
    begin = c.at
    c.expect("{", "before the body of a function")
    _open(c)
    for parameter in parameters:
        c.names.declare(parameter.name, parameter.space == "reg")
    statements: list[Statement] = []
    names: dict[str, tuple[str, tuple[str, ...]]] = {}
    outer = c.names.depth
    while True:
        token = c.tokens[c.at]
        if token == "}":
            closing = c.names.depth == outer
            if not closing:
                line, column = c.place()
                statements.append(ScopeEnd(line=line, column=column))
            _close(c)
            c.at += 1
            if closing:
                return statements
        elif not token:
            c.fail("this body does not end: a '}' is missing", at=begin)
        elif token[0] == "." or token == "{":
            statements.extend(_directive(c))
        else:
            statements.append(_instruction_or_label(c, names))


def _open(c: Cursor) -> None:
    c.names.open()
    c.operands.clear()


def _close(c: Cursor) -> None:
    c.names.close()
    c.operands.clear()


def _instruction_or_label(c: Cursor, names: dict[str, tuple[str, tuple[str, ...]]]) -> Statement:
    line, column = c.place()
    tokens = c.tokens
    if tokens[c.at + 1] == ":" and is_name(tokens[c.at]):
        return _label(c, line, column)
    guard = _guard(c) if tokens[c.at] == "@" else None
    token = tokens[c.at]
    name = names.get(token)
    if name is None:
        if not is_name(token):
            c.fail(f"expected an instruction, a label or a directive, found {c.found()}")
        opcode, *modifiers = token.split(".")
        name = names[token] = (opcode, tuple(modifiers))
    c.at += 1
    opcode, modifiers = name
    while tokens[c.at][:1] == ".":
        modifiers = (*modifiers, tokens[c.at][1:])
        c.at += 1
    return Instruction(opcode, modifiers, read_operands(c, ";"), guard, line=line, column=column)


def _guard(c: Cursor) -> Guard:
    c.at += 1
    negated = c.accept("!")
    begin = c.at
    register = c.resolve(c.identifier("a predicate"))
    if not isinstance(register, Register):
        c.fail(f"'{c.tokens[begin]}' is no register that is declared here", at=begin)
    return Guard(register, negated)


def _label(c: Cursor, line: int, column: int) -> Statement:
    name = c.take()
    c.at += 1
    if c.accept(".branchtargets"):
        targets = [read_names(c, "a label")]
        while c.accept(","):
            targets.append(read_names(c, "a label"))
        c.expect_end("behind the labels")
        return BranchTargets(name, tuple(targets), line=line, column=column)
    if c.accept(".calltargets"):
        functions = [c.identifier("a function")]
        while c.accept(","):
            functions.append(c.identifier("a function"))
        c.expect_end("behind the functions")
        return CallTargets(name, tuple(functions), line=line, column=column)
    if c.accept(".callprototype"):
        return _prototype(c, name, line, column)
    return Label(name, line=line, column=column)


def _prototype(c: Cursor, name: str, line: int, column: int) -> CallPrototype:
    returns: tuple[Variable, ...] = ()
    if c.token == "(":
        returns = read_parameters(c)
    c.expect("_", "for the name of a prototype")
    parameters = read_parameters(c) if c.token == "(" else ()
    directives: list[Directive] = []
    while c.token[:1] == ".":
        directive = c.take()[1:]
        values = (read_integer(c, f"the number of .{directive}"),) if c.token != ";" else ()
        directives.append(Directive(directive, values))
    c.expect_end("behind the prototype")
    return CallPrototype(name, returns, parameters, tuple(directives), line=line, column=column)


def _directive(c: Cursor) -> list[Statement]:
    line, column = c.place()
    token = c.token
    if token == "{":
        c.at += 1
        _open(c)
        return [ScopeBegin(line=line, column=column)]
    if token == ".reg":
        return [read_registers(c)]
    if token == ".loc":
        return [read_loc(c)]
    if token == ".pragma":
        return [read_pragma(c)]
    linkage = ""
    if token in {".extern", ".visible", ".weak", ".common"}:
        linkage = c.take()[1:]
    if c.token in SPACES:
        variables = read_variables(c, linkage)
        for variable in variables:
            declare_variable(c, variable)
        return list(variables)
    raise c.error(f"'{token}' is no directive that stands in a body")


def declare_variable(c: Cursor, variable: Variable) -> None:
    """Make a variable known in the innermost scope."""
    c.names.declare(variable.name, False, variable.count)
    c.operands.clear()


def read_pragma(c: Cursor) -> Pragma:
    """Read ``.pragma``."""
    line, column = c.place()
    c.expect(".pragma", "")
    texts = [c.string()]
    while c.accept(","):
        texts.append(c.string())
    c.expect_end("behind '.pragma'")
    return Pragma(tuple(texts), line=line, column=column)


def read_loc(c: Cursor) -> Loc:
    """Read ``.loc``, whose end is that of its numbers."""
    line, column = c.place()
    c.expect(".loc", "")
    numbers = (_plain(c), _plain(c), _plain(c))
    function: Symbol | None = None
    inlined: tuple[int, int, int] | None = None
    while c.accept(","):
        word = c.identifier("'function_name' or 'inlined_at'")
        if word == "function_name":
            name = c.identifier("the label of a name")
            offset = _plain(c) if c.accept("+") else 0
            function = Symbol(name, offset)
        elif word == "inlined_at":
            inlined = (_plain(c), _plain(c), _plain(c))
        else:
            c.fail(f"expected 'function_name' or 'inlined_at', found '{word}'", at=c.at - 1)
    return Loc(*numbers, function, inlined, line=line, column=column)


def _plain(c: Cursor) -> int:
    if not c.token.isdigit():
        c.fail(f"expected a number, found {c.found()}")
    return int(c.take())

"""Bodies: declarations, names, and each instruction against the table."""

from __future__ import annotations

from collections.abc import Iterator

from weft.diag.errors import PtxError
from weft.diag.source import SourceSpan
from weft.ptx.check.calls import call_problem
from weft.ptx.check.declared import Declared, DeclaredRegister, kind_of, labelled
from weft.ptx.check.operands import operand_problem
from weft.ptx.check.places import guard_span, name_span, operand_span
from weft.ptx.check.targets import Target
from weft.ptx.check.variables import variable_problem
from weft.ptx.instructions import Variant, variant_of
from weft.ptx.names import Names
from weft.ptx.source import Source
from weft.ptx.special_registers import special_register
from weft.ptx.syntax import (
    BranchTargets,
    CallTargets,
    Function,
    Instruction,
    Located,
    RegisterDeclaration,
    ScopeBegin,
    ScopeEnd,
    SpecialRegister,
    Statement,
    Variable,
)


class BodyCheck:
    """The check of one body.

    Parameters
    ----------
    function
        It has a body.
    names
        The names of the module; what the body declares is gone again behind `run`.
    target
        What the module is for.
    source
        The text, for places; None for a module that was made.
    """

    def __init__(
        self, function: Function, names: Names[Declared], target: Target, source: Source | None
    ) -> None:
        self.function = function
        self.names = names
        self.target = target
        self.source = source
        self.there: set[Variant] = set()

    def run(self) -> None:
        """Check everything.

        Raises
        ------
        PtxError
            At the first thing that is wrong.
        """
        body = self.function.body or []
        labels = iter(_labels_by_scope(body))
        self._open(next(labels))
        for parameter in (*self.function.returns, *self.function.parameters):
            if parameter.space == "reg":
                self._declare(parameter, parameter.name, DeclaredRegister(parameter.type, parameter.vector))
            else:
                self._declare(parameter, parameter.name, parameter, parameter.count)
        for statement in body:
            match statement:
                case Instruction():
                    self._instruction(statement)
                case ScopeBegin():
                    self._open(next(labels))
                case ScopeEnd():
                    self.names.close()
                case RegisterDeclaration():
                    self._registers(statement)
                case Variable():
                    self._variable(statement)
                case BranchTargets() | CallTargets():
                    self._targets(statement)
                case _:
                    pass
        self.names.close()

    def _open(self, labels: list[Statement]) -> None:
        self.names.open()
        for statement in labels:
            declared = labelled(statement)
            assert declared is not None
            self._declare(statement, declared.name, declared)

    def _declare(self, item: Located, name: str, meaning: Declared, count: int | None = None) -> None:
        if name == "_":
            return
        other = self.names.here(name) if count is None else None
        if other is not None or (count is not None and self.names.series_here(name)):
            what = kind_of(other or meaning)
            raise PtxError(
                f"'{name}' is declared twice",
                self._span(item),
                hint=f"the other one is a {what} of the same scope",
            )
        self.names.declare(name, meaning, count)

    def _registers(self, statement: RegisterDeclaration) -> None:
        meaning = DeclaredRegister(statement.type, statement.vector)
        for part in statement.declared:
            self._declare(statement, part.name, meaning, part.count)

    def _variable(self, statement: Variable) -> None:
        problem = variable_problem(statement, self.names)
        if problem is not None:
            raise PtxError(problem, self._span(statement))
        self._declare(statement, statement.name, statement, statement.count)

    def _targets(self, statement: BranchTargets | CallTargets) -> None:
        if isinstance(statement, BranchTargets):
            wanted = [name for part in statement.targets for name in part.names()]
        else:
            wanted = list(statement.targets)
        for name in wanted:
            if self.names.find(name) is None:
                raise PtxError(f"'{name}' is not declared", self._span(statement))

    def _instruction(self, statement: Instruction) -> None:
        try:
            variant = variant_of(statement)
        except PtxError as error:
            raise error.at(name_span(self.source, statement)) from None
        if variant not in self.there:
            self._available(statement, variant)
        guard = statement.guard
        if guard is not None:
            declared = self.names.find(guard.register.name)
            if not isinstance(declared, DeclaredRegister) or declared.type != "pred":
                raise PtxError(f"'{guard.register.name}' is no predicate", guard_span(self.source, statement))
        operands = zip(statement.operands, variant.operands, variant.lengths, strict=False)
        for number, (operand, form, length) in enumerate(operands):
            problem = operand_problem(operand, form, length, variant.space, self.names)
            if problem is not None:
                raise PtxError(problem, operand_span(self.source, statement, number))
            if isinstance(operand, SpecialRegister):
                self._special(statement, operand, number)
        if statement.opcode == "call":
            problem = call_problem(statement, self.names)
            if problem is not None:
                raise PtxError(problem, name_span(self.source, statement))

    def _available(self, statement: Instruction, variant: Variant) -> None:
        for needs in variant.needs:
            lacking = self.target.lacks(needs)
            if lacking is not None:
                raise PtxError(f"'{statement.name}' {lacking}", name_span(self.source, statement))
        self.there.add(variant)

    def _special(self, statement: Instruction, operand: SpecialRegister, number: int) -> None:
        facts = special_register(operand.name)
        if statement.opcode not in {"mov", "cvt"} and operand.name != "WARP_SZ":
            raise PtxError(
                f"'{statement.opcode}' does not read special registers",
                operand_span(self.source, statement, number),
                hint=f"bring {operand.name} into a register by mov",
            )
        if facts is not None and (self.target.version < facts.ptx or self.target.number < facts.sm):
            raise PtxError(
                f"'{operand.name}' needs PTX {facts.ptx[0]}.{facts.ptx[1]} and sm_{facts.sm}",
                operand_span(self.source, statement, number),
            )

    def _span(self, item: Located) -> SourceSpan | None:
        if self.source is None or not item.line:
            return None
        return self.source.span_at(item.line, item.column)


def _labels_by_scope(body: list[Statement]) -> Iterator[list[Statement]]:
    """For each scope, in the order in which they begin, what it declares that may be used before it stands there."""
    scopes: list[list[Statement]] = [[]]
    open_scopes = [scopes[0]]
    for statement in body:
        if isinstance(statement, ScopeBegin):
            scopes.append([])
            open_scopes.append(scopes[-1])
        elif isinstance(statement, ScopeEnd):
            open_scopes.pop()
        elif labelled(statement) is not None:
            open_scopes[-1].append(statement)
    return iter(scopes)

"""The check of a whole module."""

from __future__ import annotations

from weft.diag.errors import PtxError
from weft.diag.source import SourceSpan
from weft.ptx.check.body import BodyCheck
from weft.ptx.check.declared import Declared, kind_of
from weft.ptx.check.targets import target_of
from weft.ptx.check.variables import variable_problem
from weft.ptx.names import Names
from weft.ptx.syntax import Alias, Function, Module, Variable


def check_module(module: Module) -> None:
    """Check that a module keeps PTX's rules, as far as they do not depend on what values are at run time.

    Checked are: names (declared once, and before their use where PTX asks for it), types of operands, instructions and
    modifiers against version and target, calls against callees, initializers.

    Raises
    ------
    PtxError
        At the first thing that is wrong, with its place where the module was read from text.
    """
    try:
        target = target_of(module.version, module.target)
    except PtxError as error:
        raise error.at(_target_place(module)) from None
    names: Names[Declared] = Names()
    for item in module.body:
        try:
            _item(item, names)
        except PtxError as error:
            raise error.at(module.span(item)) from None
        if isinstance(item, Function) and item.body is not None:
            BodyCheck(item, names, target, module.source).run()


def _item(item: object, names: Names[Declared]) -> None:
    if isinstance(item, Variable):
        problem = variable_problem(item, names)
        if problem is not None:
            raise PtxError(problem)
        _declare(item.name, item, item.count, names)
    elif isinstance(item, Function):
        _declare(item.name, item, None, names)
    elif isinstance(item, Alias):
        if not isinstance(names.find(item.aliasee), Function):
            raise PtxError(f"there is no function '{item.aliasee}'")
        _declare(item.name, item, None, names)


def _declare(name: str, item: Variable | Function | Alias, count: int | None, names: Names[Declared]) -> None:
    other = names.find(name)
    if other is not None and not _again(other, item):
        raise PtxError(f"'{name}' is declared twice", hint=f"the other one is a {kind_of(other)}")
    if isinstance(other, Function) and other.body is not None:
        return
    names.declare(name, item, count)


def _again(other: Declared, item: Variable | Function | Alias) -> bool:
    """Whether a name may stand for both: a declaration, and what it declares."""
    if isinstance(other, Function):
        if isinstance(item, Alias):
            return other.body is None
        return (
            isinstance(item, Function)
            and other.entry == item.entry
            and (other.body is None or item.body is None)
            and len(other.parameters) == len(item.parameters)
            and len(other.returns) == len(item.returns)
        )
    if isinstance(other, Variable) and isinstance(item, Variable):
        loose = {"extern", "weak", "common"}
        return other.space == item.space and bool({other.linkage, item.linkage} & loose)
    return False


def _target_place(module: Module) -> SourceSpan | None:
    if module.source is None:
        return None
    offset = module.source.text.find(module.target[0])
    return module.source.span(offset, offset + len(module.target[0]))

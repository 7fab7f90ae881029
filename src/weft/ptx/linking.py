"""Several PTX modules as one, as ``nvlink`` joins what ``nvcc -rdc=true`` makes of the files of a program.

What one module declares ``.extern`` another one defines. Names without a linkage directive are a module's own, and get
others where modules share them. Of several ``.weak`` definitions the first stays, unless one of them is not weak.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from weft.diag.errors import PtxError
from weft.ptx.syntax import Alias, Function, Module, Top, Variable

_T = TypeVar("_T")


def link_modules(modules: Sequence[Module]) -> Module:
    """Join modules, of which there is at least one.

    Parameters
    ----------
    modules
        They are left as they are; their debug data is left out.

    Raises
    ------
    PtxError
        Two modules define the same name.
    """
    if len(modules) == 1:
        return modules[0]
    parts = list(_apart(modules))
    definitions = _definitions(parts)
    variables: list[Top] = []
    declarations: list[Top] = []
    bodies: list[Top] = []
    declared: set[str] = set()
    for part in parts:
        for item in part:
            if isinstance(item, Variable):
                if definitions.get(item.name, item) is item and item.name not in declared:
                    variables.append(item)
                    declared.add(item.name)
            elif isinstance(item, Function):
                if item.name not in declared:
                    defined = definitions.get(item.name, item)
                    declarations.append(_declaration(defined if isinstance(defined, Function) else item))
                    declared.add(item.name)
                if item.body is not None and definitions[item.name] is item:
                    bodies.append(item)
            elif isinstance(item, Alias):
                bodies.append(item)
    newest = max(modules, key=lambda module: module.version)
    return Module(newest.version, newest.target, newest.address_size, [*declarations, *variables, *bodies])


def _apart(modules: Sequence[Module]) -> Iterator[list[Variable | Function | Alias]]:
    """The items of each module, its own names such as no other module has."""
    taken: set[str] = set()
    for number, module in enumerate(modules):
        items = [i for i in module.body if isinstance(i, Variable | Function | Alias)]
        own = {i.name for i in items if not isinstance(i, Alias) and not i.linkage and not _is_entry(i)}
        renamed = {name: f"{name}$module{number}" for name in own & taken}
        taken.update(i.name for i in items)
        yield [_renamed(item, renamed) for item in items] if renamed else items


def _is_entry(item: Variable | Function) -> bool:
    return isinstance(item, Function) and item.entry


def _renamed(item: _T, names: Mapping[str, str]) -> _T:
    """The same, with other names wherever they stand."""
    if isinstance(item, tuple | list):
        return type(item)(_renamed(part, names) for part in item)
    if not dataclasses.is_dataclass(item) or isinstance(item, type):
        return item
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if field.name in ("name", "aliasee") and isinstance(value, str):
            fresh: Any = names.get(value, value)
        else:
            fresh = _renamed(value, names)
        if fresh is not value:
            changed[field.name] = fresh
    return dataclasses.replace(item, **changed) if changed else item


def _definitions(parts: Sequence[Sequence[Variable | Function | Alias]]) -> dict[str, Variable | Function]:
    found: dict[str, Variable | Function] = {}
    for part in parts:
        for item in part:
            if isinstance(item, Alias) or not _defines(item):
                continue
            known = found.get(item.name)
            if known is None or (
                known.linkage in ("weak", "common") and item.linkage not in ("weak", "common")
            ):
                found[item.name] = item
            elif item.linkage not in ("weak", "common") and known is not item:
                raise PtxError(f"two modules define {item.name}")
    return found


def _defines(item: Variable | Function) -> bool:
    if isinstance(item, Function):
        return item.body is not None
    return item.linkage != "extern"


def _declaration(function: Function) -> Function:
    return dataclasses.replace(function, body=None, directives=_declared_directives(function))


def _declared_directives(function: Function) -> tuple[Any, ...]:
    return tuple(d for d in function.directives if d.name in ("noreturn", "abi_preserve"))

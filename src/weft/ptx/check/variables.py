"""Variables: alignment, extent, initializer."""

from __future__ import annotations

from weft.ptx.check.declared import Declared, kind_of
from weft.ptx.names import Names
from weft.ptx.syntax import Float, Function, Initializer, Symbol, Variable
from weft.ptx.types import FUNDAMENTAL

_INITIALIZED = frozenset(("global", "const"))


def variable_problem(variable: Variable, names: Names[Declared]) -> str | None:
    """Say what is wrong with a declaration, or None."""
    if variable.align and variable.align & (variable.align - 1):
        return f"an alignment is a power of two, and {variable.align} is none"
    if variable.type == "pred":
        return "predicates are in registers only"
    if (
        variable.vector
        and variable.type in FUNDAMENTAL
        and FUNDAMENTAL[variable.type][1] * variable.vector > 256
    ):
        return f"a vector of {variable.vector} .{variable.type} is larger than 256 bits"
    if any(extent is None for extent in variable.extents[1:]):
        return "only the first extent of an array can be left out"
    value = variable.initializer
    if value is None:
        return None
    if (
        variable.space.partition("[")[0].partition("::")[0] not in _INITIALIZED
        and variable.type in FUNDAMENTAL
    ):
        return f"variables in .{variable.space} have no initial value"
    return _extent_problem(value, _extents(variable), variable) or _name_problem(value, names)


def _extents(variable: Variable) -> tuple[int | None, ...]:
    return (*variable.extents, *((variable.vector,) if variable.vector else ()))


def _extent_problem(value: Initializer, extents: tuple[int | None, ...], variable: Variable) -> str | None:
    if variable.type not in FUNDAMENTAL:
        return None
    if not isinstance(value, tuple):
        if isinstance(value, Float) and FUNDAMENTAL[variable.type][0] in {"u", "s"}:
            return f"a floating constant is no .{variable.type}"
        return None
    if not extents:
        return f"'{variable.name}' is no array, and has one value" if len(value) != 1 else None
    if extents[0] is not None and len(value) > _total(extents):
        return f"'{variable.name}' has {_total(extents)} elements, and {len(value)} values are given"
    inner = extents[1:]
    for part in value:
        problem = _extent_problem(part, inner, variable) if isinstance(part, tuple) else None
        if problem is not None:
            return problem
    return None


def _total(extents: tuple[int | None, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent or 1
    return total


def _name_problem(value: Initializer, names: Names[Declared]) -> str | None:
    if isinstance(value, tuple):
        return next((problem for part in value if (problem := _name_problem(part, names))), None)
    if not isinstance(value, Symbol):
        return None
    declared = names.find(value.name)
    if declared is None:
        return f"'{value.name}' is not declared"
    if not isinstance(declared, Variable | Function):
        return f"'{value.name}' is a {kind_of(declared)}, and has no address"
    return None

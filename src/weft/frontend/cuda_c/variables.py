"""Variables of a program that the host sets and reads: ``__device__``, ``__constant__``; their types for NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from weft.frontend.cuda_c.arguments import BFLOAT, NUMBERS, element_of, plain
from weft.frontend.python.types import bfloat16
from weft.ir import ConstInt, GlobalVariable, Module
from weft.ir.builder import address_space
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.metadata import MDNode, MDTuple, MDValue


class Variable(Struct, frozen=True):
    """A variable of a program.

    Parameters
    ----------
    symbol
        Its name in LLVM IR.
    type
        What NumPy makes a dtype of: a code, a list of base and extents, or a mapping of names, formats, offsets and
        itemsize.
    """

    symbol: str
    type: Any


def variables_of(module: Module) -> dict[str, Variable]:
    """The variables by their names in the source, with their namespaces and functions."""
    found: dict[str, Variable] = {}
    for variable in module.globals.values():
        if address_space(variable) == SHARED_SPACE or variable.is_constant:
            continue
        described = _described(variable)
        if described is not None and variable.initializer is not None:
            found[_name(described)] = Variable(
                variable.name, _type(described.node("type"), _bytes(variable, module))
            )
    return found


def _bytes(variable: GlobalVariable, module: Module) -> int:
    return module.layout.size(variable.value_type)


def _described(variable: GlobalVariable) -> MDNode | None:
    for key, node in variable.metadata:
        if key == "dbg" and isinstance(node, MDNode):
            return node.node("var") if node.kind == "DIGlobalVariableExpression" else node
    return None


def _name(node: MDNode) -> str:
    return "::".join((*scopes_of(node), node.text("name") or ""))


def scopes_of(node: MDNode) -> list[str]:
    """The names of the namespaces, classes and functions that something is declared in, from the outermost on."""
    names: list[str] = []
    scope = node.node("scope")
    while scope is not None:
        if scope.kind in ("DINamespace", "DICompositeType", "DISubprogram") and scope.text("name"):
            names.insert(0, scope.text("name") or "")
        scope = scope.node("scope")
    return names


def _type(type: MDNode | None, size: int) -> Any:
    """What NumPy makes a dtype of, of so many bytes where the type is not known further."""
    bare = plain(type)
    code, lanes = element_of(type)
    if bare is None:
        return f"V{size}"
    if bare.text("name") in NUMBERS or (code and lanes == 1 and bare.text("tag") != "DW_TAG_structure_type"):
        return code
    if bare.kind == "DICompositeType" and bare.text("tag") == "DW_TAG_array_type":
        extents = _extents(bare)
        count = 1
        for extent in extents:
            count *= extent
        return [_type(bare.node("baseType"), size // max(count, 1)), extents]
    if bare.kind == "DICompositeType" and bare.text("tag") == "DW_TAG_structure_type":
        return _record(bare)
    return f"V{size}"


def _record(type: MDNode) -> dict[str, Any]:
    listed = type.fields.get("elements")
    items = listed.items if isinstance(listed, MDTuple) else []
    members = [
        m
        for m in items
        if isinstance(m, MDNode)
        and m.text("tag") == "DW_TAG_member"
        and "DIFlagStaticMember" not in (m.text("flags") or "")
        and "DIFlagBitField" not in (m.text("flags") or "")
    ]
    return {
        "names": [m.text("name") or f"_{k}" for k, m in enumerate(members)],
        "formats": [_type(m.node("baseType"), m.number("size") // 8) for m in members],
        "offsets": [m.number("offset") // 8 for m in members],
        "itemsize": type.number("size") // 8,
    }


def _extents(array: MDNode) -> list[int]:
    listed = array.fields.get("elements")
    items = listed.items if isinstance(listed, MDTuple) else []
    return [_count(item) for item in items if isinstance(item, MDNode)]


def _count(subrange: MDNode) -> int:
    count = subrange.fields.get("count")
    if isinstance(count, MDValue) and isinstance(count.value, ConstInt):
        return count.value.value
    return int(count) if isinstance(count, str) and count.lstrip("-").isdigit() else 0


def dtype_source(type: Any) -> Any:
    """The argument of ``np.dtype`` for what `Variable.type` says, which has come through JSON."""
    if isinstance(type, Mapping):
        return {**type, "formats": [dtype_source(t) for t in type["formats"]]}
    if isinstance(type, list):
        base, extents = type
        return (dtype_source(base), tuple(extents))
    return bfloat16.dtype if type == BFLOAT else type

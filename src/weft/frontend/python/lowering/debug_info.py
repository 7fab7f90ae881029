"""Debug information: files, functions and variables as LLVM's metadata.

Explanations to the user start from it: each instruction knows its line and column, each variable its name.
"""

from __future__ import annotations

import os

from msgspec import Struct, field

from weft.frontend.python.types import Array, Enumeration, KernelType, Record, Scalar, Tiled
from weft.ir.builder import const_int
from weft.ir.function import Module
from weft.ir.metadata import DbgRecord, DebugLoc, MDNode, MDString, MDTuple, MDValue
from weft.ir.types import I32
from weft.ir.values import Value

_ENCODING = {
    "M": "DW_ATE_signed",
    "m": "DW_ATE_signed",
    "b": "DW_ATE_boolean",
    "i": "DW_ATE_signed",
    "u": "DW_ATE_unsigned",
    "f": "DW_ATE_float",
    "c": "DW_ATE_float",
}


class DebugInfo(Struct):
    """The metadata nodes of one module, each made once."""

    unit: MDNode | None = None
    files: dict[str, MDNode] = field(default_factory=dict)
    types: dict[str, MDNode] = field(default_factory=dict)
    expression: MDNode = field(default_factory=lambda: MDNode("DIExpression"))

    def file(self, path: str) -> MDNode:
        if path not in self.files:
            directory, name = os.path.split(path)
            names: dict[str, MDString] = {"filename": MDString(name), "directory": MDString(directory)}
            self.files[path] = MDNode("DIFile", {**names})
        return self.files[path]

    def subprogram(self, name: str, path: str, line: int) -> MDNode:
        """A function's DISubprogram."""
        file = self.file(path)
        if self.unit is None:
            self.unit = MDNode(
                "DICompileUnit",
                {
                    "language": "DW_LANG_Python",
                    "file": file,
                    "producer": MDString("weft"),
                    "isOptimized": "true",
                    "runtimeVersion": "0",
                    "emissionKind": "FullDebug",
                },
                distinct=True,
            )
        fields = {
            "name": MDString(name),
            "scope": file,
            "file": file,
            "line": str(line),
            "type": MDNode("DISubroutineType", {"types": MDTuple([None])}),
            "scopeLine": str(line),
            "spFlags": "DISPFlagDefinition",
            "unit": self.unit,
        }
        return MDNode("DISubprogram", fields, distinct=True)

    def type(self, type: KernelType) -> MDNode:
        """The DIType of a variable, of an item where it is a tuple: LLVM has numbers of no other type."""
        name = str(type)
        if name not in self.types:
            if isinstance(type, Scalar):
                fields = {"size": str(type.bits), "encoding": _ENCODING[type.kind]}
                node = MDNode("DIBasicType", {"name": MDString(name), **fields})
            elif isinstance(type, Enumeration):
                fields = {"size": "64", "encoding": "DW_ATE_signed"}
                node = MDNode("DIBasicType", {"name": MDString(name), **fields})
            elif isinstance(type, (Array, Record, Tiled)):
                fields = {
                    "tag": "DW_TAG_pointer_type",
                    "name": MDString(name),
                    "baseType": None,
                    "size": "64",
                }
                node = MDNode("DIDerivedType", fields)
            else:
                node = MDNode("DIBasicType", {"tag": "DW_TAG_unspecified_type", "name": MDString(name)})
            self.types[name] = node
        return self.types[name]

    def describe(
        self, kind: str, value: Value, name: str, type: KernelType, loc: DebugLoc, arg: int = 0
    ) -> DbgRecord:
        """A debug record (``declare`` or ``value``) that gives `value` the name of a variable."""
        assert loc.scope is not None
        fields: dict[str, MDNode | MDString | str | None] = {"name": MDString(name)}
        if arg:
            fields["arg"] = str(arg)
        fields |= {
            "scope": loc.scope,
            "file": loc.scope.node("file"),
            "line": str(loc.line),
            "type": self.type(type),
        }
        variable = MDNode("DILocalVariable", {**fields})
        return DbgRecord(kind, [value], [None, variable, self.expression], loc)

    def finish(self, module: Module) -> None:
        """Enter the compile unit and the version flag into the module."""
        if self.unit is None:
            return
        module.named_metadata["llvm.dbg.cu"] = [self.unit]
        flag = [MDValue(const_int(2, I32)), MDString("Debug Info Version"), MDValue(const_int(3, I32))]
        module.named_metadata["llvm.module.flags"] = [MDTuple([*flag])]

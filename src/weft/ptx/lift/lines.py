"""Source lines: what ``.loc`` says, else the lines of the PTX itself."""

from __future__ import annotations

from weft.frontend.python.lowering.debug_info import DebugInfo
from weft.ir import Function, Module
from weft.ir.metadata import DebugLoc, MDNode
from weft.ptx import syntax
from weft.ptx.lift.body import Body


class Lines:
    """Positions of instructions while a module is lifted.

    Parameters
    ----------
    text
        The PTX.
    """

    def __init__(self, text: syntax.Module) -> None:
        self._info = DebugInfo()
        self._files = {item.number: item.name for item in text.body if isinstance(item, syntax.File)}
        self._own = text.source.filename if text.source is not None else "<ptx>"
        self._subprogram: MDNode | None = None
        self._main = ""
        self._scopes: dict[str, MDNode] = {}
        self._has_lines = False

    def begin(self, source: syntax.Function, function: Function) -> MDNode:
        """Begin a function."""
        first = next((s for s in source.body or () if isinstance(s, syntax.Loc)), None)
        self._has_lines = first is not None
        self._main = self._files.get(first.file, self._own) if first is not None else self._own
        line = first.source_line if first is not None else source.line
        self._subprogram = self._info.subprogram(source.name, self._main, line)
        self._scopes = {self._main: self._subprogram}
        function.metadata.append(("dbg", self._subprogram))
        return self._subprogram

    def at(self, loc: syntax.Loc, body: Body) -> None:
        """What follows comes from a line of the source."""
        file = self._files.get(loc.file, self._own)
        if file not in self._scopes:
            fields = {"scope": self._subprogram, "file": self._info.file(file), "discriminator": "0"}
            self._scopes[file] = MDNode("DILexicalBlockFile", {**fields})
        body.builder.loc = DebugLoc(loc.source_line, loc.source_column, self._scopes[file])

    def instruction(self, i: syntax.Instruction, body: Body) -> None:
        """An instruction of a function without ``.loc`` has its own line."""
        if not self._has_lines:
            body.builder.loc = DebugLoc(i.line, i.column, self._subprogram)

    def finish(self, module: Module) -> None:
        """Enter what was collected into the module."""
        self._info.finish(module)

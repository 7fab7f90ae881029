"""LLVM text: values and blocks under LLVM's own names, lines of the text itself."""

from __future__ import annotations

from collections.abc import Iterator

from weft.frontend.python.lowering.debug_info import DebugInfo
from weft.ir import Function, Instruction, Module, Value
from weft.ir.metadata import DebugLoc, MDString, MDTuple, Metadata
from weft.ir.types import VOID
from weft.report.llvm_lines import definitions, instruction_lines
from weft.report.source_map import NamedValue, Place, SourceRange


class TextSource:
    """A `SourceMap` over the text that a module was read from.

    Parameters
    ----------
    text
        The text, in LLVM's layout of one line an instruction.
    file
        What it is called.
    """

    __slots__ = ("_definitions", "_file", "_known", "_lines", "_places")

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._lines = text.splitlines()
        self._definitions = definitions(text)
        self._places: dict[Instruction, int] = {}
        self._known: set[Function] = set()

    def place(self, instruction: Instruction) -> Place | None:
        function = instruction.function
        if function not in self._known:
            self._known.add(function)
            definition = self._definitions.get(function.name)
            if definition is not None:
                self._places |= instruction_lines(function, definition)
        line = self._places.get(instruction)
        return None if line is None else Place(self._file, line)

    def give_places(self, module: Module) -> None:
        """Give each instruction of the module the line of the text it stands on, by debug information.

        What is compiled of the module then says where it is from.
        """
        debug = DebugInfo()
        for function in module.definitions():
            definition = self._definitions.get(function.name)
            if definition is None:
                continue
            scope = debug.subprogram(function.name, self._file, definition.first)
            function.metadata = [m for m in function.metadata if m[0] != "dbg"]
            function.metadata.append(("dbg", scope))
            for instruction in function.instructions():
                place = self.place(instruction)
                instruction.loc = DebugLoc(place.line if place is not None else 0, 0, scope)
                for record in instruction.debug_records:
                    record.drop()
                instruction.debug_records = []
        flags = [f for f in module.named_metadata.pop("llvm.module.flags", []) if not _is_debug_version(f)]
        debug.finish(module)
        if flags:
            module.named_metadata.setdefault("llvm.module.flags", []).extend(flags)

    def named_values(self, function: Function) -> Iterator[NamedValue]:
        definition = self._definitions.get(function.name)
        first = definition.first if definition is not None else None
        for argument in function.args:
            yield NamedValue(argument.name, argument, first)
        for instruction in function.instructions():
            if instruction.type is not VOID:
                yield NamedValue(instruction.name, instruction, self.object_line(instruction))

    def value_name(self, value: Value) -> str | None:
        return f"%{value.name}" if value.name else None

    def object_name(self, site: Value) -> str:
        return site.name

    def object_line(self, site: Value) -> int | None:
        if not isinstance(site, Instruction):
            return None
        place = self.place(site)
        return None if place is None else place.line

    def ranges(self, function: Function) -> tuple[SourceRange, ...]:
        definition = self._definitions.get(function.name)
        if definition is None:
            return ()
        return (SourceRange(function.name, self._file, definition.first, definition.last),)

    def text(self, place: Place) -> str:
        return self._lines[place.line - 1] if place.line <= len(self._lines) else ""

    def signature(self, function: Function) -> str:
        return f"({', '.join(f'{a.type} %{a.name}' for a in function.args)})"


def _is_debug_version(flag: Metadata) -> bool:
    """Whether a module flag says which version debug information is of."""
    return isinstance(flag, MDTuple) and any(
        isinstance(i, MDString) and i.text == "Debug Info Version" for i in flag.items
    )

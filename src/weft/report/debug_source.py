"""Programs from source code: names and places by their debug information."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping

from weft.ir import Function, Instruction, Value
from weft.ir.metadata import DbgRecord, DebugLoc, MDNode
from weft.report.source_map import NamedValue, Place, SourceRange, block_line


class DebugSource:
    """A `SourceMap` by debug locations and records.

    Parameters
    ----------
    signatures
        The parameters of functions for people; LLVM's types where a function is not in it.
    """

    __slots__ = ("_signatures",)

    def __init__(self, signatures: Mapping[str, str]) -> None:
        self._signatures = signatures

    def place(self, instruction: Instruction) -> Place | None:
        loc = instruction.loc
        if loc is None or not loc.line:
            return None
        return Place(loc.filename or "", loc.line)

    def named_values(self, function: Function) -> Iterator[NamedValue]:
        # Promoted to registers, a variable is as many values as it has assignments and joins.
        for argument in function.args:
            yield from self._variables(argument, _declared_line(argument))
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.op == "alloca" or not instruction.records:
                    continue
                place = self.place(instruction)
                line = place.line if place is not None else block_line(self, block)
                yield from self._variables(instruction, line)

    def _variables(self, value: Value, line: int | None) -> Iterator[NamedValue]:
        seen: set[str] = set()
        for record in value.records:
            name = _variable_name(record)
            if name and name not in seen:
                seen.add(name)
                yield NamedValue(name, value, line)

    def value_name(self, value: Value) -> str | None:
        names = (_variable_name(record) for record in value.records)
        return next((name for name in names if name), None)

    def object_name(self, site: Value) -> str:
        return self.value_name(site) or site.name

    def object_line(self, site: Value) -> int | None:
        if isinstance(site, Instruction):
            place = self.place(site)
            if place is not None:
                return place.line
        return _declared_line(site)

    def ranges(self, function: Function) -> tuple[SourceRange, ...]:
        lines: dict[MDNode, tuple[int, int]] = {}
        own = function.subprogram
        if own is not None:
            lines[own] = (own.number("line"), own.number("line"))
        for instruction in function.instructions():
            _extend(lines, instruction.loc)
        return tuple(_range(node, first, last) for node, (first, last) in lines.items())

    def text(self, place: Place) -> str:
        return linecache.getline(place.file, place.line).rstrip("\r\n")

    def signature(self, function: Function) -> str:
        known = self._signatures.get(function.name)
        return known if known is not None else f"({', '.join(str(a.type) for a in function.args)})"


def _extend(lines: dict[MDNode, tuple[int, int]], loc: DebugLoc | None) -> None:
    """Let the lines of a location's function, and of those it was inlined into, cover the location."""
    while loc is not None:
        subprogram = loc.subprogram
        if subprogram is not None and loc.line:
            begin = subprogram.number("line") or loc.line
            first, last = lines.get(subprogram, (begin, begin))
            lines[subprogram] = (min(first, loc.line), max(last, loc.line))
        loc = loc.inlined_at


def _range(subprogram: MDNode, first: int, last: int) -> SourceRange:
    place = DebugLoc(first, 0, subprogram)
    return SourceRange(subprogram.text("name") or "", place.filename or "", first, last)


def _variable_name(record: DbgRecord) -> str | None:
    variable = record.variable
    return None if variable is None or record.kind == "label" else variable.text("name")


def _declared_line(value: Value) -> int | None:
    for record in value.records:
        variable = record.variable
        if variable is not None and variable.number("line"):
            return variable.number("line")
    return None

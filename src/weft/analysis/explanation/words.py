"""How explanations call values: by the user's names where debug records have them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.ir import Argument, Constant, ConstInt, Instruction, Value
from weft.ir.work_item_names import Meaning, meaning_of

_MEANINGS = {
    Meaning.LOCAL_ID: "index in its group",
    Meaning.GLOBAL_ID: "index in the grid",
    Meaning.LOCAL_LINEAR_ID: "linear index in its group",
    Meaning.GLOBAL_LINEAR_ID: "linear index in the grid",
    Meaning.GROUP_ID: "group index",
    Meaning.LANE_ID: "lane index",
}


def line_of(value: Value) -> int | None:
    """The source line of an instruction; of a φ, which may have none, where its variable is set."""
    if isinstance(value, Instruction):
        locations = (value.loc, *(record.loc for record in value.records))
        return next((loc.line for loc in locations if loc is not None and loc.line), None)
    return None


def variable_of(value: Value) -> str | None:
    """The user's variable that a value is, by its debug records."""
    for record in value.records:
        variable = record.variable
        if variable is not None and record.kind in ("value", "declare"):
            return variable.text("name")
    return None


class Words(Struct, frozen=True):
    """Names and lines of values; by default those of debug information.

    Parameters
    ----------
    line
        The source line of an instruction.
    name
        The user's name of a value.
    """

    line: Callable[[Value], int | None] = line_of
    name: Callable[[Value], str | None] = variable_of

    def describe(self, value: Value) -> str:
        """A value in words: its variable, or what kind of thing it is; and its line."""
        if isinstance(value, Constant):
            return str(value.value) if isinstance(value, ConstInt) else "a constant"
        line = self.line(value)
        where = f", line {line}" if line else ""
        if isinstance(value, Instruction) and value.is_terminator:
            block = value.block.name if value.block is not None else "?"
            return f"the branch at line {line}" if line else f"the branch of %{block}"
        query = _call_in_words(value) if isinstance(value, Instruction) and value.op == "call" else None
        name = self.name(value)
        if name is not None:
            return f"`{name}`{where}" if query is None else f"`{name}`, {query}{where}"
        if isinstance(value, Argument):
            return f"argument `{value.name or value.index}`"
        assert isinstance(value, Instruction)
        if query is not None:
            return query + where
        if line is None:
            return f"%{value.name}" if value.name else _kind(value)
        return f"{_kind(value)}{where}"


def _call_in_words(call: Instruction) -> str | None:
    row = meaning_of(call.callee_name or "")
    words = _MEANINGS.get(row.meaning) if row is not None else None
    if row is None or words is None:
        return None
    dimension = row.dimension
    if dimension is None and call.args and isinstance(call.args[0], ConstInt):
        dimension = call.args[0].value
    axis = f" along {'xyz'[dimension]}" if dimension is not None and 0 <= dimension < 3 else ""
    return f"the thread's {words}{axis}"


def _kind(value: Instruction) -> str:
    kinds = {
        "load": "what is loaded", "getelementptr": "the address", "icmp": "the comparison",
        "fcmp": "the comparison", "phi": "what arrives", "alloca": "the stack object",
        "call": f"the result of {value.callee_name or 'a call'}",
    }  # fmt: skip
    return kinds.get(value.op, "what is computed")

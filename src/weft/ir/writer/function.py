"""Writing functions, and single instructions for messages."""

from __future__ import annotations

from weft.diag.errors import VerifyError
from weft.ir.block import BasicBlock
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.metadata import DbgRecord, Metadata
from weft.ir.opcodes import OPCODES
from weft.ir.types import quote_name
from weft.ir.values import Value
from weft.ir.writer.instructions import FORMS, call_text, instruction_text
from weft.ir.writer.metadata import MetadataWriter
from weft.ir.writer.names import local_names
from weft.ir.writer.values import ValueWriter

_FORM_OF = {name: FORMS[opcode.form] for name, opcode in OPCODES.items() if opcode.form in FORMS}


class FunctionWriter:
    """Writes functions; without `metadata`, attachments and debug records are left out.

    `groups` collects attribute groups; without it attributes are written in place.
    """

    def __init__(
        self,
        values: ValueWriter,
        metadata: MetadataWriter | None = None,
        groups: dict[tuple[str, ...], str] | None = None,
        plain: bool = False,
    ) -> None:
        self.values = values
        self.metadata = metadata
        self.groups = groups
        self.plain = plain

    def write(self, function: Function) -> str:
        """The whole text of a definition or declaration."""
        self.values.locals = local_names(function)
        head = self.head(function)
        return head if function.is_declaration else head + self.body(function)

    def head(self, function: Function) -> str:
        """A declaration, or what is before the first block of a definition."""
        if function.is_declaration:
            return f"declare {self._attached(function, before=True)}{self._header(function)}\n"
        return f"define {self._header(function)}{self._attached(function, before=False)} {{\n"

    def body(self, function: Function) -> str:
        """A definition's blocks, and the bracket behind them."""
        lines: list[str] = []
        for number, block in enumerate(function.blocks):
            if number:
                lines.append("")
            self._write_block(block, lines)
        lines.append("}\n")
        return "\n".join(lines)

    def attributes(self, texts: tuple[str, ...]) -> str:
        """Function attributes in place, or the name of their group."""
        if not texts:
            return ""
        if self.groups is None:
            return " ".join(texts)
        name = self.groups.get(texts)
        if name is None:
            name = self.groups[texts] = f"#{len(self.groups)}"
        return name

    def _header(self, function: Function) -> str:
        """From the linkage up to the personality."""
        values, linkage = self.values, function.linkage
        words = [linkage.linkage, linkage.preemption, linkage.visibility, linkage.dll_storage]
        words += [
            function.calling_convention,
            *function.return_attributes,
            values.type(function.fn_type.result),
        ]
        words.append(f"{values.symbol(function)}({self._parameters(function)})")
        words += [linkage.unnamed_addr, self.attributes(function.attributes)]
        if linkage.section:
            words.append(f'section "{linkage.section}"')
        if linkage.comdat:
            same = linkage.comdat == function.name
            words.append("comdat" if same else f"comdat(${quote_name(linkage.comdat)})")
        if linkage.align:
            words.append(f"align {linkage.align}")
        if function.gc:
            words.append(f'gc "{function.gc}"')
        if function.personality is not None:
            words.append(f"personality {values.typed(function.personality)}")
        return " ".join([w for w in words if w])

    def _parameters(self, function: Function) -> str:
        values = self.values
        shown = [
            " ".join(
                (values.type(a.type), *a.attributes, *((values.locals[a],) if a in values.locals else ()))
            )
            for a in function.args
        ]
        return ", ".join([*shown, "..."] if function.fn_type.vararg else shown)

    def _attached(self, function: Function, before: bool) -> str:
        if self.metadata is None:
            return ""
        texts = [f"!{kind} {self.metadata.ref(node)}" for kind, node in function.metadata]
        return "".join([f"{t} " if before else f" {t}" for t in texts])

    def _write_block(self, block: BasicBlock, lines: list[str]) -> None:
        values = self.values
        label = values.locals[block][1:]
        if block.predicate is None:
            lines.append(f"{label}:")
        else:
            self._require_dialect(block.function, f"predicate of block %{label}")
            lines.append(f"{label}: predicate({values.value(block.predicate)})")
        metadata = self.metadata
        for instruction in block.instructions:
            if metadata is None:
                lines.append(f"  {self.instruction(instruction)}")
                continue
            lines += [f"    {self._record(r, metadata)}" for r in instruction.debug_records]
            line = f"  {self.instruction(instruction)}"
            if instruction.loc is not None:
                line += f", !dbg {metadata.location(instruction.loc)}"
            for kind, node in instruction.metadata.items():
                line += f", !{kind} {metadata.ref(node)}"
            lines.append(line)

    def instruction(self, i: Instruction) -> str:
        """One instruction without its attachments."""
        if i.op == "call":
            body = call_text(self.values, i, self.attributes(i.attrs.get("fn_attrs", ())))
        else:
            body = _FORM_OF[i.op](self.values, i)
        if self.plain and (i.total or i.guard is not None or i.shadow is not None):
            self._require_dialect(i.function, "total" if i.total else "guard or shadow", i)
        return instruction_text(self.values, i, body)

    def _require_dialect(self, function: Function | None, part: str, i: Instruction | None = None) -> None:
        if self.plain:
            where = f" in @{function.name}" if function is not None else ""
            shown = f": {instruction_text(self.values, i, _FORM_OF[i.op](self.values, i))}" if i else ""
            raise VerifyError(f"plain LLVM text cannot express the {part}{where}{shown}")

    def _record(self, record: DbgRecord, metadata: MetadataWriter) -> str:
        """A debug record; `DbgRecord.operands` has None where a value stands."""
        values = list(record.values)
        operands = record.operands
        later = sum(o is None for o in operands[1:])
        parts: list[str] = []
        for position, operand in enumerate(operands):
            if operand is not None:
                parts.append(metadata.ref(operand))
            elif position == 0 and record.is_arg_list:
                count = len(values) - later
                parts.append(f"!DIArgList({self.values.typed_list(values[:count])})")
                del values[:count]
            else:
                parts.append(self.values.typed(values.pop(0)))
        loc: Metadata | None = record.loc
        assert loc is not None, "a debug record has a location"
        return f"#dbg_{record.kind}({', '.join([*parts, metadata.ref(loc)])})"


def write_function(function: Function, plain: bool = False) -> str:
    """One function for people to read: attributes in place, without metadata and debug records."""
    return FunctionWriter(ValueWriter(), plain=plain).write(function)


def write_instruction(instruction: Instruction) -> str:
    """One instruction for a message, with names as in `write_function` when it stands in a function."""
    values = ValueWriter()
    block = instruction.block
    if block is not None and block.function is not None:
        values.locals = local_names(block.function)
    else:
        values.locals = _names_around(instruction)
    return FunctionWriter(values).instruction(instruction)


def _names_around(instruction: Instruction) -> dict[Value, str]:
    """Names as far as an instruction outside of any function shows them."""
    around = [instruction, *instruction.used_values(), *instruction.blocks]
    return {v: f"%{quote_name(v.name)}" if v.name else "%?" for v in around if v.tracks_users}

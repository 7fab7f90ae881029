"""Reading a function's body: blocks, debug records, and what stands around each instruction."""

from __future__ import annotations

from weft.ir.block import BasicBlock
from weft.ir.instruction import Instruction
from weft.ir.metadata import DbgRecord, DebugLoc, Metadata
from weft.ir.opcodes import OPCODES
from weft.ir.reader.blocks import check_all_defined, define_value, scope_of, start_block
from weft.ir.reader.calls import TAIL_MARKERS
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.instructions import FORMS, REFUSED
from weft.ir.reader.operands import read_typed_value, read_value
from weft.ir.types import I1, VOID
from weft.ir.values import Value

_READERS = {name: FORMS[opcode.form] for name, opcode in OPCODES.items() if opcode.form in FORMS}
_READERS.update(dict.fromkeys(TAIL_MARKERS, FORMS["call"]))
_RECORD_KINDS = frozenset(("value", "declare", "declare_value", "assign", "label"))


def read_body(c: Cursor) -> None:
    """The blocks between the braces; the cursor stands behind the opening one."""
    tokens = c.tokens
    function = scope_of(c).function
    block: BasicBlock | None = None
    records: list[DbgRecord] = []
    while True:
        start = c.pos
        token = tokens[start]
        first = token[0]
        if token[-1] == ":":
            if block is not None and not block.is_terminated:
                raise c.error(f"block %{block.name} has no terminator")
            c.pos = start + 1
            block = _read_label(c, token, start)
            continue
        if first == "#":
            records.append(_read_debug_record(c))
            continue
        if token == "}":
            break
        if block is None or block.is_terminated:
            block = start_block(c, None, start)
        instruction = _read_instruction(c, block)
        if records:
            instruction.debug_records = records
            records = []
    if block is None:
        raise c.error("a function's body has at least one block")
    if not block.is_terminated:
        raise c.error(f"block %{block.name} has no terminator")
    if records:
        raise c.error("debug records stand before an instruction")
    c.pos += 1
    check_all_defined(c)
    assert function.blocks


def _read_label(c: Cursor, token: str, start: int) -> BasicBlock:
    block = start_block(c, c.local_key(f"%{token[:-1]}"), start)
    if c.tokens[c.pos] == "predicate" and c.tokens[c.pos + 1] == "(":
        c.pos += 2
        block.set_predicate(read_value(c, I1))
        c.expect(")")
    return block


def _read_instruction(c: Cursor, block: BasicBlock) -> Instruction:
    tokens, start = c.tokens, c.pos
    token = tokens[start]
    key = None
    if token[0] == "%":
        key = c.local_key(token)
        if tokens[start + 1] != "=":
            c.pos += 1
            raise c.error(f"expected '=', found {c.shown()}")
        c.pos = start + 2
        token = tokens[start + 2]
    reader = _READERS.get(token)
    if reader is not None:
        c.pos += 1
        instruction = reader(c, token)
    else:
        instruction = _read_marked(c)
    if instruction.type is not VOID:
        define_value(c, key, instruction, start)
    elif key is not None:
        raise c.error(f"{instruction.op} has no result to be named {token}", at=start)
    instruction.block = block
    block.instructions.append(instruction)
    while tokens[c.pos] == ",":
        _read_attachment(c, instruction)
    return instruction


def _read_marked(c: Cursor) -> Instruction:
    """An instruction with P-LLVM's ``total`` or ``guard(...)`` before its opcode."""
    total = c.accept("total")
    guard: Value | None = None
    if c.accept("guard"):
        c.expect("(")
        guard = read_value(c, I1)
        c.expect(")")
    token = c.tokens[c.pos]
    reader = _READERS.get(token)
    if reader is None:
        if token in REFUSED:
            raise c.error(f"instruction {token} is not supported", REFUSED[token])
        raise c.error(f"{c.shown()} is no instruction that weft knows")
    c.pos += 1
    instruction = reader(c, token)
    instruction.total = total
    instruction.set_guard(guard)
    return instruction


def _read_attachment(c: Cursor, instruction: Instruction) -> None:
    """``, !kind node``."""
    c.pos += 1
    kind = c.tokens[c.pos]
    if kind == "!dbg":
        c.pos += 1
        instruction.loc = c.context.metadata.location(c)
        return
    if kind[0] != "!" or len(kind) < 2 or not kind[1].isalpha():
        raise c.error(f"expected a metadata attachment, found {c.shown()}")
    if kind[1:] in instruction.metadata:
        raise c.error(f"attachment {kind} is given twice")
    c.pos += 1
    instruction.set_metadata(kind[1:], c.context.metadata.read(c))


def _read_debug_record(c: Cursor) -> DbgRecord:
    """``#dbg_value(i32 %x, !4, !DIExpression(), !9)`` and its like; the location comes last."""
    start = c.pos
    kind = c.take().removeprefix("#dbg_")
    if kind not in _RECORD_KINDS:
        raise c.error(f"{c.tokens[start]!r} is no debug record that weft knows", at=start)
    c.expect("(")
    values: list[Value] = []
    operands: list[Metadata | None] = []
    is_arg_list = False
    tokens = c.tokens
    while True:
        last = c.pos
        token = tokens[last]
        if token == "!DIArgList" and not operands:
            is_arg_list = True
            values += _read_arg_list(c)
            operands.append(None)
        elif token[0] == "!":
            operands.append(c.context.metadata.read(c))
        else:
            values.append(read_typed_value(c))
            operands.append(None)
        if c.accept(")"):
            break
        c.expect(",")
    loc = operands.pop()
    if not isinstance(loc, DebugLoc):
        raise c.error("a debug record ends with a !DILocation", at=last)
    return DbgRecord(kind, values, operands, loc, is_arg_list)


def _read_arg_list(c: Cursor) -> list[Value]:
    c.pos += 1
    c.expect("(")
    values: list[Value] = []
    while not c.accept(")"):
        if values:
            c.expect(",")
        values.append(read_typed_value(c))
    return values

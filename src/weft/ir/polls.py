"""Polls: where compiled code looks whether it is interrupted. `weft.runtime.interrupts` says what the word is.

A poll loads the word and, if it is not zero, calls a function that returns when the code is to go on. To LLVM the
load is volatile, so each iteration of a loop has its own; the call touches no memory that the program knows of and
keeps all registers, so the code around it is optimized as if it were not there.
"""

from __future__ import annotations

from weft.ir.builder import Builder, const_int
from weft.ir.cfg_edit import split_block
from weft.ir.function import Function, GlobalVariable, Module
from weft.ir.instruction import Instruction
from weft.ir.types import I32, VOID, FunctionType
from weft.symbols import INTERRUPT_FLAG, POLL

_CONVENTION = "preserve_allcc"


def insert_poll(module: Module, at: Instruction) -> None:
    """Insert a poll before an instruction that is no φ; the block is cut there."""
    rest = split_block(at)
    before = rest.predecessors[0]
    function = rest.function
    assert function is not None
    look = function.add_block("interrupt", after=before)
    before.terminator.erase()
    builder = Builder(before)
    builder.loc = at.loc
    word = builder.load(I32, _flag(module), align=4, volatile=True)
    builder.cond_br(builder.icmp("eq", word, const_int(0, I32)), rest, look)
    builder.at_end(look)
    builder.call(_poll(module), ()).attrs["cc"] = _CONVENTION
    builder.br(rest)


def _flag(module: Module) -> GlobalVariable:
    return module.globals.get(INTERRUPT_FLAG) or module.add_global(GlobalVariable(INTERRUPT_FLAG, I32))


def _poll(module: Module) -> Function:
    attributes = ("cold", "nounwind", "memory(inaccessiblemem: readwrite)")
    function = module.declare(POLL, FunctionType(VOID, ()), attributes)
    function.calling_convention = _CONVENTION
    return function

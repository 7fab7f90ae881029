"""Programs that flush all numbers run in the mode of x86 processors that does so (`weft.analysis.flushed_numbers`).

The mode is set where the runtime enters the program, and what was set before is set again behind it. It flushes what is
computed. What is loaded is multiplied by one where the program flushes it. (``llvm.canonicalize`` is for that, but LLVM
22 fails at it for parts of registers.) LLVM is told of the mode, so that it does not take a difference that is 0 for
one of equal numbers.

Precondition: the program flushes all that it computes. Behind the last program that the interpreter runs.
"""

from __future__ import annotations

import re

from weft.analysis.flushed_numbers import flush_of, is_rounded
from weft.ir import Builder, ConstFloat, ConstInt, Function, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import InlineAsm, Poison
from weft.ir.types import F32, I32, PTR, VOID, FunctionType, VectorType
from weft.machine.targets import Isa

_MODE = 0x8040
"""Subnormal results are 0 (bit 15), and so are subnormal operands (bit 6)."""
_ATTRIBUTE = '"denormal-fp-math"="preserve-sign,preserve-sign"'
_WRITTEN = re.compile(r"^(define [^#\n]*) \{$", re.MULTILINE)


def has_flushing_mode(isa: Isa) -> bool:
    """Whether a processor has the mode, and weft sets it."""
    return isa.arch == "x86_64"


def leave_flushing_to_processor(module: Module) -> int:
    """Take out of a program what the mode does; of how many numbers."""
    return sum(_leave(function) for function in list(module.definitions()))


def _leave(function: Function) -> int:
    flushes = [(i, f) for i in function.instructions() if (f := flush_of(i)) is not None and f.is_whole]
    one: Value | None = None
    for i, flush in flushes:
        number = flush.number
        if not is_rounded(number):
            one = one or _one(function)
            build = Builder(before=i)
            build.loc = i.loc
            factor = one
            if isinstance(i.type, VectorType):
                first = build.insert_element(Poison(i.type), one, ConstInt(I32, 0))
                factor = build.shuffle(first, first, (0,) * i.type.count)
            number = build.binary("fmul", number, factor)
        i.replace_all_uses(number)
    if flushes:
        remove_dead_instructions(function)
    return len(flushes)


def _one(function: Function) -> Value:
    """A number that is 1 without LLVM knowing it, which would leave out products with it."""
    type = FunctionType(F32, (F32,))
    build = Builder(before=function.entry.instructions[0])
    return build.call(InlineAsm(PTR, 'asm "", "=x,0"'), (ConstFloat.of(F32, 1.0),), type)


def enter_flushing_mode(module: Module, entry: Function) -> None:
    """Set the mode around all that the runtime enters, and tell LLVM of it; the entry keeps its name."""
    for function in list(module.definitions()):
        function.attributes = (*function.attributes, _ATTRIBUTE)
    del module.functions[entry.name]
    outer = Function(entry.name, entry.fn_type, tuple(a.name for a in entry.args))
    outer.attributes = tuple(a for a in entry.attributes if a != _ATTRIBUTE)
    entry.name = module.unused_name(f"{entry.name}.flushing")
    entry.linkage.linkage = "internal"
    # LLVM moves arithmetic over what sets the mode, but not out of a function that is called between.
    entry.attributes = (*entry.attributes, "noinline")
    module.add_function(entry)
    module.add_function(outer)
    build = Builder(outer.add_block("entry"))
    before, mode = build.alloca(I32), build.alloca(I32)
    save, set_mode = (
        module.declare(f"llvm.x86.sse.{name}", FunctionType(VOID, (PTR,)), ("nounwind",))
        for name in ("stmxcsr", "ldmxcsr")
    )
    build.call(save, (before,))
    build.store(build.binary("or", build.load(I32, before), ConstInt(I32, _MODE)), mode)
    build.call(set_mode, (mode,))
    result = build.call(entry, tuple(outer.args))
    build.call(set_mode, (before,))
    build.ret(None if entry.fn_type.result == VOID else result)


def text_in_flushing_mode(text: str) -> str:
    """The text of such a module: what weft has written into it runs in the mode as well."""
    return _WRITTEN.sub(lambda found: f"{found[1]} {_ATTRIBUTE} {{", text)

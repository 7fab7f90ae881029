"""Mathematics in loops that are left to LLVM: its vectorizer is told which function does the same for a register.

Without it ``exp`` of a double stops the vectorizer, or is taken apart again behind it, a call of the C library for each
number. A call that may be approximate (``afn``, or ``fast``: what is compiled under `fastmath`) says which vector
functions there are, in the notation of LLVM's vector function ABI, and the module declares them. They are kept until
the vectorizer has seen them, by a list of what is in use; behind the pipeline `without_offers` takes that away.

Precondition: plain LLVM IR, before LLVM's pipeline. Postcondition: the same; calls of mathematics under `fastmath` name
the functions of a register of lanes, and of half a register, that `find_math` knows. Preserves what functions give, but
for the errors that vector mathematics may have.
"""

from __future__ import annotations

import re

from weft.codegen.widen.calls import FindMath
from weft.ir import Function, Instruction, Module
from weft.ir.types import FloatType, FunctionType, VectorType
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

_APPROXIMATE = frozenset(("fast", "afn"))
IN_USE = "llvm.compiler.used"
"""The variable that keeps functions."""

_LIST = re.compile(rf"^@{re.escape(IN_USE)} = [^\n]*\n", re.MULTILINE)


def offer_vector_math(module: Module, find_math: FindMath, isa: Isa) -> str:
    """Mark such calls; text that keeps the functions, which is to be added to the module's."""
    kept: set[str] = set()
    for function in list(module.definitions()):
        for call in _calls(function):
            kept |= _offer(module, call, find_math, isa)
    if not kept:
        return ""
    names = ", ".join(f'ptr @"{name}"' for name in sorted(kept))
    return f'@{IN_USE} = appending global [{len(kept)} x ptr] [{names}], section "llvm.metadata"\n'


def without_offers(text: str) -> str:
    """The text of a module without the list that keeps functions."""
    return _LIST.sub("", text)


def _calls(function: Function) -> list[Instruction]:
    return [
        i
        for i in function.instructions()
        if i.op == "call"
        and isinstance(i.type, FloatType)
        and not _APPROXIMATE.isdisjoint(i.flags)
        and math_function(i.callee_name or "") is not None
    ]


def _offer(module: Module, call: Instruction, find_math: FindMath, isa: Isa) -> set[str]:
    """Say which vector functions there are for a call; their names."""
    name, type = call.callee_name or "", call.type
    assert isinstance(type, FloatType)
    lanes, kept, offers = isa.lanes(type.bits), set[str](), list[str]()
    for count in (lanes, lanes // 2):
        found = find_math(name, count) if count > 1 else None
        if found is None or found.lanes != count:
            continue
        symbol, vector = found.approximate or found.symbol, VectorType(type, count)
        module.declare(symbol, FunctionType(vector, tuple(vector for _ in call.args)))
        offers.append(f"_ZGV_LLVM_N{count}{'v' * len(call.args)}_{name}({symbol})")
        kept.add(symbol)
    if offers:
        marked = f'"vector-function-abi-variant"="{",".join(offers)}"'
        call.attrs["fn_attrs"] = (*call.attrs.get("fn_attrs", ()), marked)
    return kept

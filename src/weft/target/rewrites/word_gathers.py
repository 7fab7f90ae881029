"""Gathers of bytes and of 16 bits at numbers behind one address, as gathers of the words that these are in.

No processor of x86's gathers less than 32 bits: LLVM loads one lane after the other. But an element at a multiple of
its size lies in one word of 32 bits at a multiple of four::

    at = getelementptr i8, base, (zext numbers)            over   = base & 3
    value = gather i8 at under mask              ==>       places = numbers + over
                                                           words  = gather i32 (base - over + 4 * (places >> 2))
                                                           value  = trunc (words >> (8 * (places & 3)))

Numbers count elements, so that none of them is too large.

Whoever may read an element may read the word, as far as processors know: pages begin at such words. What else is in it
is not looked at. LLVM and the interpreter would object to bytes beyond an array, so gathers become such when all passes
are done, and only those of arrays that are passed to the function (`weft.codegen.widen.gathers`): of these LLVM does
not know how long they are. Measured on Emerald Rapids, a table of 4096 bytes, 64 lanes: 0.55 of the time of loads one
by one.

Precondition: plain LLVM IR, at the end of all passes on it; numbers that are extended by zeros are below 2^31.
Postcondition: with registers for masks and gathers, no gather of 8 or 16 bits is at such numbers. Preserves what
functions give.
"""

from __future__ import annotations

import re

from weft.ir import Argument, Builder, Function, Instruction, Value
from weft.ir.types import I8, I16, I32, PTR, FunctionType, IntType, VectorType
from weft.machine.targets import Isa

_GATHER = "llvm.masked.gather."
_ALIGN = re.compile(r"align (\d+)")
_DECLARED = re.compile(r"^declare [^\n]*@weft\.words\.v(?P<lanes>\d+)i(?P<bits>8|16)\([^\n]*\n", re.MULTILINE)
_DEFINITION = """\
define internal <{n} x i{bits}> @weft.words.v{n}i{bits}(ptr %base, <{n} x i32> %numbers, <{n} x i1> %mask) \
alwaysinline nounwind {{
  %address = ptrtoint ptr %base to i64
  %over = and i64 %address, 3
  %back = sub i64 0, %over
  %first = getelementptr i8, ptr %base, i64 %back
  %elements = lshr i64 %over, {log}
  %short = trunc i64 %elements to i32
  %one = insertelement <{n} x i32> poison, i32 %short, i64 0
  %all = shufflevector <{n} x i32> %one, <{n} x i32> poison, <{n} x i32> zeroinitializer
  %places = add <{n} x i32> %numbers, %all
  %word = lshr <{n} x i32> %places, splat (i32 {in_word})
  %at = getelementptr i32, ptr %first, <{n} x i32> %word
  %words = call <{n} x i32> @llvm.masked.gather.v{n}i32.v{n}p0(<{n} x ptr> align 4 %at, <{n} x i1> %mask, \
<{n} x i32> poison)
  %within = and <{n} x i32> %places, splat (i32 {others})
  %down = shl <{n} x i32> %within, splat (i32 {log_bits})
  %moved = lshr <{n} x i32> %words, %down
  %value = trunc <{n} x i32> %moved to <{n} x i{bits}>
  ret <{n} x i{bits}> %value
}}
"""
_INTRINSIC = "declare <{n} x i32> @llvm.masked.gather.v{n}i32.v{n}p0(<{n} x ptr>, <{n} x i1>, <{n} x i32>)\n"


def gather_words(function: Function, isa: Isa) -> int:
    """Replace such gathers by calls of functions that `with_word_gathers` defines; how many."""
    if not isa.gathers_words:
        return 0
    found = 0
    for block in function.blocks:
        for call in list(block.instructions):
            if call.op == "call" and (call.callee_name or "").startswith(_GATHER):
                found += _replace(function, call)
    return found


def _replace(function: Function, call: Instruction) -> bool:
    type, (address, mask, _) = call.type, call.args
    if not isinstance(type, VectorType) or not isinstance(type.element, IntType):
        return False
    if type.element not in (I8, I16):
        return False
    place = _place(address, type.element)
    if place is None or 8 * _alignment(call) < type.element.bits:
        return False
    base, numbers = place
    name = f"weft.words.v{type.count}i{type.element.bits}"
    assert function.module is not None
    callee = function.module.declare(name, FunctionType(type, (base.type, numbers.type, mask.type)))
    built = Builder(before=call).call(callee, (base, numbers, mask))
    built.loc = call.loc
    call.replace_all_uses(built)
    call.erase()
    return True


def _place(address: Value, element: IntType) -> tuple[Value, Value] | None:
    """A parameter, and natural numbers that count elements behind it."""
    if not isinstance(address, Instruction) or address.op != "getelementptr" or len(address.operands) != 2:
        return None
    base, index = address.operands
    if base.type != PTR or address.attrs["source_type"] != element or not isinstance(base, Argument):
        return None
    if not isinstance(index, Instruction) or index.op != "zext":
        return None
    (numbers,) = index.operands
    is_short = isinstance(numbers.type, VectorType) and numbers.type.element == I32
    return (base, numbers) if is_short else None


def _alignment(call: Instruction) -> int:
    attributes = call.attrs.get("arg_attrs", ())
    for text in attributes[0] if attributes else ():
        if found := _ALIGN.fullmatch(text):
            return int(found[1])
    return 1


def with_word_gathers(text: str) -> str:
    """Return a module's text with definitions of the functions that `gather_words` calls."""
    if "@weft.words." not in text:
        return text
    needed: dict[str, None] = {}

    def defined(found: re.Match[str]) -> str:
        lanes, bits = int(found["lanes"]), int(found["bits"])
        needed[_INTRINSIC.format(n=lanes)] = None
        log = bits.bit_length() - I8.bits.bit_length()
        return _DEFINITION.format(
            n=lanes, bits=bits, log=log, in_word=2 - log, others=3 >> log, log_bits=3 + log
        )

    text = _DECLARED.sub(defined, text)
    return text + "".join(line for line in needed if line.partition("(")[0] not in text)

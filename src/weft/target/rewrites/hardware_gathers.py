"""Gathers at numbers of 32 bits behind one address as instructions of the processor, on cores where these are fast.

Without registers for masks such gathers are calls of functions that load one lane after the other
(`weft.target.rewrites.numbered_accesses`). Here these functions are defined otherwise::

    value = load base + 4 * (sext numbers[k]) for each k   ==>   vgatherdps base, 4 * numbers

Numbers that are extended by zeros have to be below 2^31; where that is not known the function stays as it is. LLVM's
own gather is taken apart where the processor is a level that has slow ones, too, and is one of numbers of 64 bits where
LLVM forgets where they come from.

Measured on Emerald Rapids, from the nearest cache: 8 floats take 4.2 cycles instead of 8.2, 8 doubles 6.0.

Bytes and numbers of 16 bits are parts of words, as with registers for masks (`weft.target.rewrites.word_gathers`)::

    over   = base & 3
    places = numbers + over
    value  = trunc ((gather of words at places >> 2 behind base - over) >> (8 * (places & 3)))

Postcondition: the same is loaded from the same places, in any order.
"""

from __future__ import annotations

import re

from msgspec import Struct

_FUNCTION = re.compile(
    r"^(?P<head>define internal [^\n]*@weft\.gather\.(?P<kind>[snw])(?P<unit>[1248])\.\d+\.v(?P<lanes>\d+)"
    r"(?P<type>f32|f64|i8|i16|i32|i64)\(ptr %base, [^\n]*\n)(?:(?!\}).*\n)*\}\n",
    re.MULTILINE,
)


class _Form(Struct, frozen=True):
    """The elements of a gather: how LLVM names their type, and the instruction, and how many bits they have."""

    type: str
    name: str
    bits: int


class _Gather(Struct, frozen=True):
    """Lines that gather, the name of what they give, and what they call, with its declaration."""

    lines: list[str]
    result: str
    called: str
    declaration: str


_FORMS = {
    "f32": _Form("float", "ps", 32),
    "i32": _Form("i32", "d", 32),
    "f64": _Form("double", "pd", 64),
    "i64": _Form("i64", "q", 64),
}
_REGISTER = 256
_FEWEST = 4
"""Lanes; two are as well two loads."""


def with_hardware_gathers(text: str) -> str:
    """Return a module's text in which functions that gather at numbers have the processor's instructions (AVX2)."""
    if "@weft.gather." not in text:
        return text
    before, needed = text, dict[str, str]()

    def defined(found: re.Match[str]) -> str:
        lanes, unit = int(found["lanes"]), int(found["unit"])
        form = _FORMS.get(found["type"]) or (_FORMS["i32"] if found["kind"] == "w" else None)
        if form is None or lanes < _FEWEST or lanes & (lanes - 1):
            return found[0]
        if found["type"] in _FORMS:
            made = _gather(lanes, form, unit, "%base", "%numbers")
            lines = [*made.lines, f"ret <{lanes} x {form.type}> {made.result}"]
        else:
            made = _gather(lanes, form, 4, "%first", "%word")
            lines = [*_places(lanes, unit), *made.lines, *_parts(lanes, unit, made.result)]
        needed[made.called] = made.declaration
        return "".join([found["head"], *(f"  {line}\n" for line in lines), "}\n"])

    text = _FUNCTION.sub(defined, text)
    return text + "".join(line for name, line in needed.items() if f"{name}(" not in before)


def _places(lanes: int, unit: int) -> list[str]:
    """Lines for the numbers of words, and where the first word is."""
    log, vector = unit.bit_length() - 1, f"<{lanes} x i32>"
    return [
        "%address = ptrtoint ptr %base to i64",
        "%over = and i64 %address, 3",
        "%back = sub i64 0, %over",
        "%first = getelementptr i8, ptr %base, i64 %back",
        f"%elements = lshr i64 %over, {log}",
        "%short = trunc i64 %elements to i32",
        f"%one = insertelement {vector} poison, i32 %short, i64 0",
        f"%all = shufflevector {vector} %one, {vector} poison, {vector} zeroinitializer",
        f"%places = add {vector} %numbers, %all",
        f"%word = lshr {vector} %places, splat (i32 {2 - log})",
    ]


def _parts(lanes: int, unit: int, words: str) -> list[str]:
    """Lines that take the elements out of the words."""
    log, vector, result = unit.bit_length() - 1, f"<{lanes} x i32>", f"<{lanes} x i{8 * unit}>"
    return [
        f"%within = and {vector} %places, splat (i32 {3 >> log})",
        f"%down = shl {vector} %within, splat (i32 {3 + log})",
        f"%moved = lshr {vector} {words}, %down",
        f"%value = trunc {vector} %moved to {result}",
        f"ret {result} %value",
    ]


def _gather(lanes: int, form: _Form, unit: int, base: str, all_numbers: str) -> _Gather:
    """Gather a register at a time."""
    each = min(lanes, _REGISTER // form.bits)
    vector = f"<{each} x {form.type}>"
    name = f"@llvm.x86.avx2.gather.d.{form.name}" + ".256" * (each * form.bits == _REGISTER)
    ones = f"splat (i{form.bits} -1)"
    mask = f"bitcast (<{each} x i{form.bits}> {ones} to {vector})" if form.type[0] != "i" else ones
    lines: list[str] = []
    parts: list[str] = []
    for first in range(0, lanes, each):
        numbers = all_numbers
        if each < lanes:
            numbers = f"%numbers.{first}"
            lines.append(
                f"{numbers} = {_shuffle(lanes, 'i32', all_numbers, 'poison', range(first, first + each))}"
            )
        lines.append(
            f"%part.{first} = call {vector} {name}({vector} poison, ptr {base}, <{each} x i32> {numbers}, "
            f"{vector} {mask}, i8 {unit})"
        )
        parts.append(f"%part.{first}")
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        parts = [f"{one}.{2 * each}" for one, _ in pairs]
        for both, (one, other) in zip(parts, pairs, strict=True):
            lines.append(f"{both} = {_shuffle(each, form.type, one, other, range(2 * each))}")
        each *= 2
    declared = (
        f"declare {vector} {name}({vector}, ptr, {vector.replace(form.type, 'i32')}, {vector}, i8 immarg)\n"
    )
    return _Gather(lines, parts[0], name, declared)


def _shuffle(count: int, type: str, one: str, other: str, places: range) -> str:
    chosen = ", ".join(f"i32 {place}" for place in places)
    vector = f"<{count} x {type}>"
    return f"shufflevector {vector} {one}, {vector} {other}, <{len(places)} x i32> <{chosen}>"

"""``print`` by the ``vprintf`` of the device runtime, which takes a format and a buffer of values as weft's own does.

Floats are written with 17 digits, which tell them apart: C has no shortest form. Truth values are words.
"""

from __future__ import annotations

from weft.diag.errors import UnsupportedError
from weft.ir import ConstBytes, GlobalVariable, Instruction, Module, Value
from weft.ir.builder import Builder, const_int
from weft.ir.locations import span_of
from weft.ir.types import I8, I32, I64, PTR, ArrayType, FunctionType

_CONVERSIONS = {"i": "%lld", "u": "%llu", "f": "%.17g", "b": "%s", "s": "%s"}
_SLOT = 8


def lower_printing(module: Module) -> None:
    """Replace the calls of ``weft.print`` in `module`.

    Precondition: formats are constants. Postcondition: what is printed is printed by ``vprintf``.

    Raises
    ------
    UnsupportedError
        A format is not one of ``print``.
    """
    texts: dict[bytes, GlobalVariable] = {}
    for function in list(module.definitions()):
        for call in [i for i in function.instructions() if i.callee_name == "weft.print"]:
            _lower(module, call, texts)


def _lower(module: Module, call: Instruction, texts: dict[bytes, GlobalVariable]) -> None:
    letters = _letters(call)
    builder = Builder(before=call)
    builder.loc = call.loc
    slots = call.args[1]
    for number, letter in enumerate(letters):
        if letter.lower() != "b":
            continue
        place = builder.gep(I64, slots, (const_int(number),), ("inbounds",))
        is_true = builder.icmp("ne", builder.load(I64, place, _SLOT), const_int(0))
        word = builder.select(is_true, _text(module, "True", texts), _text(module, "False", texts))
        builder.store(word, place, _SLOT)
    pieces = [
        (" " if number and letter.islower() else "") + _CONVERSIONS[letter.lower()]
        for number, letter in enumerate(letters)
    ]
    vprintf = module.declare("vprintf", FunctionType(I32, (PTR, PTR)), ("nounwind",))
    builder.call(vprintf, (_text(module, "".join(pieces) + "\n", texts), slots))
    call.erase()


def _letters(call: Instruction) -> str:
    value: Value = call.args[0]
    data = value.initializer if isinstance(value, GlobalVariable) else None
    text = data.data.rstrip(b"\0").decode() if isinstance(data, ConstBytes) else ""
    if not set(text.lower()) <= set(_CONVERSIONS):
        raise UnsupportedError("printf() with a format of C is not supported on a GPU", span_of(call))
    return text


def _text(module: Module, text: str, texts: dict[bytes, GlobalVariable]) -> GlobalVariable:
    data = text.encode() + b"\0"
    if data not in texts:
        type = ArrayType(I8, len(data))
        made = GlobalVariable(module.unused_name("printed"), type, ConstBytes(type, data), is_constant=True)
        made.linkage.linkage = "private"
        made.linkage.align = 1
        texts[data] = module.add_global(made)
    return texts[data]

"""Gathers and scatters at numbers behind one address are accesses at numbers, where processors have no masks for them.

LLVM takes such a gather apart into loads, but makes a vector of 64-bit addresses first, and takes each out of it. Here
it is taken apart with its numbers of 32 bits, which an instruction adds to the base as it loads, and so are scatters::

    at = getelementptr i32, base, (zext numbers)           for each lane k:
    value = gather at                               ==>        load base + 4 * zext (numbers[k])

Measured on Zen 3, 8 floats of the nearest cache: 3.6 ns instead of 5.5, or 4.4 where numbers are extended by sign. The
processor's own gather takes 5.6 ns. Addresses a step apart (`weft.codegen.widen.strided`) are made of that one number::

    at = getelementptr i8, base, (step * <0, 1, ...>)      load base + k * step

Of scatters to one place that of the last lane stays, as LLVM has it.

Precondition: plain LLVM IR, at the end of all passes on it. Postcondition: where the processor has no registers for
masks, no gather or scatter of all lanes is at such addresses. Preserves what functions give.
"""

from __future__ import annotations

import re
from typing import Final

from weft.ir import Argument, Builder, Function, Instruction, Value
from weft.ir.constants import TRUE, ConstSplat
from weft.ir.lane_steps import steps_of
from weft.ir.types import I32, FunctionType, IntType, PointerType, Type, VectorType
from weft.machine.targets import Isa

_GATHER, _SCATTER = "llvm.masked.gather.", "llvm.masked.scatter."
_STEP = "step"
_ALIGN = re.compile(r"align (\d+)")
_TYPES: Final = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
_DECLARED = re.compile(
    r"^declare [^\n]*@weft\.(?P<access>gather|scatter)\.(?P<kind>[usnw]\d+|step)(?:\.space(?P<space>\d+))?"
    r"\.(?P<align>\d+)\.v(?P<lanes>\d+)(?P<type>\w+)\([^\n]*\n",
    re.MULTILINE,
)


def number_accesses(function: Function, isa: Isa) -> int:
    """Replace such accesses by calls of functions that `with_numbered_accesses` defines; how many."""
    if isa.mask_registers:
        return 0
    found = 0
    for block in function.blocks:
        for call in list(block.instructions):
            if call.op != "call":
                continue
            name = call.callee_name or ""
            if name.startswith(_GATHER):
                address, mask, _ = call.args
                found += _replace(function, call, "gather", call.type, address, mask)
            elif name.startswith(_SCATTER):
                data, address, mask = call.args
                found += _replace(function, call, "scatter", data.type, address, mask)
    return found


def _replace(
    function: Function, call: Instruction, access: str, type: Type, address: Value, mask: Value
) -> bool:
    place = _place(address)
    assert isinstance(type, VectorType)
    if place is None or not _has_all_lanes(mask):
        return False
    base, numbers, kind = place
    align = _alignment(call, call.args.index(address))
    if access == "gather" and kind[0] == "n" and _lies_in_words(function, base, type, kind, align):
        kind = f"w{kind[1:]}"
    element = _TYPES.get(str(type.element), str(type.element))
    name = f"weft.{access}.{kind}.{align}.v{type.count}{element}"
    arguments = [base, numbers] if access == "gather" else [base, numbers, call.args[0]]
    assert function.module is not None
    callee = function.module.declare(name, FunctionType(call.type, tuple(a.type for a in arguments)))
    built = Builder(before=call).call(callee, arguments)
    built.loc = call.loc
    for kind, node in call.metadata.items():
        built.set_metadata(kind, node)
    call.replace_all_uses(built)
    call.erase()
    return True


def _place(address: Value) -> tuple[Value, Value, str] | None:
    """One address, what is behind it, and how it is named: a step, or numbers of 32 bits.

    Numbers are extended by sign or by zeros, and count for so many bytes.
    """
    if (steps := steps_of(address)) is not None:
        return steps.first, steps.step, _STEP + _space(steps.first)
    if not isinstance(address, Instruction) or address.op != "getelementptr" or len(address.operands) != 2:
        return None
    base, index = address.operands
    unit = address.attrs["source_type"]
    if base.type.is_vector or not isinstance(unit, IntType) or unit.bits not in (8, 16, 32, 64):
        return None
    extended = "s"
    if isinstance(index, Instruction) and index.op == "zext":
        (index,), extended = index.operands, "n" if "nneg" in index.flags else "u"
    if not isinstance(index.type, VectorType) or index.type.element != I32:
        return None
    return base, index, f"{extended}{unit.bits // 8}{_space(base)}"


def _lies_in_words(function: Function, base: Value, type: VectorType, kind: str, align: int) -> bool:
    """Whether elements lie in words that may be loaded as such: words that were stored to in part are waited for."""
    bits = type.element.bits if isinstance(type.element, IntType) else 32
    if (
        bits not in (8, 16)
        or kind[1:] != str(bits // 8)
        or 8 * align < bits
        or not isinstance(base, Argument)
    ):
        return False
    return not any(i.op == "store" and _begins_at(i.pointer) is base for i in function.instructions())


def _begins_at(pointer: Value) -> Value:
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        pointer = pointer.operands[0]
    return pointer


def _space(base: Value) -> str:
    """How the space of addresses that is not the usual one is named."""
    assert isinstance(base.type, PointerType)
    return f".space{base.type.space}" if base.type.space else ""


def _has_all_lanes(mask: Value) -> bool:
    return isinstance(mask, ConstSplat) and mask.element == TRUE


def _alignment(call: Instruction, argument: int) -> int:
    attributes = call.attrs.get("arg_attrs", ())
    for text in attributes[argument] if argument < len(attributes) else ():
        if found := _ALIGN.fullmatch(text):
            return int(found[1])
    return 1


def with_numbered_accesses(text: str) -> str:
    """Return a module's text with definitions of the functions that `number_accesses` calls."""
    if "@weft.gather." not in text and "@weft.scatter." not in text:
        return text
    return _DECLARED.sub(_definition, text)


def _definition(found: re.Match[str]) -> str:
    lanes, kind, align = int(found["lanes"]), found["kind"], found["align"]
    type = {short: name for name, short in _TYPES.items()}.get(found["type"], found["type"])
    space = f".space{found['space']}" if found["space"] else ""
    name = f"{kind}{space}.{align}.v{lanes}{found['type']}"
    is_load, vector = found["access"] == "gather", f"<{lanes} x {type}>"
    head = f"{vector} @weft.gather.{name}(" if is_load else f"void @weft.scatter.{name}("
    pointer = f"ptr addrspace({found['space']})" if space else "ptr"
    places = "i64 %step" if kind == _STEP else f"<{lanes} x i32> %numbers"
    data = "" if is_load else f", {vector} %data"
    lines = [f"define internal {head}{pointer} %base, {places}{data}) alwaysinline nounwind {{"]
    before = "poison"
    for k in range(lanes):
        lines += _address(kind, pointer, lanes, k)
        if is_load:
            lines += [
                f"  %value.{k} = load {type}, {pointer} %at.{k}, align {align}",
                f"  %data.{k} = insertelement {vector} {before}, {type} %value.{k}, i64 {k}",
            ]
            before = f"%data.{k}"
        else:
            lines += [
                f"  %value.{k} = extractelement {vector} %data, i64 {k}",
                f"  store {type} %value.{k}, {pointer} %at.{k}, align {align}",
            ]
    return "\n".join([*lines, f"  ret {vector} {before}" if is_load else "  ret void", "}", ""])


def _address(kind: str, pointer: str, lanes: int, k: int) -> list[str]:
    """Lines for the address of a lane."""
    if kind == _STEP:
        return [
            f"  %behind.{k} = mul i64 %step, {k}",
            f"  %at.{k} = getelementptr i8, {pointer} %base, i64 %behind.{k}",
        ]
    extension = "sext" if kind[0] == "s" else "zext"
    return [
        f"  %number.{k} = extractelement <{lanes} x i32> %numbers, i64 {k}",
        f"  %wide.{k} = {extension} i32 %number.{k} to i64",
        f"  %at.{k} = getelementptr i{8 * int(kind[1:])}, {pointer} %base, i64 %wide.{k}",
    ]

"""What instructions of PTX become on a GPU, for programs that were lifted from it.

An instruction of PTX is several of P-LLVM; the last of these stands for it, and the others are free. Accesses to memory
stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.ir import BasicBlock, Function, Instruction, Module
from weft.machine.gpu_devices import Unit
from weft.ptx import syntax
from weft.simt.weights import FREE, Weight

_MEMORY = ("load", "store", "atomicrmw", "cmpxchg")
_CONTROL = ("bra", "brx", "ret", "exit", "call", "trap")
_SPECIAL = ("sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh")
_FREE = ("cvta", "isspacep", "pragma")
_PLAIN = Weight(Unit.ALU, 1)

Place = tuple[int, int]
"""Line and column of an instruction in the text."""


def lifted_weights(module: Module, text: syntax.Module) -> dict[Instruction, Weight]:
    """What each instruction of a lifted module stands for.

    Parameters
    ----------
    module
        P-LLVM whose source positions are those of the instructions in `text`.
    text
        The PTX, without ``.loc``.
    """
    places = {(i.line, i.column): i for function in text.functions() for i in _instructions(function)}
    found: dict[Instruction, Weight] = {}
    for function in module.definitions():
        for block in function.blocks:
            found |= _of_block(function, block, places)
    return found


def _instructions(function: syntax.Function) -> Iterator[syntax.Instruction]:
    return (s for s in function.body or () if isinstance(s, syntax.Instruction))


def _of_block(
    function: Function, block: BasicBlock, places: Mapping[Place, syntax.Instruction]
) -> dict[Instruction, Weight]:
    found = dict.fromkeys(block.instructions, FREE)
    last: dict[Place, Instruction] = {}
    settled: set[Place] = set()
    for instruction in block.instructions:
        place = (instruction.loc.line, instruction.loc.column) if instruction.loc is not None else (0, 0)
        source = places.get(place)
        if source is None or instruction.op in ("phi", "alloca"):
            continue
        if instruction.op in _MEMORY:
            if "param" not in source.modifiers:
                found[instruction] = Weight(Unit.MEMORY, 0 if place in settled else 1)
            settled.add(place)
        elif source.opcode in _CONTROL or not instruction.is_terminator:
            last[place] = instruction
    for place, instruction in last.items():
        if place not in settled:
            found[instruction] = weight_of_ptx(places[place])
    return found


def weight_of_ptx(i: syntax.Instruction) -> Weight:
    """What one instruction of PTX becomes."""
    if i.opcode in _CONTROL:
        return Weight(Unit.CONTROL, 1)
    if i.opcode in _FREE:
        return FREE
    if i.opcode == "shfl":
        return Weight(Unit.MEMORY, 1)
    type = next((m for m in reversed(i.modifiers) if m[:1] in "bsuf" and m[1:].isdigit()), "b32")
    double, is_float, words = type == "f64", type.startswith("f"), 2 if type.endswith("64") else 1
    if i.opcode in _SPECIAL:
        if "approx" in i.modifiers:
            return Weight(Unit.SPECIAL, 1)
        return Weight(Unit.DOUBLE, 10, 10, 1) if double else Weight(Unit.FLOAT, 6, 6, 1)
    if i.opcode in ("div", "rem"):
        return _division(i, is_float, double, words)
    if i.opcode == "cvt":
        types = [m for m in i.modifiers if m[:1] in "suf" and m[1:].isdigit()]
        if "f64" in types:
            return Weight(Unit.DOUBLE, 1)
        return Weight(Unit.CONVERT, 1) if any(m.startswith("f") for m in types) else _PLAIN
    if is_float and i.opcode != "mov":
        return Weight(Unit.DOUBLE if double else Unit.FLOAT, 1)
    if i.opcode in ("mul", "mad") and "wide" not in i.modifiers:
        return Weight(Unit.ALU, words * words, words)
    return Weight(Unit.ALU, words, words)


def _division(i: syntax.Instruction, is_float: bool, double: bool, words: int) -> Weight:
    if not is_float:
        return Weight(Unit.ALU, 20 * words * words, 20 * words)
    if double:
        return Weight(Unit.DOUBLE, 12, 12, 1)
    short = "approx" in i.modifiers or "full" in i.modifiers
    return Weight(Unit.FLOAT, 2 if short else 8, 2 if short else 8, 1)

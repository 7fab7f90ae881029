"""Masks of many lanes go from block to block as bytes.

Where there are no registers for masks, a mask that a block hands to another is one byte a lane. Of more lanes than a
register has bytes, LLVM has no such type: it takes the mask apart, hands on each lane in a register of its own, or on
the stack, and puts it together again, which takes hundreds of instructions::

    m = icmp ult <64 x i32> a, b                  m = icmp ult <64 x i32> a, b
    ...                                           bytes = sext <64 x i1> m to <64 x i8>
    other:                                ==>     ...
      use m                                       other:
                                                    again = icmp slt <64 x i8> bytes, 0
                                                    use again

Bytes are in as many registers as there are, and their signs are a mask of those.

Precondition: LLVM's text behind its pipeline, as InstCombine would turn it back. Postcondition: without registers for
masks, no mask of more lanes than a register has bytes is used in another block than it is made in, nor is a φ one.
Preserves what functions give, in all lanes.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from weft.machine.targets import Isa
from weft.target.definitions import INCOMING, LABEL, LINE, NAME, parts_by_definition

_MASKS = re.compile(
    r"(?:phi|and|or|or disjoint|xor|freeze|insertelement|load|(?:tail )?call) <(\d+) x i1>"
    r"|[if]cmp(?: \w+)+ <(\d+) x "
    r"|(?:bitcast|trunc) .+ to <(\d+) x i1>"
    r"|select .+?, <(\d+) x i1> "
    r"|shufflevector <\d+ x i1> .+, <(\d+) x i32> "
)
_PARAMETER = re.compile(rf"<(\d+) x i1>(?: \w+)* ({NAME.pattern})")
_BITS = {"i1 true": "i8 -1", "i1 false": "i8 0", "i1 poison": "i8 poison", "i1 undef": "i8 undef"}


class _Mask(Struct):
    """A mask: where it is made, in which blocks it is used, and the name of its bytes if it goes to others.

    Parameters are made at line 0, the function's head, and belong to its first block.
    """

    lanes: int
    line: int
    block: int
    is_phi: bool
    used_in: set[int] = field(default_factory=set)
    bytes: str = ""


def with_mask_bytes(text: str, isa: Isa) -> str | None:
    """Return a module's text in which such masks go as bytes; None where there are none."""
    if isa.mask_registers:
        return None
    most = isa.vector_bits // 8
    if not any(int(lanes) > most for lanes in set(re.findall(r"<(\d+) x i1>", text))):
        return None
    prefix = "%weft.mask"
    while prefix in text:
        prefix += ".again"
    parts = parts_by_definition(text)
    changed = [_in_bytes(part, most, prefix) if part.startswith("define ") else part for part in parts]
    return "".join(changed) if changed != parts else None


def _in_bytes(function: str, most: int, prefix: str) -> str:
    """The same of one function."""
    lines = function.split("\n")
    blocks = _blocks(lines)
    masks = _masks(lines, blocks, most)
    if not masks:
        return function
    for number, line in enumerate(lines):
        made = LINE.match(line)
        own = made[1] if made is not None else ""
        if (phi := masks.get(own)) is not None and phi.is_phi:
            for incoming in INCOMING.finditer(line):
                if incoming["value"] in masks:
                    masks[incoming["value"]].bytes = "?"
            continue
        for name in NAME.findall(line):
            if name in masks and name != own:
                masks[name].used_in.add(blocks[number])
    for count, mask in enumerate(masks.values()):
        if mask.is_phi or mask.bytes or mask.used_in - {mask.block}:
            mask.bytes = f"{prefix}.{count}"
    carried = {name: mask for name, mask in masks.items() if mask.bytes}
    return "\n".join(_rewritten(lines, blocks, carried)) if carried else function


def _blocks(lines: list[str]) -> list[int]:
    """The number of each line's block."""
    numbers: list[int] = []
    current = 0
    for line in lines:
        if LABEL.match(line):
            current += 1
        numbers.append(current)
    return numbers


def _masks(lines: list[str], blocks: list[int], most: int) -> dict[str, _Mask]:
    """The masks of more lanes than `most` that there are, by name."""
    masks: dict[str, _Mask] = {}
    first = 1 if LABEL.match(lines[1]) else 0
    for lanes, name in _PARAMETER.findall(lines[0]):
        if int(lanes) > most:
            masks[name] = _Mask(int(lanes), 0, first, False)
    for number, line in enumerate(lines):
        made = LINE.match(line)
        found = _MASKS.match(made[2]) if made is not None else None
        if made is None or found is None:
            continue
        lanes = int(next(filter(None, found.groups())))
        if lanes > most:
            masks[made[1]] = _Mask(lanes, number, blocks[number], made[2].startswith("phi "))
    return masks


def _rewritten(lines: list[str], blocks: list[int], carried: dict[str, _Mask]) -> list[str]:
    made_at = {mask.line: name for name, mask in carried.items() if mask.line}
    wanted: dict[int, list[str]] = {}
    for name, mask in carried.items():
        for block in mask.used_in:
            if mask.is_phi or block != mask.block:
                wanted.setdefault(block, []).append(name)
    again: dict[str, str] = {}
    result: list[str] = []
    begun = -1
    for number, line in enumerate(lines):
        block = blocks[number]
        is_phi = (found := LINE.match(line)) is not None and found[2].startswith("phi ")
        if block != begun and not (is_phi or LABEL.match(line) or line.startswith("define ")):
            if begun < 0:
                given = ((name, mask) for name, mask in carried.items() if not mask.line)
                result += (_bytes_of(name, mask) for name, mask in given)
            begun = block
            again = {}
            for name in wanted.get(block, ()):
                mask = carried[name]
                again[name] = f"{mask.bytes}.in.{block}"
                result.append(f"  {again[name]} = icmp slt <{mask.lanes} x i8> {mask.bytes}, zeroinitializer")
        own = made_at.get(number)
        if own is not None and carried[own].is_phi:
            result.append(_phi_of_bytes(line, carried[own], carried))
            continue
        result.append(NAME.sub(lambda n, names=again: names.get(n[0], n[0]), line) if again else line)
        if own is not None:
            result.append(_bytes_of(own, carried[own]))
    return result


def _bytes_of(name: str, mask: _Mask) -> str:
    return f"  {mask.bytes} = sext <{mask.lanes} x i1> {name} to <{mask.lanes} x i8>"


def _phi_of_bytes(line: str, mask: _Mask, carried: dict[str, _Mask]) -> str:
    def incoming(found: re.Match[str]) -> str:
        value = found["value"]
        known = carried.get(value)
        if known is not None:
            return f"[ {known.bytes}, {found['block']} ]"
        for bit, byte in _BITS.items():
            value = value.replace(bit, byte)
        return f"[ {value}, {found['block']} ]"

    rest = line.rpartition(" ]")[2]
    pairs = ", ".join(incoming(found) for found in INCOMING.finditer(line))
    return f"  {mask.bytes} = phi <{mask.lanes} x i8> {pairs}{rest}"

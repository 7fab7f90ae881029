"""Two vectors that are stored to two places in one order or the other: the places are exchanged, not the vectors.

Where a vote decides which child of a node is visited first, what the lanes keep for both is pushed in that order. LLVM
chooses between the vectors, register by register. There are two places, however many registers a vector fills::

    %near = select i1 %c, <32 x float> %a, <32 x float> %b         %first = select i1 %c, ptr %p, ptr %q
    store <32 x float> %near, ptr %p                               store <32 x float> %a, ptr %first
    %far = select i1 %c, <32 x float> %b, <32 x float> %a    ==>   %second = select i1 %c, ptr %q, ptr %p
    store <32 x float> %far, ptr %q                                store <32 x float> %b, ptr %second

Where a vector fills four registers, that is eight choices, of three operations each on Intel's processors with AVX2.

Precondition: LLVM's text behind its pipeline. Postcondition: on x86 with registers of 256 bits or more, such choices
within a block are choices of addresses, where both are elements of one stack object that have nothing in common, and
nothing in between may touch it. What was chosen before stays where it was, unused. Preserves what functions give.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import WIDTHS, FunctionLines, rewritten, unused_prefix
from weft.target.rewrites.mask_lines import VALUE

_CHOICE = re.compile(
    r"select(?: [a-z]+)* i1 (?P<condition>%[^\s,]+), <(?P<lanes>\d+) x (?P<type>i8|i16|i32|i64|float|double)> "
    rf"(?P<first>{VALUE}), <\d+ x \w+> (?P<second>{VALUE})(?:, !.*)?"
)
_ANY_CHOICE = re.compile(r" = select(?: [a-z]+)* i1 %[^\s,]+, <")
_STORE = re.compile(
    r"  store <\d+ x \w+> (?P<value>%[^\s,]+), ptr (?P<pointer>%[^\s,]+), align (?P<align>\d+)(?:, !.*)?"
)
_ELEMENT = re.compile(
    r"getelementptr(?: inbounds| nusw| nuw)* (?:\[(?P<bytes>\d+) x i8\]|(?P<type>i8|i16|i32|i64|float|double)), "
    r"ptr (?P<base>%[^\s,]+), i64 (?P<index>%[^\s,]+|-?\d+)(?:, !.*)?"
)
_SUM = re.compile(r"add(?: nuw| nsw)* i64 (?P<from>%[^\s,]+), (?P<more>-?\d+)(?:, !.*)?")
_ACCESS = re.compile(r"(?:load|store) [^@]*, ptr (?P<pointer>%[^\s,]+), align \d+(?:, !.*)?")

_QUIET = re.compile(
    r"(?:getelementptr|add|sub|mul|and|or|xor|shl|lshr|ashr|select|[if]cmp|sext|zext|trunc|bitcast|freeze|"
    r"fadd|fsub|fmul|insertelement|extractelement|shufflevector) .*|(?:tail )?call void @llvm\.prefetch\..*"
)
"""What neither reads nor writes memory, and requests for what may be looked up."""

LEAST_BITS = 256
"""Of a register: in narrower ones LLVM branches around moves, which takes 0.97 of the time (a kd-tree of doubles)."""

_FAR = 1 << 31
"""Elements that no two of a stack object are apart."""


def with_exchanged_stores(text: str, isa: Isa) -> str | None:
    """A module's text with such stores; None where it has none."""
    is_better = isa.arch == "x86_64" and isa.vector_bits >= LEAST_BITS
    if not is_better or " = select" not in text or "  store <" not in text:
        return None
    return rewritten(text, _change)


class _Store(Struct, frozen=True):
    """A plain store of a vector: its line, and the address."""

    line: int
    pointer: str
    align: int


class _Place(Struct, frozen=True):
    """An element of a stack object: bytes of each, and which, a number and so many more."""

    base: str
    bytes: int
    root: str
    more: int


def _change(part: str) -> str | None:
    if "  store <" not in part or _ANY_CHOICE.search(part) is None:
        return None
    function = FunctionLines.of(part)
    stores = {
        found["value"]: _Store(number, found["pointer"], int(found["align"]))
        for number, line in enumerate(function.lines)
        if line.startswith("  store <") and (found := _STORE.fullmatch(line))
    }
    pairs = _pairs(function, stores)
    if not pairs:
        return None
    uses, prefix, lines, made = function.uses(), unused_prefix("exchanged", part), list(function.lines), 0
    for one, other, choice in pairs:
        if uses[one] == uses[other] == [""]:
            changed = _exchanged(function, stores[one], stores[other], choice, f"{prefix}.{made}")
            if changed is not None:
                lines[stores[one].line], lines[stores[other].line] = changed
                made += 1
    return "\n".join(lines) if made else None


def _pairs(function: FunctionLines, stores: dict[str, _Store]) -> list[tuple[str, str, re.Match[str]]]:
    """Choices that are stored, each with the one that chooses the other way; of both the one that is stored first."""
    seen: dict[tuple[str, ...], str] = {}
    pairs: list[tuple[str, str, re.Match[str]]] = []
    for name, (_, right) in function.defined.items():
        found = _CHOICE.fullmatch(right) if name in stores and right.startswith("select") else None
        if found is None:
            continue
        place = _place(function, stores[name].pointer)
        if place is None:
            continue
        key = place.base, found["lanes"], found["type"], found["condition"]
        partner = seen.pop((*key, found["second"], found["first"]), None)
        if partner is None:
            seen[*key, found["first"], found["second"]] = name
            continue
        first, second = sorted((partner, name), key=lambda choice: stores[choice].line)
        choice = _CHOICE.fullmatch(function.defined[first][1])
        if choice is not None:
            pairs.append((first, second, choice))
    return pairs


def _exchanged(
    function: FunctionLines, first: _Store, second: _Store, choice: re.Match[str], prefix: str
) -> tuple[str, str] | None:
    """Two stores that have exchanged their places, where that is the same."""
    vector = f"<{choice['lanes']} x {choice['type']}>"
    size = int(choice["lanes"]) * WIDTHS[choice["type"]] // 8
    one, other = _place(function, first.pointer), _place(function, second.pointer)
    if one is None or other is None or not _are_apart(one, other, size):
        return None
    if function.blocks[first.line] != function.blocks[second.line]:
        return None
    if not all(_is_elsewhere(function, n, one.base) for n in range(first.line + 1, second.line)):
        return None
    # Of what is poison, or undefined, either order will do for vectors, but not for addresses.
    before = [f"  {prefix}.order = freeze i1 {choice['condition']}"]
    pointer = second.pointer
    number, right = function.defined[pointer]
    if number > first.line:
        if _index_line(function, right) > first.line:
            return None
        pointer = f"{prefix}.place"
        before.append(f"  {pointer} = {right}")
    align = min(first.align, second.align)
    return (
        "\n".join(
            (
                *before,
                f"  {prefix}.first = select i1 {prefix}.order, ptr {first.pointer}, ptr {pointer}",
                f"  store {vector} {choice['first']}, ptr {prefix}.first, align {align}",
            )
        ),
        f"  {prefix}.second = select i1 {prefix}.order, ptr {pointer}, ptr {first.pointer}\n"
        f"  store {vector} {choice['second']}, ptr {prefix}.second, align {align}",
    )


def _index_line(function: FunctionLines, right: str) -> int:
    """The line that makes the index of an element; 0 if none does."""
    found = _ELEMENT.fullmatch(right)
    return function.defined.get(found["index"], (0, ""))[0] if found else 0


def _place(function: FunctionLines, pointer: str) -> _Place | None:
    """What element of a stack object a pointer is, if it is one."""
    found = _ELEMENT.fullmatch(function.defined.get(pointer, (0, ""))[1])
    if found is None or not _is_stack(function, found["base"]):
        return None
    size = int(found["bytes"]) if found["bytes"] else WIDTHS[found["type"]] // 8
    index = found["index"]
    if not index.startswith("%"):
        return _Place(found["base"], size, "", int(index))
    if added := _SUM.fullmatch(function.defined.get(index, (0, ""))[1]):
        return _Place(found["base"], size, added["from"], int(added["more"]))
    return _Place(found["base"], size, index, 0)


def _is_stack(function: FunctionLines, name: str) -> bool:
    return function.defined.get(name, (0, ""))[1].startswith("alloca ")


def _are_apart(one: _Place, other: _Place, size: int) -> bool:
    """Whether so many bytes at one place are none of those at the other."""
    if (one.base, one.bytes, one.root) != (other.base, other.bytes, other.root):
        return False
    apart = abs(one.more - other.more)
    return apart < _FAR and apart * one.bytes >= size


def _is_elsewhere(function: FunctionLines, number: int, base: str) -> bool:
    """Whether a line accesses no memory, or another stack object's."""
    line = function.lines[number].strip()
    if line.startswith("#dbg_"):
        return True
    done = line.partition(" = ")[2] or line
    if _QUIET.fullmatch(done):
        return True
    access = _ACCESS.fullmatch(done)
    if access is None:
        return False
    pointer = access["pointer"]
    while found := _ELEMENT.fullmatch(function.defined.get(pointer, (0, ""))[1]):
        pointer = found["base"]
    return pointer != base and _is_stack(function, pointer)

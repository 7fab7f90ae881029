"""Whether an index counts from the end is foreseen by a branch, in loops of scalar code.

An index of Python's below zero counts from the end of its axis. Of one that data say nobody knows more, so each access
adds the axis' length or nothing to its address: four instructions, and the address waits for them. Of indices that are
stored somewhere hardly any counts from the end, or many in a row do, which the processor foresees. Differences of two
numbers may have any sign; they stay::

    %c = icmp slt i64 %i, 0                           %c = icmp slt i64 %i, 0
    %s = select i1 %c, i64 %n, i64 0                  br i1 %c, label %end, label %rest, !prof ...
    %b = getelementptr T, ptr %a, i64 %s     ==>   end:
    %p = getelementptr T, ptr %b, i64 %i              %w = add i64 %i, %n
                                                   rest:
                                                      %k = phi i64 [ %i, %block ], [ %w, %end ]
                                                      %p = getelementptr T, ptr %a, i64 %k

Precondition: LLVM's text behind its pipeline. Postcondition: on x86, such choices by an index that is loaded, or
counted on from one that is, are branches where the address is made in the same block of a loop, and nothing else is
made of them. Preserves what functions give: what is poison is frozen before it is asked.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import INCOMING, LABEL, FunctionLines, rewritten, unused_prefix

_CHOICE = re.compile(
    r"select i1 (?P<condition>%[^\s,]+), i64 (?P<first>[^\s,]+), i64 (?P<second>[^\s,]+)(?P<debug>(?:, !.*)?)"
)
_BELOW = re.compile(r"icmp (?:samesign )?slt i\d+ (?P<of>%[^\s,]+), (?:0|-\d+)(?:, !.*)?")
_NOT_BELOW = re.compile(r"icmp (?:samesign )?sgt i\d+ (?P<of>%[^\s,]+), -\d+(?:, !.*)?")
_SAME_SIGN = re.compile(
    r"(?:(?:sext|zext(?: nneg)?|trunc(?: nuw)?(?: nsw)?|freeze) i\d+|add(?: nuw)?(?: nsw)? i\d+) (?P<of>%[^\s,]+)"
    r"(?:| to i\d+|, -?\d+)(?:, !.*)?"
)
_ADDRESS = re.compile(
    r"getelementptr (?:inbounds |nusw |nuw )*(?P<type>[^\s,<\[{]+), ptr (?P<base>%[^\s,]+), i64 (?P<index>%[^\s,]+)"
    r"(?P<debug>(?:, !.*)?)"
)
_HARDLY = '!prof !{!"branch_weights", i32 1, i32 2000}'


class _Index(Struct, frozen=True):
    """An address that is to be made of one index: on which line, of what."""

    line: int
    condition: str
    is_below: bool
    length: str
    type: str
    base: str
    index: str
    debug: str


def with_foreseen_fronts(text: str, isa: Isa) -> str | None:
    """A module's text with such branches; None where it has none."""
    if isa.arch != "x86_64" or " = select i1 " not in text:
        return None
    return rewritten(text, lambda part: _changed(part) if " = select i1 " in part else None)


def _changed(text: str) -> str | None:
    """One function's text with such branches; None where it has none."""
    function = FunctionLines.of(text)
    found = _indices(function, text)
    if not found:
        return None
    prefix, lines = unused_prefix("front", text), function.lines
    looping = _blocks_in_loops(function)
    last: dict[str, str] = {}
    for number, each in enumerate(found):
        label = LABEL.match(lines[function.blocks[each.line]])
        if label is None or (block := f"%{label[0][:-1]}") not in looping:
            continue
        name = lines[each.line].split(" = ", 1)[0]
        here, beside = f"{prefix}.{number}", f"{prefix}.{number}.end"
        ways = (beside, here) if each.is_below else (here, beside)
        weights = _HARDLY if each.is_below else _HARDLY.replace("i32 1, i32 2000", "i32 2000, i32 1")
        lines[each.line] = "\n".join(
            (
                f"  {here}.asked = freeze i1 {each.condition}",
                f"  br i1 {here}.asked, label {ways[0]}, label {ways[1]}, {weights}{each.debug}",
                f"{beside[1:]}:",
                f"  {here}.sum = add i64 {each.index}, {each.length}",
                f"  br label {here}",
                f"{here[1:]}:",
                f"  {here}.index = phi i64 [ {each.index}, {last.get(block, block)} ], [ {here}.sum, {beside} ]",
                f"{name} = getelementptr {each.type}, ptr {each.base}, i64 {here}.index{each.debug}",
            )
        )
        last[block] = here
    return _with_sources(lines, last) if last else None


def _with_sources(lines: list[str], last: dict[str, str]) -> str:
    """The text of lines whose φs come from the last parts of blocks."""

    def renamed(found: re.Match[str]) -> str:
        return f"[ {found['value']}, {last.get(found['block'], found['block'])} ]"

    return "\n".join(
        INCOMING.sub(renamed, line) if " = phi " in line and "\n" not in line else line for line in lines
    )


def _indices(function: FunctionLines, text: str) -> list[_Index]:
    """Addresses that count from the end of an axis or its beginning, in the order of their lines."""
    found: list[_Index] = []
    choices = {
        name: (line, choice)
        for name, (line, right) in function.defined.items()
        if right.startswith("select i1 ") and (choice := _CHOICE.fullmatch(right)) is not None
    }
    if not choices:
        return found
    uses = function.uses()
    for line, right in function.defined.values():
        outer = _ADDRESS.fullmatch(right) if right.startswith("getelementptr ") else None
        if outer is None or outer["base"] not in function.defined:
            continue
        at, below = function.defined[outer["base"]]
        inner = _ADDRESS.fullmatch(below) if below.startswith("getelementptr ") else None
        if inner is None or inner["type"] != outer["type"] or len(uses[outer["base"]]) != 1:
            continue
        for chosen, index in ((inner["index"], outer["index"]), (outer["index"], inner["index"])):
            if chosen not in choices or len(uses[chosen]) != 1:
                continue
            made, choice = choices[chosen]
            blocks = {function.blocks[n] for n in (made, at, line)}
            below_zero = _sign(function, choice["condition"])
            length, other = (
                (choice["first"], choice["second"]) if below_zero else (choice["second"], choice["first"])
            )
            if below_zero is None or other != "0" or len(blocks) != 1:
                continue
            found.append(
                _Index(
                    line,
                    choice["condition"],
                    below_zero,
                    length,
                    outer["type"],
                    inner["base"],
                    index,
                    outer["debug"],
                )
            )
            break
    return sorted(found, key=lambda each: each.line)


def _sign(function: FunctionLines, condition: str) -> bool | None:
    """Whether a condition holds for numbers below zero, or else for the others; None where it asks something else.

    So it is where the number is not a loaded one.
    """
    right = function.defined[condition][1] if condition in function.defined else ""
    below = _BELOW.fullmatch(right)
    found = below or _NOT_BELOW.fullmatch(right)
    return below is not None if found is not None and _is_loaded(function, found["of"]) else None


def _is_loaded(function: FunctionLines, name: str) -> bool:
    """Whether a number has been loaded, or is the sum of one that has and constants, in this round or before."""
    work, seen, is_loaded = [name], set[str](), False
    while work:
        value = work.pop()
        if value in seen or not value.startswith("%"):
            continue
        seen.add(value)
        right = function.defined[value][1] if value in function.defined else ""
        if right.startswith("load "):
            is_loaded = True
        elif right.startswith("phi "):
            work += (found["value"] for found in INCOMING.finditer(right))
        elif (found := _SAME_SIGN.fullmatch(right)) is not None:
            work.append(found["of"])
        else:
            return False
    return is_loaded


def _blocks_in_loops(function: FunctionLines) -> set[str]:
    """Blocks that come to themselves again."""
    after: dict[str, list[str]] = {}
    block = ""
    for number, line in enumerate(function.lines):
        if function.blocks[number] == number and (label := LABEL.match(line)):
            block = f"%{label[0][:-1]}"
            after[block] = []
        elif block and "label %" in line:
            after[block] += re.findall(r'label (%(?:"[^"]*"|[-\w.$]+))', line)
    return _repeated(after)


def _repeated(after: dict[str, list[str]]) -> set[str]:
    """The names of a graph that lie on circles, by what comes after each: those of strong components."""
    order: list[str] = []
    seen: set[str] = set()
    for start in after:
        work = [(start, False)]
        while work:
            name, done = work.pop()
            if done:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                work.append((name, True))
                work += ((n, False) for n in after[name] if n in after and n not in seen)
    before: dict[str, list[str]] = {name: [] for name in after}
    for name, following in after.items():
        for other in following:
            if other in before:
                before[other].append(name)
    found: set[str] = set()
    taken: set[str] = set()
    for root in reversed(order):
        part: list[str] = []
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in taken:
                taken.add(name)
                part.append(name)
                waiting += before[name]
        if len(part) > 1 or (part and part[0] in after[part[0]]):
            found.update(part)
    return found

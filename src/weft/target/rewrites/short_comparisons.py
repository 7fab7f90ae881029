"""Numbers of 64 bits that have no more than 32 are compared with those of lanes in 32 bits (AVX2).

    %m = icmp ugt <8 x i64> (%left in all lanes), <0, 1, ... 7>    ==>    %m = icmp ugt <8 x i32> ...

LLVM's vectorizer asks which lanes still run by a counter of 64 bits where something of the loop is counted so, be it
known that there are less than 64 iterations. Without registers for masks that is two comparisons, of numbers whose
signs are turned before, and their answers are packed, crossed over and spread again for elements of 32 bits.

Precondition: LLVM's text behind its pipeline. Postcondition: a number that is masked to 32 bits, or has been of 32
without sign, or is less than such a one by one, is compared in 32 bits with lanes of constants of 31, where the answer
is no mask of elements of 64 bits. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.machine.targets import Isa
from weft.target.definitions import FunctionLines, rewritten, unused_prefix

_ASKED = re.compile(
    r"icmp (?P<predicate>eq|ne|ugt|uge|ult|ule) <(?P<lanes>4|8|16) x i64> (?P<all>%[^\s,]+), "
    r"<(?P<numbers>i64 \d+(?:, i64 \d+)*)>(?P<rest>(?:, !.*)?)"
)
_ALL = re.compile(
    r"shufflevector <(\d+) x i64> (?P<one>%[^\s,]+), <\1 x i64> poison, <\1 x i32> zeroinitializer.*"
)
_ONE = re.compile(r"insertelement <\d+ x i64> poison, i64 (?P<number>%[^\s,]+), i64 0.*")
_MASKED = re.compile(r"and i64 %[^\s,]+, (?P<mask>\d+)(?:, !.*)?")
_EXTENDED = re.compile(r"zext (?:nneg )?i(?:1|8|16|32) \S+ to i64(?:, !.*)?")
_BEFORE = re.compile(r"add (?:nuw |nsw )*i64 (?P<number>%[^\s,]+), -1(?:, !.*)?")
_BITS = 31


def with_short_comparisons(text: str, isa: Isa) -> str | None:
    """A module's text with such comparisons; None where it has none."""
    if isa.vector_bits < 256 or " x i64> %" not in text or "icmp " not in text:
        return None
    return rewritten(text, _compared)


def _compared(text: str) -> str | None:
    """One function's text with such comparisons; None where it has none."""
    if not _ASKED.search(text):
        return None
    function = FunctionLines.of(text)
    prefix, made = unused_prefix("short", text), 0
    shortened: dict[str, str] = {}
    for name, (number, right) in function.defined.items():
        asked = _ASKED.fullmatch(right)
        if asked is None:
            continue
        constants = [int(each.split()[1]) for each in asked["numbers"].split(", ")]
        left = _number(function, asked["all"])
        if (
            left is None
            or _serves_long_lanes(text, name)
            or max(constants) >> _BITS
            or not _is_short(function, left)
        ):
            continue
        lanes, few = asked["lanes"], ", ".join(f"i32 {each}" for each in constants)
        if (short := shortened.get(asked["all"])) is None:
            # Where all lanes have the number of 64 bits they have that of 32, too.
            short = shortened[asked["all"]] = f"{prefix}.{len(shortened)}"
            at = function.defined[asked["all"]][0]
            function.lines[at] += "".join(
                f"\n  {line}"
                for line in (
                    f"{short}.number = trunc i64 {left} to i32",
                    f"{short}.one = insertelement <{lanes} x i32> poison, i32 {short}.number, i64 0",
                    f"{short} = shufflevector <{lanes} x i32> {short}.one, <{lanes} x i32> poison, "
                    f"<{lanes} x i32> zeroinitializer",
                )
            )
        function.lines[number] = (
            f"  {name} = icmp {asked['predicate']} <{lanes} x i32> {short}, <{few}>{asked['rest']}"
        )
        made += 1
    return "\n".join(function.lines) if made else None


def _serves_long_lanes(text: str, name: str) -> bool:
    """Whether a mask is one of elements of 64 bits: their registers have as many lanes as comparisons of 64 bits."""
    uses = re.findall(rf"^.* x i1> {re.escape(name)}[,)].*$", text, re.MULTILINE)
    return any(re.search(r"\.v\d+[fi]64|x (?:double|i64)>", use) is not None for use in uses)


def _number(function: FunctionLines, name: str) -> str | None:
    """The number that all lanes of a vector have."""
    for pattern, part in ((_ALL, "one"), (_ONE, "number")):
        found = pattern.fullmatch(function.defined.get(name, (0, ""))[1])
        if found is None:
            return None
        name = found[part]
    return name


def _is_short(function: FunctionLines, name: str) -> bool:
    """Whether a number has 32 bits, or is less by one than one that has."""
    right = function.defined.get(name, (0, ""))[1]
    before = _BEFORE.fullmatch(right)
    if before is not None:
        right = function.defined.get(before["number"], (0, ""))[1]
    masked = _MASKED.fullmatch(right)
    return _EXTENDED.fullmatch(right) is not None or (
        masked is not None and not int(masked["mask"]) >> _BITS + 1
    )

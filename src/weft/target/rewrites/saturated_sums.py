"""Sums of short numbers without sign that are only compared with short ones stay as short, and end at the greatest.

A count of neighbours of 8 bits may need more than 8 bits, so its terms are extended, and its sum takes registers twice
as many or more. Where all that is asked is how it compares with numbers below 255, what is beyond may as well be 255::

    %a = zext <64 x i8> %x to <64 x i16>
    %b = zext <64 x i8> %y to <64 x i16>          ==>   %t = call <64 x i8> @llvm.uadd.sat.v64i8(%x, %y)
    %s = add <64 x i16> %a, %b                          %m = icmp eq <64 x i8> %t, splat (i8 3)
    %m = icmp eq <64 x i16> %s, splat (i16 3)

Sums that end so are what the exact sum or the greatest number is, the lesser of both, in whichever order the terms are
added: none of them is negative. Numbers between two are asked for by a difference, ``%s - low < size``, which wraps
around in either width; what is taken from one of the terms is taken from the short sum where it is compared.

Precondition: LLVM's text behind its pipeline. Postcondition: on processors with such sums of vectors (x86-64, aarch64)
no sum of vectors whose terms have all been of 8 bits, or all of 16, without sign, is wider, if it cannot wrap around,
and if comparisons with numbers below the greatest are all that is made of it. Preserves what functions give.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.machine.targets import Isa
from weft.target.definitions import NAME, FunctionLines, rewritten, unused_prefix, with_declarations

_DEBUG = r"(?P<debug>(?:, !\w+ !\d+)*)"
_EXTENDED = re.compile(
    r"zext (?:nneg )?<(?P<lanes>\d+) x i(?P<few>8|16)> (?P<value>%\S+) to <\d+ x i(?P<bits>\d+)>"
)
_SUM = re.compile(
    r"add (?:nuw |nsw )*<(?P<lanes>\d+) x i(?P<bits>16|32|64)> (?P<left>%[^\s,]+), "
    r"(?:(?P<right>%[^\s,]+)|splat \(i\d+ (?P<number>-?\d+)\))" + _DEBUG
)
_DOUBLED = re.compile(
    r"shl (?:nuw |nsw )*<(?P<lanes>\d+) x i(?P<bits>16|32|64)> (?P<left>%[^\s,]+), splat \(i\d+ (?P<times>[12])\)"
    + _DEBUG
)
_ASKED = re.compile(
    r"icmp (?:samesign )?(?P<predicate>eq|ne|[us](?:lt|le|gt|ge)) <(?P<lanes>\d+) x i(?P<bits>16|32|64)> "
    r"(?P<sum>%[^\s,]+), splat \(i\d+ (?P<number>\d+)\)" + _DEBUG
)
_ARCHITECTURES = ("x86_64", "aarch64")


class _Sum(Struct, frozen=True):
    """A sum, or a term: how many lanes, of how many bits its terms have been, how great it is, less which number."""

    lanes: int
    few: int
    greatest: int
    low: int = 0


class _Question(Struct, frozen=True):
    """A comparison of a sum, or of its difference from a number, with a number."""

    sum: str
    predicate: str
    number: int
    debug: str


def with_saturated_sums(text: str, isa: Isa) -> str | None:
    """A module's text with such sums; None where it has none."""
    if isa.arch not in _ARCHITECTURES or " = zext " not in text or " = icmp " not in text:
        return None
    declared: set[str] = set()
    made = rewritten(text, lambda part: _changed(part, declared))
    return None if made is None else with_declarations(made, declared)


def _changed(text: str, declared: set[str]) -> str | None:
    """One function's text with such sums; None where it has none."""
    if not (_EXTENDED.search(text) and _ASKED.search(text) and _SUM.search(text)):
        return None
    function = FunctionLines.of(text)
    terms: dict[str, _Sum | None] = {}
    for name, (_, right) in function.defined.items():
        if right.startswith(("add ", "shl ")):
            _term(function, name, terms)
    sums = {n: t for n, t in terms.items() if t is not None and not _EXTENDED.match(function.defined[n][1])}
    questions = _questions(function, sums)
    _leave_asked(function, sums, questions)
    if not sums:
        return None
    prefix = unused_prefix("saturated", text)
    short = {name: f"{prefix}.{count}" for count, name in enumerate(sums)}
    for name, term in sums.items():
        _write_sum(function, name, term, short, declared)
    for count, (name, question) in enumerate(questions.items()):
        if question.sum in sums:
            of, difference = short[question.sum], f"{prefix}.above.{count}"
            _write_answer(function, name, question, sums[question.sum], of, difference)
    return "\n".join(function.lines)


def _term(function: FunctionLines, name: str, terms: dict[str, _Sum | None]) -> _Sum | None:
    """What a value is as a term, or a sum of such; None where it is none."""
    if name in terms:
        return terms[name]
    terms[name] = None
    right = function.defined.get(name, (0, ""))[1]
    if found := _EXTENDED.match(right):
        few = int(found["few"])
        terms[name] = _Sum(int(found["lanes"]), few, (1 << few) - 1)
    elif found := _SUM.fullmatch(right):
        left = _term(function, found["left"], terms)
        other = _term(function, found["right"], terms) if found["right"] else None
        if left is not None and found["number"]:
            number = int(found["number"])
            if number < 1 << left.few:
                other = _Sum(left.lanes, left.few, max(number, 0), max(-number, 0))
        if left is not None and other is not None and left.few == other.few:
            low = left.low + other.low
            terms[name] = _known(left, left.greatest + other.greatest, low, int(found["bits"]))
    elif (found := _DOUBLED.fullmatch(right)) and (left := _term(function, found["left"], terms)) is not None:
        times = int(found["times"])
        terms[name] = _known(left, left.greatest << times, left.low << times, int(found["bits"]))
    return terms[name]


def _known(term: _Sum, greatest: int, low: int, bits: int) -> _Sum | None:
    """A sum of terms as one of them is, that can be so great; None where it may reach the sign."""
    return None if greatest >> bits - 1 else _Sum(term.lanes, term.few, greatest, low)


def _questions(function: FunctionLines, sums: dict[str, _Sum]) -> dict[str, _Question]:
    """The comparisons of sums that short sums answer."""
    found: dict[str, _Question] = {}
    for name, (_, right) in function.defined.items():
        if (asked := _ASKED.fullmatch(right)) is None:
            continue
        of = asked["sum"]
        if of not in sums:
            continue
        low, predicate, number = sums[of].low, asked["predicate"], int(asked["number"])
        if predicate not in ("eq", "ne"):
            if low and predicate[0] == "s":
                continue
            predicate = "u" + predicate[1:]
        # What is at the greatest, or beyond, is answered as one.
        least_of_others = number if predicate in ("ult", "uge") else number + 1
        if low + least_of_others < 1 << sums[of].few:
            found[name] = _Question(of, predicate, number, asked["debug"])
    return found


def _leave_asked(function: FunctionLines, sums: dict[str, _Sum], questions: dict[str, _Question]) -> None:
    """Take away what is no sum, or is used for anything but such sums and comparisons."""
    uses = function.uses()

    def is_one(name: str) -> bool:
        right = function.defined[name][1]
        made_of = [term for term in NAME.findall(right) if not _is_extended(function, term)]
        return (
            bool(uses[name])
            and all(term in sums for term in made_of)
            and all(user in sums or user in questions for user in uses[name])
        )

    while others := [name for name in sums if not is_one(name)]:
        for name in others:
            del sums[name]


def _is_extended(function: FunctionLines, name: str) -> bool:
    return _EXTENDED.match(function.defined.get(name, (0, ""))[1]) is not None


def _write_sum(
    function: FunctionLines, name: str, term: _Sum, short: dict[str, str], declared: set[str]
) -> None:
    """Add up the terms of a sum behind it as short numbers; LLVM forgets the sum, which nobody uses.

    What is taken from it is so where it is compared.
    """
    number, right = function.defined[name]
    type, suffix = f"<{term.lanes} x i{term.few}>", f"v{term.lanes}i{term.few}"

    def of(value: str) -> str:
        extended = _EXTENDED.match(function.defined[value][1])
        return short[value] if extended is None else extended["value"]

    def written(name: str, left: str, right: str, debug: str) -> str:
        return f"\n  {name} = call {type} @llvm.uadd.sat.{suffix}({type} {left}, {type} {right}){debug}"

    declared.add(f"declare {type} @llvm.uadd.sat.{suffix}({type}, {type})")
    if found := _SUM.fullmatch(right):
        other = of(found["right"]) if found["right"] else _splat(term.few, max(int(found["number"]), 0))
        function.lines[number] += written(short[name], of(found["left"]), other, found["debug"])
    elif found := _DOUBLED.fullmatch(right):
        value = of(found["left"])
        if found["times"] == "2":
            function.lines[number] += written(f"{short[name]}.twice", value, value, found["debug"])
            value = f"{short[name]}.twice"
        function.lines[number] += written(short[name], value, value, found["debug"])


def _write_answer(
    function: FunctionLines, name: str, question: _Question, term: _Sum, of: str, difference: str
) -> None:
    """Compare the short sum in place of the sum."""
    type, lines = f"<{term.lanes} x i{term.few}>", ""
    if term.low:
        lines = f"  {difference} = sub {type} {of}, {_splat(term.few, term.low)}{question.debug}\n"
        of = difference
    number = _splat(term.few, question.number)
    lines += f"  {name} = icmp {question.predicate} {type} {of}, {number}{question.debug}"
    function.lines[function.defined[name][0]] = lines


def _splat(bits: int, number: int) -> str:
    """A number without sign in all lanes, as LLVM writes it: with one."""
    return f"splat (i{bits} {number - (number >> bits - 1 << bits)})"

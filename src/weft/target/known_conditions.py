"""Branches whose conditions other branches have decided already are hidden from NewGVN while it runs.

NewGVN uses a comparison that a branch is on for what is compared behind it. It visits that again when the comparison
is found to be another one, not when the operands are while the comparison stays: as one does that is true all along
since a branch around it is on the same::

    for x in 5, 4, 3 ...:            in the first round x is 5
        if x < w:                    5 < w, later x < w
            if x < w:                true, and so it stays
                if w == 5:           false by 5 < w, and so it stays, though x < w leaves it open

LLVM with its assertions, as in llvmlite's wheels, ends the process then; without them it may go on with what is wrong.
A branch on a frozen value tells NewGVN nothing; the comparison itself is still found to be true, so what is lost is
what the inner branch says beyond the outer one.

Comparisons are the same two numbers' where these are computed alike, and only those count that hang upon a φ, or upon
memory. Precondition: LLVM's text of a module, as LLVM prints it. Postcondition of both functions together: the same
program. A frozen value may have got uses that were of another freeze; behind the branch, where they are, the condition
is neither poison nor undef.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.graph.cfg import CFG
from weft.graph.dominators import NONE, dominator_tree

_LABEL = re.compile(r"^([\w.$-]+|\"[^\"]*\"):")
_VALUE = re.compile(r"%(?:[\w.$-]+|\"[^\"]*\")")
_DEFINED = re.compile(rf"^  ({_VALUE.pattern}) = (.*)$")
_BRANCH = re.compile(rf"^  br i1 ({_VALUE.pattern}), label ({_VALUE.pattern}), label ({_VALUE.pattern})")
_COMPARED = re.compile(r"^icmp (?:samesign )?\w+ \S+ ([^,]+), ([^,]+)")
_TARGET = re.compile(rf"label ({_VALUE.pattern})")
_CALLS = ("call", "tail", "musttail", "notail", "invoke", "callbr")
_OPAQUE = frozenset(
    ("phi", "load", "alloca", "atomicrmw", "cmpxchg", "va_arg", "landingpad", "freeze", *_CALLS)
)
_HIDDEN = "%weft.hidden."
_FROZEN = re.compile(rf"^  (%weft\.hidden\.\d+) = freeze i1 ({_VALUE.pattern}).*\n", re.MULTILINE)


class _Function:
    """What a function's text says of its blocks and branches."""

    def __init__(self) -> None:
        self.successors: dict[str, list[str]] = {}
        self.branches: dict[str, tuple[int, str, str, str]] = {}
        self.compared: dict[str, frozenset[str]] = {}
        self.parts: dict[str, list[str]] = {}
        self.numbers: dict[str, str] = {}
        self.changing: set[str] = set()

    def define(self, name: str, text: str) -> None:
        text = text.split(", !", 1)[0]
        op = text.split(" ", 1)[0]
        operands = _VALUE.findall(text)
        changes = op in _OPAQUE or any(v in self.changing for v in operands)
        if changes:
            self.changing.add(name)
        if op in _OPAQUE:
            return
        number = _VALUE.sub(lambda v: self.numbers.get(v[0], v[0]), text)
        # A number stands for a text, which would grow with the depth.
        self.numbers[name] = self.numbers.setdefault(f"={number}", name)
        compared = _COMPARED.match(text)
        if compared is not None and changes:
            self.compared[name] = frozenset(self.numbers.get(v, v) for v in compared.groups())
        elif op in ("and", "or", "select", "xor") and " i1 " in text:
            self.parts[name] = operands

    def comparisons(self, condition: str) -> Iterator[str]:
        """The comparisons that a condition is made of."""
        seen, work = set[str](), [condition]
        while work:
            name = work.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self.compared:
                yield name
            work.extend(self.parts.get(name, ()))


def with_hidden_conditions(text: str) -> str | None:
    """The text, branches on frozen values where others have decided the conditions; None where there are none."""
    lines = text.split("\n")
    hidden = [number for function in _functions(lines) for number in _decided(function)]
    if not hidden or _HIDDEN in text:
        return None
    for count, number in enumerate(hidden):
        branch = _BRANCH.match(lines[number])
        assert branch is not None
        frozen = f"{_HIDDEN}{count}"
        rest = lines[number][branch.end(1) :]
        lines[number] = f"  {frozen} = freeze i1 {branch[1]}\n  br i1 {frozen}{rest}"
    return "\n".join(lines)


def with_shown_conditions(text: str) -> str:
    """The text again, its branches on the conditions themselves."""
    conditions = dict(_FROZEN.findall(text))
    text = _FROZEN.sub("", text)
    return re.sub(r"%weft\.hidden\.\d+", lambda found: conditions[found[0]], text)


def _functions(lines: list[str]) -> Iterator[_Function]:
    function: _Function | None = None
    block = ""
    for number, line in enumerate(lines):
        if line.startswith("define "):
            function, block = _Function(), ""
        elif function is None:
            continue
        elif line == "}":
            yield function
            function = None
        elif (label := _LABEL.match(line)) is not None:
            block = f"%{label[1]}"
            function.successors.setdefault(block, [])
        elif (defined := _DEFINED.match(line)) is not None:
            function.define(defined[1], defined[2])
        elif "label %" in line:
            function.successors.setdefault(block, []).extend(_TARGET.findall(line))
            if (branch := _BRANCH.match(line)) is not None:
                function.branches[block] = (number, branch[1], branch[2], branch[3])


def _decided(function: _Function) -> list[int]:
    """The lines of branches on comparisons of what a branch that leads there compares, too."""
    by_pair: dict[frozenset[str], list[tuple[str, str]]] = {}
    for block, (_, condition, *_) in function.branches.items():
        for name in function.comparisons(condition):
            by_pair.setdefault(function.compared[name], []).append((block, name))
    again = [found for found in by_pair.values() if len({name for _, name in found}) > 1]
    if not again:
        return []
    cfg, numbers = _graph(function)
    tree = dominator_tree(cfg)
    decided: set[int] = set()
    for found in again:
        # Blocks that one edge alone leads to, behind a branch on these numbers, with their conditions.
        behind: dict[int, set[str]] = {}
        for block, name in found:
            for target in (numbers[t] for t in function.branches[block][2:]):
                if len(cfg.preds[target]) == 1:
                    behind.setdefault(target, set()).add(name)
        for block, name in found:
            above = numbers[block]
            while above != NONE and not behind.get(above, {name}) - {name}:
                above = tree.idom[above]
            if above != NONE:
                decided.add(function.branches[block][0])
    return sorted(decided)


def _graph(function: _Function) -> tuple[CFG, dict[str, int]]:
    numbers = {name: number for number, name in enumerate(function.successors)}
    targets = function.successors.values()
    return CFG([numbers[t] for t in following if t in numbers] for following in targets), numbers

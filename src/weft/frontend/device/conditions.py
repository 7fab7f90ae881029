"""Conditions of loops: ``while (a && b)`` leaves its loop where ``a`` does not hold, as the source says it.

clang makes one value of such a condition, joined by a φ, and branches on it. LLVM then computes ``b`` at all times
where that is cheap for a CPU, and joins both by a ``select``; but in lanes ``b`` may be many instructions on vectors,
and ``a`` a comparison that is the same for all lanes and costs next to nothing as a branch. So the places where the φ
is known branch for themselves, as they do for an ``if``, and as other front ends have it.

A branch back to the head of a loop (``do`` … ``while (a || b)``) stays: the loop would have two latches.

This is done on clang's text, before LLVM simplifies it, one function at a time.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}$", re.M | re.S)
_NAME = r'(?:[-\w.$]+|"[^"\n]*")'
_JOINED = re.compile(
    rf"^(?P<block>{_NAME}):[^\n]*\n"
    rf"  (?P<value>%{_NAME}) = phi i1 (?P<incoming>[^\n!]*\])(?P<at>[^\n]*)\n"
    rf"  br i1 (?P=value), label %(?P<true>{_NAME}), label %(?P<false>{_NAME})[^\n]*$",
    re.M,
)
_INCOMING = re.compile(rf"\[ (?P<value>\S+), %(?P<source>{_NAME}) \]")


def branch_early(text: str) -> str:
    """Return the module in which what is known of a condition is branched on where it is known."""
    return _FUNCTION.sub(lambda function: _settled(function[0]), text)


def _settled(function: str) -> str:
    for found in list(_JOINED.finditer(function)):
        function = _threaded(function, found)
    return function


def _threaded(function: str, found: re.Match[str]) -> str:
    if len(re.findall(rf"{re.escape(found['value'])}(?![-\w.$])", function)) != 2:
        return function
    joined = [(i["value"], i["source"]) for i in _INCOMING.finditer(found["incoming"])]
    known = [(value, source) for value, source in joined if value in ("true", "false")]
    open_ = [f"[ {value}, %{source} ]" for value, source in joined if value not in ("true", "false")]
    targets = [found[value] for value, _ in known]
    if not open_ or not all(_is_plain(function, found, target) for target in targets):
        return function
    for (_, source), target in zip(known, targets, strict=True):
        function = _redirected(function, source, found["block"], target)
    phi = f"  {found['value']} = phi i1 "
    return function.replace(f"{phi}{found['incoming']}", phi + ", ".join(open_), 1)


def _is_plain(function: str, found: re.Match[str], target: str) -> bool:
    """Whether a block comes after the joined condition, and has no φs."""
    head = re.search(rf"^{re.escape(target)}:[^\n]*\n(?P<first>[^\n]*)", function[found.start() :], re.M)
    return target != found["block"] and head is not None and " = phi " not in head["first"]


def _redirected(function: str, source: str, old: str, new: str) -> str:
    """The function in which one block goes to another block than before."""
    start = re.search(rf"^{re.escape(source)}:", function, re.M)
    # The entry is a block like any other: clang names it.
    assert start is not None
    end = function.find("\n\n", start.end())
    block = function[start.start() : end]
    branch = re.sub(rf"label %{re.escape(old)}(?![-\w.$])", lambda _: f"label %{new}", block)
    return function[: start.start()] + branch + function[end:]

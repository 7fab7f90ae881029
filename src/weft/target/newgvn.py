"""How much of LLVM's NewGVN a function may be given, and which of its results are taken.

NewGVN visits the blocks in order, round by round, as long as anything changes. It begins with the assumption that no
branch is taken, so a loop with a constant number of iterations is seen to end in the second round, what follows it in
the third, and one behind another n of these take n rounds. Where LLVM has its assertions, as in llvmlite's wheels, it
ends the process in the hundredth round: after 99 such loops.

In the first rounds counters are the constants that they begin with, so ``a[i]`` is seen to be ``a[0]``. When that turns
out to be wrong, NewGVN of LLVM 22 may go on to believe that a store changes nothing, and takes it away:

    for i: for k: a[k] = x[k]
           a[0], a[i] = a[i], a[0]          a[0] keeps its value

Stores that are atomic, though unordered, are never found to change nothing, and are like others elsewhere. So where
stores have gone, NewGVN runs again on the same module with stores that are marked so while it runs. It puts stores to
null into blocks that are never reached, which do not count.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from llvmlite.binding import ValueKind

MOST_LOOPS = 64
"""Functions with more back edges do without; the rest of the hundred rounds is for what else changes."""


_PLAIN = re.compile(
    r"^(\s+store) ((?:i8|i16|i32|i64|half|bfloat|float|double|ptr) .*, ptr(?: addrspace\(\d+\))? \S+), align",
    re.MULTILINE,
)
_UNORDERED = re.compile(r"^(\s+store) atomic (.*) unordered, align", re.MULTILINE)


def has_lost_stores(before: str, after: str) -> bool:
    """Whether a module has fewer plain stores than it had, by the texts that LLVM prints."""
    return _plain_stores(after) < _plain_stores(before)


def _plain_stores(text: str) -> int:
    others = ("atomic ", "i8 poison, ptr null")
    return text.count("\n  store ") - sum(text.count(f"\n  store {other}") for other in others)


def with_unordered_stores(text: str) -> str | None:
    """A module's text, all stores of numbers and pointers unordered; None where some are already."""
    return None if _UNORDERED.search(text) else _PLAIN.sub(r"\1 atomic \2 unordered, align", text)


def with_plain_stores(text: str) -> str:
    """The text again, its unordered stores plain."""
    return _UNORDERED.sub(r"\1 \2, align", text)


def is_bounded(module: Any) -> bool:
    """Whether all functions of llvmlite's module have few enough loops."""
    return all(
        _back_edges(function) <= MOST_LOOPS for function in module.functions if not function.is_declaration
    )


def _back_edges(function: Any) -> int:
    """How many edges lead back, to a block that the way from the entry is still in; at most, in small functions."""
    blocks = list(function.blocks)
    if len(blocks) <= MOST_LOOPS:
        return len(blocks)
    successors = {_address(block): _successors(block) for block in blocks}
    found, entry = 0, _address(blocks[0])
    seen, on_the_way = {entry}, {entry}
    stack = [(entry, iter(successors[entry]))]
    while stack:
        block, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            on_the_way.discard(block)
            stack.pop()
        elif following in on_the_way:
            found += 1
        elif following not in seen:
            seen.add(following)
            on_the_way.add(following)
            stack.append((following, iter(successors[following])))
    return found


def _successors(block: Any) -> list[int]:
    *_, terminator = block.instructions
    return [_address(value) for value in terminator.operands if value.value_kind == ValueKind.basic_block]


def _address(value: Any) -> int:
    """Of LLVM's object, which llvmlite wraps anew each time."""
    return ctypes.cast(value._ptr, ctypes.c_void_p).value or 0

"""Which functions stay calls, because inlining all of them would make a kernel too large to compile.

All that kernels call is inlined, so that the vectorizer sees through it, and each call of a function is one more copy.
Where copies would add up to more than `MAX_LINES`, functions stay functions, those first that save most. A function may
stay that asks for no ids, makes no barriers and names no variable that changes: what it needs of the kernel it has as
arguments.

Precondition: text as `weft.frontend.device.flatten` leaves it. Postcondition: kernels have at most `MAX_LINES` lines
once LLVM has inlined what they call, if enough of it may stay; what stays is not ``alwaysinline``.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from weft.ir.intrinsics import KERNEL_ATTRIBUTE

MAX_LINES = 6_000
"""Lines of LLVM IR of a kernel with everything inlined; weft takes some milliseconds for each."""

MIN_LINES = 20
"""Functions that are shorter are inlined: a call is as long."""

_NAME = r'@([-\w.$]+|"[^"\n]*")'
_DEFINITION = re.compile(rf"^define [^@\n]*{_NAME}\(.*?^}}\n", re.M | re.S)
_MENTIONED = re.compile(_NAME)
_VARIABLE = re.compile(rf"^{_NAME} = (?!.*\bconstant\b).*\bglobal\b", re.M)
_ALWAYS = " alwaysinline"
_PRIMITIVE = "__weft_"


class _Function(Struct):
    """A function of the text: how long it is, how often it mentions others, and whether it may stay a call."""

    lines: int
    calls: dict[str, int] = field(default_factory=dict)
    is_kernel: bool = False
    may_stay: bool = True


def keep_calls(text: str, most: int = MAX_LINES) -> str:
    """The module with some functions not marked to be inlined, where too much would be."""
    if text.count("\n") < MIN_LINES or _ALWAYS not in text:
        return text
    functions = _functions(text)
    kept: set[str] = set()
    while (found := _worst(functions, kept, most)) is not None:
        kept.add(found)
    return _DEFINITION.sub(lambda f: _settled(f, kept), text) if kept else text


def _settled(definition: re.Match[str], kept: set[str]) -> str:
    head, newline, body = definition[0].partition("\n")
    if definition[1] in kept:
        head = head.replace(_ALWAYS, "", 1)
    return f"{head}{newline}{body}"


def _functions(text: str) -> dict[str, _Function]:
    definitions = {found[1]: found[0] for found in _DEFINITION.finditer(text)}
    changing = set(_VARIABLE.findall(text))
    functions: dict[str, _Function] = {}
    for name, definition in definitions.items():
        head, _, body = definition.partition("\n")
        made = functions[name] = _Function(body.count("\n"), is_kernel=KERNEL_ATTRIBUTE in head)
        for mentioned in _MENTIONED.findall(body):
            if mentioned in definitions:
                made.calls[mentioned] = made.calls.get(mentioned, 0) + 1
            elif mentioned.startswith(_PRIMITIVE) or mentioned in changing:
                made.may_stay = False
        if made.is_kernel or _ALWAYS not in head:
            made.may_stay = False
    # What calls a function that asks for ids asks for them, too.
    settled = False
    while not settled:
        settled = True
        for function in functions.values():
            if function.may_stay and not all(functions[c].may_stay for c in function.calls):
                function.may_stay = settled = False
    return functions


def _worst(functions: dict[str, _Function], kept: set[str], most: int) -> str | None:
    """The function that saves most of the largest kernel by staying; None when that is small enough."""
    sizes: dict[str, int] = {}
    for name in functions:
        _size(name, functions, kept, sizes)
    largest = max((name for name, f in functions.items() if f.is_kernel), key=sizes.__getitem__, default=None)
    if largest is None or sizes[largest] <= most:
        return None
    copies = _copies(largest, functions, kept)
    saved = {
        name: (count - 1) * sizes[name]
        for name, count in copies.items()
        if count > 1 and functions[name].may_stay and sizes[name] >= MIN_LINES
    }
    return max(saved, key=saved.__getitem__, default=None)


def _size(name: str, functions: dict[str, _Function], kept: set[str], sizes: dict[str, int]) -> int:
    """Lines with all inlined; of functions that call themselves, their own."""
    if name not in sizes:
        function = functions[name]
        sizes[name] = function.lines
        inlined = (
            count * _size(callee, functions, kept, sizes)
            for callee, count in function.calls.items()
            if callee not in kept
        )
        sizes[name] = function.lines + sum(inlined)
    return sizes[name]


def _copies(kernel: str, functions: dict[str, _Function], kept: set[str]) -> dict[str, int]:
    """How many copies of each function a kernel gets."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        seen.add(name)
        for callee in functions[name].calls:
            if callee not in seen and callee not in kept:
                visit(callee)
        order.append(name)

    visit(kernel)
    copies = dict.fromkeys(order, 0)
    copies[kernel] = 1
    for name in reversed(order):
        for callee, count in functions[name].calls.items():
            if callee in copies:
                copies[callee] += count * copies[name]
    return copies

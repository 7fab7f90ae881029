"""Counters that are read to take a place, and counted on: their addresses are computed before they are accessed.

.. code-block:: text

    place = counts[digit]; counts[digit] = place + 1; result[place] = key

So are keys put in order by a digit, elements in buckets, edges in rows. LLVM makes the address of ``counts[digit]`` a
part of the load and of the store. On AMD's Zen 3 a load at a base and an index is then begun before the store that it
is to read, again and again where there are few counters, since another store whose address is not known yet is
between the two. Of a load at an address in a register that hardly ever happens: 4 million keys of 16 digits take 8 ms
to be put in order so, and 15 ms else; those of 256 digits 17 and 22 ms. It is one instruction more, which no processor
waits for.

Empty assembly hides from LLVM how an address was computed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from weft.machine.targets import Isa
from weft.target.definitions import parts_by_definition

_LABEL = re.compile(r"^[-\w.$]+:")
_LOAD = re.compile(r"^  (?P<value>%[-\w.$]+) = load i(?:32|64), ptr (?P<at>%[-\w.$]+)(?=,|$)")
_STORE = re.compile(r"^  store i(?:32|64) (?P<value>%[-\w.$]+), ptr (?P<at>%[-\w.$]+)(?=,|$)")
_PUT = re.compile(r"^  store [^%]* ?[^,]*, ptr (?P<at>%[-\w.$]+)(?=,|$)")
_LOADED, _STORED = (
    re.compile(rf"{op}, ptr (%[-\w.$]+)") for op in ("load i(?:32|64)", r"store i(?:32|64) %[-\w.$]+")
)
_ADDRESS = re.compile(r"^  (?P<name>%[-\w.$]+) = getelementptr .*, i64 %")
_STEP = re.compile(r"^  (?P<name>%[-\w.$]+) = (?:sext|zext|trunc|add|freeze|getelementptr)\b")
_NAME = re.compile(r"%[-\w.$]+")


def with_taken_places(text: str, isa: Isa) -> str:
    """Return a module's text in which the addresses of such counters are hidden, on x86."""
    if isa.arch != "x86_64":
        return text
    functions = parts_by_definition(text)
    return "".join([functions[0], *map(_with_hidden, functions[1:])])


def _with_hidden(function: str) -> str:
    if set(_LOADED.findall(function)).isdisjoint(_STORED.findall(function)):
        return function
    lines = function.split("\n")
    leading = _leading(lines)
    is_changed = False
    for block in _blocks(lines):
        hidden = {at for at, value in _counted(lines, block) if value in leading}
        for n in block if hidden else ():
            if (address := _ADDRESS.match(lines[n])) and address["name"] in hidden:
                at = address["name"]
                lines[n] += f'\n  {_place(at)} = call ptr asm "", "=r,0"(ptr {at}) nounwind memory(none)'
            elif (access := _LOAD.match(lines[n]) or _STORE.match(lines[n])) and access["at"] in hidden:
                begin, end = access.span("at")
                lines[n] = lines[n][:begin] + _place(access["at"]) + lines[n][end:]
            is_changed = True
    return "\n".join(lines) if is_changed else function


def _place(address: str) -> str:
    return f"%weft.place.{address[1:]}"


def _blocks(lines: list[str]) -> Iterator[range]:
    """The lines of each block."""
    begins = [n for n, line in enumerate(lines) if n == 0 or _LABEL.match(line)]
    yield from (range(a, b) for a, b in itertools.pairwise([*begins, len(lines)]))


def _counted(lines: list[str], block: range) -> Iterator[tuple[str, str]]:
    """The addresses, computed of an index in a block, that it loads from and then stores at, and what it loads."""
    computed: set[str] = set()
    loaded: dict[str, str] = {}
    for n in block:
        line = lines[n]
        if address := _ADDRESS.match(line):
            computed.add(address["name"])
        elif load := _LOAD.match(line):
            if load["at"] in computed:
                loaded[load["at"]] = load["value"]
        elif (store := _STORE.match(line)) and store["at"] in loaded:
            yield store["at"], loaded.pop(store["at"])


def _leading(lines: list[str]) -> set[str]:
    """What the addresses are computed of that something is stored at, and these."""
    parts = {step["name"]: _NAME.findall(line, step.end()) for line in lines if (step := _STEP.match(line))}
    found: set[str] = set()
    work = [store["at"] for line in lines if (store := _PUT.match(line))]
    while work:
        name = work.pop()
        if name not in found:
            found.add(name)
            work += parts.get(name, ())
    return found

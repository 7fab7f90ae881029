"""The library's sources in LLVM's text, taken apart into functions that can be copied into a program one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_ATTRIBUTES = re.compile(r"^attributes (#\d+) = \{ (.*) \}$", re.M)
_STRINGS = re.compile(r'\s*"[^"]*"(?:="[^"]*")?')
_METADATA = re.compile(r", !\w[\w.]* !\d+")
_ITEMS = re.compile(r"^define .*?^\}$|^declare [^\n]*$|^@[^\n]*$", re.M | re.S)
_SYMBOL = re.compile(r"@([\w.$]+)")
_HEAD = re.compile(r"^define (?:dso_local )?(?P<result>[^@]*)@(?P<symbol>[\w.$]+)")
_SPIRV_TYPE = re.compile(r'target\("spirv\.(\w+)"[^)]*\)')
_POINTERS = {"Image": "ptr addrspace(1)", "Sampler": "ptr addrspace(2)", "Event": "ptr"}
_RESULT_ATTRIBUTES = re.compile(r"\b(?:noundef|signext|zeroext|range\([^)]*\)|nofpclass\([^)]*\)) ?")


class Definition(Struct, frozen=True):
    """What a symbol of the library stands for.

    Parameters
    ----------
    text
        A function, a constant or a declaration, complete in itself.
    needs
        Symbols that it mentions.
    result
        The type that the function returns; empty where it is none that the library defines.
    """

    text: str
    needs: tuple[str, ...]
    result: str = ""


def plain_types(text: str) -> str:
    """Return LLVM's text with pointers for the types of SPIR-V, and with C's calling convention.

    An image is a pointer to its descriptor, a sampler the pointer whose address is the sampler's value; events are
    null: what they would be waited for has happened.
    """
    text = text.replace("spir_func ", "")
    if 'target("spirv.' not in text:
        return text
    return _SPIRV_TYPE.sub(lambda found: _POINTERS.get(found[1], found[0]), text)


def definitions_in(text: str) -> dict[str, Definition]:
    """Return what a module defines and declares, by symbol.

    Parameters
    ----------
    text
        The module, as clang writes it.
    """
    groups = {
        name: _STRINGS.sub("", content).replace("noinline ", "")
        for name, content in _ATTRIBUTES.findall(text)
    }
    found: dict[str, Definition] = {}
    for item in _ITEMS.findall(plain_types(text)):
        symbol, definition = _definition(_METADATA.sub("", item), groups)
        found[symbol] = definition
    return found


def _definition(item: str, groups: Mapping[str, str]) -> tuple[str, Definition]:
    symbols = _SYMBOL.findall(item)
    symbol = symbols[0]
    needs = tuple(sorted({name for name in symbols if name != symbol}))
    if item.startswith("@"):
        return symbol, Definition(item.replace(" dso_local", "") + "\n", needs)
    first, *rest = item.split("\n")
    first = first.replace("dso_local ", "").replace(" local_unnamed_addr", "")
    head = re.search(r" (#\d+)( \{)?$", first)
    attributes = groups.get(head[1], "") if head else ""
    if head:
        first = first[: head.start()]
    elif first.endswith(" {"):
        first = first[:-2]
    if first.startswith("declare"):
        return symbol, Definition(f"{first} {attributes}\n".replace(" \n", "\n"), needs)
    # A call's own attributes repeat what its callee's say.
    body = "\n".join(re.sub(r" #\d+$", "", line) for line in rest)
    first = re.sub(r"^define (?:internal |hidden )?", "define internal ", first)
    match = _HEAD.match(first.replace("internal ", ""))
    result = _RESULT_ATTRIBUTES.sub("", match["result"]).strip() if match else ""
    return symbol, Definition(f"{first} alwaysinline {attributes} {{\n{body}\n", needs, result)

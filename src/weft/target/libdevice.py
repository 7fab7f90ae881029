"""Functions of libdevice, NVIDIA's library of mathematics in LLVM bitcode, as text to stand behind a module's own.

Of the library's 2.6 MB only what a program reaches is taken. Its questions to NVVM (``__nvvm_reflect``), which nvcc's
compiler answers, are answered here: for which architecture, whether denormals are flushed, how exact roots are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from weft.diag.errors import UnresolvedError
from weft.machine.cuda_tools import find_libdevice

_NAME = re.compile(r"@([\w.$]+)")
_DEFINITION = re.compile(r"^define [^@\n]*@([\w.$]+)\(.*?^}$", re.MULTILINE | re.DOTALL)
_DECLARATION = re.compile(r"^declare [^@\n]*@([\w.$]+)\(.*$", re.MULTILINE)
_GLOBAL = re.compile(r"^@([\w.$]+) = .*$", re.MULTILINE)
_TYPE = re.compile(r"^(%[\w.]+) = type .*$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{ (.*) \}$", re.MULTILINE)
_OF_OTHERS = re.compile(r' ?"[\w-]+"="[^"]*"')
_GROUP = re.compile(r" #(\d+)")
_METADATA = re.compile(r", ![\w.]+ !\d+")
_QUESTION = re.compile(r"call i32 @__nvvm_reflect\(ptr @([\w.$]+)\)(?: #\d+)?")
_STRING = re.compile(r'c"(\w+)\\00"')
_REFLECT = "__nvvm_reflect"


class Library(Struct, frozen=True):
    """The library's text, taken apart.

    Parameters
    ----------
    parts
        What defines, or declares, each name.
    types
        Its named types.
    attributes
        Its groups of attributes, without those for the compiler that made it.
    strings
        Its string constants.
    """

    parts: Mapping[str, str]
    types: tuple[str, ...]
    attributes: Mapping[str, str]
    strings: Mapping[str, str]


def library_text(names: Iterable[str], present: Iterable[str], answers: Mapping[str, int]) -> str:
    """Return the definitions of functions of libdevice, and of all that they need.

    Parameters
    ----------
    names
        Functions that a module calls.
    present
        What the module declares or defines itself, and so must not be declared again.
    answers
        What ``__nvvm_reflect`` says of each name; 0 for others.

    Raises
    ------
    UnresolvedError
        The library is not installed, or has no such function.
    """
    names = sorted(names)
    if not names:
        return ""
    library = _library(names)
    missing = [name for name in names if not library.parts.get(name, "").startswith("define")]
    if missing:
        raise _unresolved(missing, "which libdevice does not have", None)
    present = set(present) - set(names)
    order: dict[str, None] = {}
    pending = names[::-1]
    while pending:
        name = pending.pop()
        if name in order or name == _REFLECT or name in present or name not in library.parts:
            continue
        order[name] = None
        part = _answered(library.parts[name], library, answers)
        pending += [found for found in _NAME.findall(part) if found != name][::-1]
    texts = [_own(_answered(library.parts[name], library, answers), library) for name in order]
    used = "\n".join(texts)
    types = [text for text in library.types if text.split(" ", 1)[0] in used]
    return "\n".join((*types, *texts)) + "\n"


def _answered(part: str, library: Library, answers: Mapping[str, int]) -> str:
    return _QUESTION.sub(
        lambda found: f"add i32 0, {answers.get(library.strings.get(found[1], ''), 0)}", part
    )


def _own(part: str, library: Library) -> str:
    """A part as it stands in another module: internal, its attributes written out."""
    part = _METADATA.sub("", part)
    part = _GROUP.sub(lambda found: f" {text}" if (text := library.attributes.get(found[1])) else "", part)
    return re.sub(r"^define (?:internal )?", "define internal ", part)


def _library(names: list[str]) -> Library:
    path = find_libdevice()
    if path is None:
        raise _unresolved(
            names,
            "and libdevice, which has them, is not installed",
            "install the package nvidia-nvvm, or set CUDA_HOME to a CUDA toolkit",
        )
    return _read(str(path))


@functools.cache
def _read(path: str) -> Library:
    from weft.target.llvm import disassemble

    with open(path, "rb") as file:
        text = disassemble(file.read())
    definitions = {found[1]: found[0] for found in _DEFINITION.finditer(text)}
    variables = {found[1]: found[0] for found in _GLOBAL.finditer(text)}
    declarations = {found[1]: found[0] for found in _DECLARATION.finditer(text)}
    strings = {
        name: string[1] for name, line in variables.items() if (string := _STRING.search(line)) is not None
    }
    attributes = {
        found[1]: _OF_OTHERS.sub("", f" {found[2]}").strip() for found in _ATTRIBUTES.finditer(text)
    }
    types = tuple(found[0] for found in _TYPE.finditer(text))
    return Library(declarations | variables | definitions, types, attributes, strings)


def _unresolved(names: list[str], why: str, hint: str | None) -> UnresolvedError:
    shown = ", ".join(f"{name}()" for name in names)
    error = UnresolvedError(f"the kernel calls {shown}, {why}", hint=hint)
    error.symbols = tuple(names)
    return error

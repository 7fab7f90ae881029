"""Copies into a program the builtins that it calls, with all that they need."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from weft.frontend.opencl.library.definitions import Definition, plain_types
from weft.frontend.opencl.library.elementwise import scalar_form, vector_function
from weft.frontend.opencl.library.handles import handle_function
from weft.frontend.opencl.library.mangling import builtin_name, demangle
from weft.frontend.opencl.library.sections import sections_of
from weft.frontend.opencl.library.sources import Library, LinkOptions, TextStore

_DECLARED = re.compile(r"^declare [^@\n]*@([\w.$]+)\(.*\n", re.M)
_DEFINED = re.compile(r"^define [^@\n]*@([\w.$]+)\(", re.M)
_FORWARDING = re.compile(r"define [^\n]*\{\n(?:[\w.]+:[^\n]*\n)?  %[^\n]* call [^\n]*\n  ret [^\n]*\n\}\s*")
_OF_OPERATIONS = ("afn", "arcp", "contract", "reassoc")
"""Flags that speak of operations, not of the numbers that there are."""

_FLOAT_CALL = re.compile(r" call (?=(?:noundef )?(?:half|float|double) @)")


def link(
    text: str,
    options: LinkOptions | None = None,
    store: TextStore | None = None,
    flags: Sequence[str] = (),
) -> str:
    """Return a program with the builtins that it calls.

    Each is an internal function that is always inlined. What stays declared is what the program declares and no
    builtin is, functions of the C library, LLVM's intrinsics, and weft's own primitives (``__weft_...``). Images,
    samplers and events have become pointers, and all functions but kernels have C's calling convention.

    Parameters
    ----------
    text
        The program as clang writes it for ``spir64``.
    options
        How it was built.
    store
        Where compiled sources of the library are kept.
    flags
        Fast-math flags of the program. Builtins that do nothing but call a function of LLVM's or C's have those of
        them that do not say which numbers there are.

    Raises
    ------
    CompileError
        clang refuses a source of the library.
    UnsupportedError
        There is no clang.
    """
    text = plain_types(text)
    declared = set(_DECLARED.findall(text))
    present = set(_DEFINED.findall(text))
    linker = _Linker(_library(options or LinkOptions(), store), declared | present)
    for symbol in sorted(declared):
        linker.want(symbol)
    if not linker.defined and not linker.texts:
        return text
    kept = _DECLARED.sub(lambda found: "" if found[1] in linker.defined else found[0], text)
    return "\n".join((kept, *(_with_flags(each, flags) for each in linker.texts)))


def _with_flags(definition: str, flags: Sequence[str]) -> str:
    """The text of a builtin with the program's flags, where all it does is to call another function of floats."""
    # Builtins call each other with what may be infinite or no number although the program has no such numbers.
    kept = [flag for flag in flags if flag in _OF_OPERATIONS]
    if not kept or _FORWARDING.fullmatch(definition) is None:
        return definition
    return _FLOAT_CALL.sub(f" call {' '.join(kept)} ", definition, count=1)


@functools.lru_cache(maxsize=8)
def _library(options: LinkOptions, store: TextStore | None) -> Library:
    return Library(options, store)


class _Linker:
    """Collects the texts of what a program calls.

    Attributes
    ----------
    defined
        Declarations of the program that have become definitions.
    texts
        What is added to the program.
    """

    def __init__(self, library: Library, present: set[str]) -> None:
        self._library = library
        self._present = present
        self._done: set[str] = set()
        self.defined: set[str] = set()
        self.texts: list[str] = []

    def want(self, symbol: str) -> None:
        """Add a symbol that the program declares, if the library has it, with all that it needs."""
        waiting = [(symbol, None)]
        while waiting:
            name, section = waiting.pop()
            if name in self._done:
                continue
            self._done.add(name)
            found = self._find(name, section)
            if found is None:
                continue
            definition, where = found
            if definition.text.startswith("declare"):
                if name not in self._present:
                    self.texts.append(definition.text)
                continue
            self.defined.add(name)
            self.texts.append(definition.text)
            waiting += [(need, where) for need in definition.needs]

    def _find(self, symbol: str, section: str | None) -> tuple[Definition, str] | None:
        """The definition of a symbol and its source: of the source that needs it, of another, or made by element."""
        if (handle := handle_function(symbol)) is not None:
            return handle, section or ""
        declared = None
        if section is not None:
            own = self._library.section(section).get(symbol)
            if own is not None and not own.text.startswith("declare"):
                return own, section
            declared = own
        plain = builtin_name(symbol)
        for other in sections_of(plain) if plain else ():
            definition = self._library.section(other).get(symbol)
            if definition is not None and not definition.text.startswith("declare"):
                return definition, other
        overload = demangle(symbol)
        if overload is not None and (scalar := scalar_form(overload)) is not None:
            made = self._by_element(symbol, scalar)
            if made is not None:
                return made
        return None if declared is None or section is None else (declared, section)

    def _by_element(self, symbol: str, scalar: str) -> tuple[Definition, str] | None:
        overload, of_scalar = demangle(symbol), demangle(scalar)
        if overload is None or of_scalar is None:
            return None
        for section in sections_of(of_scalar.name):
            element = self._library.section(section).get(scalar)
            if element is not None and element.result:
                text = vector_function(symbol, overload, scalar, element.result)
                return Definition(text, (scalar,), ""), section
        return None

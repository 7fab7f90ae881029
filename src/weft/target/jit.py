"""Loading object code into this process.

LLVM's ORC JIT does it, as a linker only: it unloads, and costs a quarter of a millisecond an object. Where each symbol
that the code needs comes from is settled before, so that no code runs that calls what nobody has defined.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.diag.errors import UnresolvedError
from weft.machine.host import demand_runnable
from weft.target.elf import Needed, needed_symbols, place_in_section
from weft.target.machine import TargetSpec, emit_object
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.target.llvm import LinkedLibrary, Linker

_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")
"""Whose symbols code may use without saying so: math functions, and helpers that `helpers.ll` lacks."""

_HELPERS = frozenset(
    (
        "__truncsfbf2", "__truncdfbf2", "__truncxfbf2", "__truncsfhf2", "__truncdfhf2", "__truncxfhf2",
        "__extendhfsf2", "__extendhfxf2", "__udivti3", "__umodti3", "__divti3", "__modti3", "__floatuntidf",
        "__floatuntisf", "__floatuntihf", "__floattidf", "__floattisf", "__floattihf", "__fixunsdfti",
        "__fixunssfti", "__fixunshfti", "__fixdfti", "__fixsfti", "__fixhfti",
    )
)  # fmt: skip
"""What `helpers.ll` defines: it comes before what libraries define, of which some take halves as integers."""

_names = itertools.count()


class LoadedCode:
    """Object code in executable memory; holding it keeps the code there.

    Parameters
    ----------
    library
        The linked object.
    text
        The first and the last address, exclusive, of the section with the first symbol named when loading.
    """

    __slots__ = ("__weakref__", "_library", "text")

    def __init__(self, library: LinkedLibrary, text: tuple[int, int] = (0, 0)) -> None:
        self._library = library
        self.text = text

    def address(self, symbol: str) -> int:
        """Return the address of a symbol named when loading.

        Raises
        ------
        KeyError
            It was not named.
        """
        return self._library.address[symbol]

    def keep_forever(self) -> None:
        """Never unload this code."""
        self._library.keep_forever()


def load_object(data: bytes, exports: Iterable[str], symbols: Mapping[str, int] | None = None) -> LoadedCode:
    """Load an object file.

    Parameters
    ----------
    data
        What `weft.target.machine.emit_object` gave, for this machine.
    exports
        Symbols of it whose addresses are wanted.
    symbols
        Addresses of undefined symbols; others come from `helpers.ll`, libm and what else this process has loaded.

    Raises
    ------
    UnresolvedError
        A symbol that it needs is nowhere.
    CompileError
        The bytes are no object file, or cannot be linked.
    SettingError
        Code is made for a processor whose instructions this one has not.
    """
    demand_runnable()
    linker = _linker()
    imports = _resolved(needed_symbols(data), symbols or {})
    library = linker.link(f"weft.{next(_names)}", data, exports, imports)
    return LoadedCode(library, _text(data, library.address))


def _text(data: bytes, addresses: Mapping[str, int]) -> tuple[int, int]:
    """From where to where the section is that has the first of some symbols."""
    symbol, address = next(iter(addresses.items()))
    offset, size = place_in_section(data, symbol)
    return address - offset, address - offset + size


def _resolved(needed: Iterable[Needed], given: Mapping[str, int]) -> dict[str, int]:
    """The addresses of symbols that the linker would not find by itself."""
    imports: dict[str, int] = {}
    unresolved: list[Needed] = []
    for symbol in needed:
        if symbol.name in given:
            imports[symbol.name] = given[symbol.name]
        elif symbol.name in _HELPERS and (helpers := _helpers(TargetSpec.chosen())):
            imports[symbol.name] = helpers.address(symbol.name)
        elif not is_loaded(symbol.name):
            unresolved.append(symbol)
    if unresolved:
        raise _unresolved(unresolved)
    return imports


def _unresolved(symbols: list[Needed]) -> UnresolvedError:
    named = [
        f"{symbol.name}, which {' and '.join(symbol.users)} uses" if symbol.users else symbol.name
        for symbol in symbols
    ]
    error = UnresolvedError(
        f"nobody defines {'; '.join(named)}: nothing has run",
        hint="load the library that has it, globally: ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)",
    )
    error.symbols = tuple(symbol.name for symbol in symbols)
    return error


def is_loaded(symbol: str) -> bool:
    """Whether a library of this process has a symbol."""
    try:
        getattr(_process(), symbol)
    except (AttributeError, UnicodeEncodeError):
        # A name that is no UTF-8 is nobody's.
        return False
    return True


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def helpers_needed(data: bytes, spec: TargetSpec) -> bytes | None:
    """The object file of what LLVM's code generator calls, where an object file needs any of it."""
    wanted = any(symbol.name in _HELPERS for symbol in needed_symbols(data))
    return _helpers_object(spec) if wanted else None


@functools.cache
def _helpers_object(spec: TargetSpec) -> bytes | None:
    """What LLVM's code generator calls; None where the architecture's runtime library has to have it."""
    if not spec.triple.startswith("x86_64"):
        return None
    return emit_object(Path(__file__).with_name("helpers.ll").read_text(), spec)


_loaded_helpers: dict[TargetSpec, LoadedCode] = {}


def _helpers(spec: TargetSpec) -> LoadedCode | None:
    """The helpers for a processor, which are never unloaded: code of any object may call them."""
    data = _helpers_object(spec)
    if data is None:
        return None
    name = f"weft.helpers.{next(_names)}"
    return made_once(
        _loaded_helpers, spec, lambda: LoadedCode(_linker().link(name, data, sorted(_HELPERS), {}))
    )


@functools.cache
def _linker() -> Linker:
    from weft.target.llvm import Linker

    for library in _LIBRARIES:
        _load_globally(library)
    return Linker()


def _load_globally(library: str) -> None:
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        # Another C library has these functions elsewhere; one that is missing is an error at loading.
        return

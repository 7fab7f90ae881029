"""Loading object code into this process.

LLVM's ORC JIT does it, as a linker only: it reports a missing symbol instead of ending the process, as MCJIT
does, unloads, and costs a quarter of a millisecond an object.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Iterable, Mapping

from weft.target.llvm import LinkedLibrary, Linker

_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")
"""Whose symbols code may use without saying so: math functions, and the helpers that LLVM's code generator
calls (conversions of half, 128-bit division)."""

_names = itertools.count()


class LoadedCode:
    """Object code in executable memory; holding it keeps the code there.

    Parameters
    ----------
    library
        The linked object.
    """

    __slots__ = ("_library",)

    def __init__(self, library: LinkedLibrary) -> None:
        self._library = library

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
        Addresses of undefined symbols; others come from libm and what else this process has loaded.

    Raises
    ------
    CompileError
        The object cannot be linked: a symbol is missing, or the bytes are no object file.
    """
    linker = _linker()
    return LoadedCode(linker.link(f"weft.{next(_names)}", data, exports, symbols or {}))


@functools.cache
def _linker() -> Linker:
    for library in _LIBRARIES:
        _load_globally(library)
    return Linker()


def _load_globally(library: str) -> None:
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        # Another C library has these functions elsewhere; one that is missing is an error at loading.
        return

"""Finding and loading the vector math libraries that are installed."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path

from msgspec import Struct

from weft.machine.targets import Isa
from weft.machine.vecmath import LIBRARIES, VectorFunction, VectorMathLibrary, function_in

OWN = "own"
"""Weft's own functions among the names of libraries."""


class LoadedLibrary(Struct, frozen=True):
    """A library that is mapped into this process.

    Parameters
    ----------
    library
        Its row of the table.
    file
        The name or path it was loaded by.
    handle
        Keeps it loaded, and answers for its symbols.
    """

    library: VectorMathLibrary
    file: str
    handle: ctypes.CDLL

    def address(self, symbol: str) -> int | None:
        """Return where a symbol is, or None when this version of the library lacks it."""
        try:
            function = getattr(self.handle, symbol)
        except AttributeError:
            return None
        return ctypes.cast(function, ctypes.c_void_p).value

    def function(
        self, name: str, element_bits: int, lanes: int, isa: Isa
    ) -> tuple[VectorFunction, int] | None:
        """Return a function for a vector type, and its address; None when this library has none."""
        function = function_in(self.library, name, element_bits, lanes, isa)
        address = self.address(function.symbol) if function else None
        return (function, address) if function and address else None


@functools.cache
def load(library: VectorMathLibrary) -> LoadedLibrary | None:
    """Load a library, from the loader's search path or from where wheels put shared objects."""
    for folder in ("", str(Path(sys.prefix, "lib"))):
        for file in library.files:
            path = os.path.join(folder, file)
            try:
                if library.preload:
                    ctypes.CDLL(os.path.join(folder, library.preload), mode=ctypes.RTLD_GLOBAL)
                return LoadedLibrary(library, path, ctypes.CDLL(path))
            except OSError:
                continue
    return None


def installed() -> tuple[LoadedLibrary, ...]:
    """Return the libraries to use, in order.

    The environment variable ``WEFT_VECTOR_MATH`` holds names from the table, separated by commas, to use only
    those, in that order, and `OWN` for weft's own functions; ``none`` turns vector math off.
    """
    names = _wanted()
    by_name = {library.name: library for library in LIBRARIES}
    loaded = [load(by_name[name]) for name in names if name in by_name]
    return tuple(library for library in loaded if library)


def wants_own() -> bool:
    """Whether functions of weft's own may be used."""
    return OWN in _wanted()


def _wanted() -> list[str]:
    chosen = os.environ.get("WEFT_VECTOR_MATH")
    if chosen is None:
        return [OWN, *(library.name for library in LIBRARIES)]
    return [name.strip() for name in chosen.split(",")]


def find_function(name: str, element_bits: int, lanes: int, isa: Isa) -> tuple[VectorFunction, int] | None:
    """Return the first installed function for a vector type, and its address; None where there is none.

    A vector wider than a register is for the caller to split.
    """
    for loaded in installed():
        found = loaded.function(name, element_bits, lanes, isa)
        if found:
            return found
    return None

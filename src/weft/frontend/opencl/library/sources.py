"""The library's sources, compiled by clang when a program first needs one, and kept."""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from weft.diag.errors import CompileError
from weft.frontend.clang import find_clang
from weft.frontend.opencl.library.definitions import Definition, definitions_in

_FOLDER = Path(__file__).parent
_HEADERS = ("base.h", "internal.h")
_TARGET = "spir64-unknown-unknown"
_OPTIONS = (
    *("-x", "cl", "-cl-std=CL3.0", "-cl-no-stdinc", f"--target={_TARGET}", "-S", "-emit-llvm", "-O1"),
    # Small functions without loops are wanted, that no pass has made for another machine or joined.
    *("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-strict-aliasing"),
    # Lanes take both ways of a branch: what is computed on either is chosen from.
    *("-mllvm", "-phi-node-folding-threshold=100", "-mllvm", "-two-entry-phi-node-folding-threshold=100"),
    # A sum of errors is what the source says; the two functions that may be contracted say so.
    *("-ffp-contract=off", "-fno-convergent-functions", "-Xclang", "-cl-ext=+all", "-w"),
)


class LinkOptions(Struct, frozen=True):
    """What of a program's build options the library heeds.

    Parameters
    ----------
    relaxed_math
        ``-cl-fast-relaxed-math`` or ``-cl-unsafe-math-optimizations``: functions may be less exact.
    """

    relaxed_math: bool = False


class TextStore(Protocol):
    """Keeps texts by key beyond the process."""

    def read(self, key: str) -> str | None:
        """Return what is kept, or None."""
        ...

    def write(self, key: str, text: str) -> None:
        """Keep a text."""
        ...


class Library:
    """The definitions of the library for one set of options.

    Parameters
    ----------
    options
        What the sources are compiled for.
    store
        Where compiled sources are kept; None for this process only.
    """

    def __init__(self, options: LinkOptions, store: TextStore | None) -> None:
        self.options = options
        self._store = store
        self._sections: dict[str, dict[str, Definition]] = {}

    def section(self, name: str) -> Mapping[str, Definition]:
        """Return the definitions of a source, by symbol.

        Raises
        ------
        CompileError
            clang refuses the source.
        UnsupportedError
            There is no clang.
        """
        found = self._sections.get(name)
        if found is None:
            found = self._sections[name] = self._load(name)
        return found

    def _load(self, name: str) -> dict[str, Definition]:
        key = _key(name, self.options)
        kept = self._store.read(key) if self._store is not None else None
        if kept is not None:
            return {s: Definition(text, tuple(needs), result) for s, text, needs, result in json.loads(kept)}
        definitions = definitions_in(compile_source(name, self.options))
        if self._store is not None:
            rows = [(symbol, d.text, d.needs, d.result) for symbol, d in definitions.items()]
            self._store.write(key, json.dumps(rows))
        return definitions


def compile_source(name: str, options: LinkOptions) -> str:
    """Return the LLVM IR of a source of the library, as clang writes it.

    Raises
    ------
    CompileError
        clang refuses the source.
    UnsupportedError
        There is no clang.
    """
    command = [*find_clang(_TARGET), *_flags(options)]
    for header in _HEADERS:
        command += ["-include", str(_FOLDER / header)]
    done = subprocess.run(
        [*command, str(_FOLDER / f"{name}.cl"), "-o", "-"], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise CompileError(f"clang cannot compile the builtin library's {name}.cl:\n{done.stderr}")
    return done.stdout


def _flags(options: LinkOptions) -> tuple[str, ...]:
    return (*_OPTIONS, *(("-DWEFT_RELAXED_MATH",) if options.relaxed_math else ()))


@functools.cache
def _key(name: str, options: LinkOptions) -> str:
    digest = hashlib.sha256("\0".join(_flags(options)).encode())
    for file in (*sorted(_FOLDER.glob("*.h")), _FOLDER / f"{name}.cl"):
        digest.update(file.read_bytes())
    return f"opencl-library-{digest.hexdigest()}"

"""A program from its source to what kernels are compiled from: linked, in one address space, everything inlined."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins

from weft.device.stored import kernel_from, scope_from, scope_row
from weft.diag.errors import ArgumentError
from weft.fast_math import FLAGS
from weft.frontend.device.definitions import check_inlined, reached
from weft.frontend.device.flatten import flatten
from weft.frontend.device.kept_calls import keep_calls
from weft.frontend.device.memory import Scope, scope_of
from weft.frontend.device.metadata import KernelInfo
from weft.frontend.device.primitives import SUB_GROUP_SIZE
from weft.frontend.opencl.arguments import kernel_infos
from weft.frontend.opencl.clang import compile_source, note_source, preprocessed
from weft.frontend.opencl.library import LinkOptions, link
from weft.frontend.opencl.options import BuildOptions, parse_options
from weft.ir.intrinsics import KERNEL_ATTRIBUTE
from weft.ir.reader import read_module
from weft.runtime.cache import CacheEntry, ObjectCache, cache_key, default_cache
from weft.target.machine import TargetSpec
from weft.target.passes import PassList, optimize

INLINED = PassList("inlined", ("always-inline", "globaldce"))
"""What is left of a program: kernels, and what they mention."""


class ProgramSource(Struct, frozen=True):
    """A program that was compiled to LLVM IR.

    Parameters
    ----------
    text
        Its kernels, with all that they call inlined, in one address space but for local memory.
    log
        clang's diagnostics.
    file
        What messages call the source.
    options
        How it was built.
    kernels
        What is known of each kernel, in the order of the source.
    scope
        Variables of program scope.
    """

    text: str
    log: str
    file: str
    options: BuildOptions
    kernels: Mapping[str, KernelInfo]
    scope: Scope

    @property
    def digest(self) -> str:
        """Tells programs apart."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """All of it, for `from_bytes`."""
        facts = {**_facts(self), "file": self.file, "options": self.options.text}
        return json.dumps(facts).encode() + b"\n" + self.text.encode()

    @staticmethod
    def from_bytes(data: bytes) -> ProgramSource:
        """What `to_bytes` has written.

        Raises
        ------
        ValueError, KeyError, TypeError
            The bytes are something else.
        """
        head, _, text = data.partition(b"\n")
        facts = json.loads(head)
        entry = CacheEntry(text, facts)
        return _restored(entry, facts["file"], parse_options(facts["options"]))

    def kernel(self, name: str) -> KernelInfo:
        """The kernel of a name.

        Raises
        ------
        ArgumentError
            There is none.
        """
        found = self.kernels.get(name)
        if found is None:
            hint = f"it has {', '.join(self.kernels)}" if self.kernels else "it has none"
            raise ArgumentError(f"the program has no kernel {name!r}", hint=hint)
        return found


def build_source(
    source: str, options: str = "", *, file: str = "", headers: Mapping[str, str] | None = None
) -> ProgramSource:
    """Compile OpenCL C as far as no kernel and no launch matters; kept in the compile cache.

    Parameters
    ----------
    source
        The program.
    options
        Build options as ``clBuildProgram`` takes them.
    file
        What messages call the source; made up of its hash where nothing is said.
    headers
        Texts that ``#include`` finds under these names.

    Raises
    ------
    BuildError
        clang refuses the program; `log` has what it says.
    SettingError
        An option is unknown.
    UnsupportedError
        The program has what weft does not run, such as recursion, or there is no clang.
    """
    parsed = parse_options(options)
    file = file or f"<opencl {hashlib.sha256(source.encode()).hexdigest()[:8]}>"
    note_source(file, source)
    cache = default_cache()
    if cache is None:
        return _built(source, parsed, file, headers)
    known = source if "#" not in source else preprocessed(source, parsed, file, headers)
    key = cache_key("opencl-source", known, repr(parsed), file, source if "__LINE__" in source else "")
    built: ProgramSource | None = None

    def make() -> CacheEntry:
        nonlocal built
        built = _built(source, parsed, file, headers)
        return CacheEntry(built.text.encode(), _facts(built))

    entry = cache.get_or_make(key, make)
    return built or _restored(entry, file, parsed)


def _built(source: str, options: BuildOptions, file: str, headers: Mapping[str, str] | None) -> ProgramSource:
    output = compile_source(source, options, file, headers)
    return finish(output.text, output.log, options, file)


def finish(text: str, log: str, options: BuildOptions, file: str) -> ProgramSource:
    """Make a program of what clang has made: with builtins, in one address space, inlined as far as that is sensible.

    Parameters
    ----------
    text, log
        LLVM IR, and clang's diagnostics.
    options, file
        How it was compiled, and what messages call the source.
    """
    flags = FLAGS if options.fastmath is True else options.fastmath or ()
    linked = link(reached(text), LinkOptions(relaxed_math="afn" in flags), _store(), flags)
    inlined = optimize(keep_calls(flatten(linked)), INLINED, TargetSpec.chosen().machine)
    module = read_module(inlined, filename=file)
    kernels = [f for f in module.definitions() if f.attribute(KERNEL_ATTRIBUTE) is not None]
    for kernel in kernels:
        check_inlined(kernel)
    return ProgramSource(inlined, log, file, options, kernel_infos(kernels, SUB_GROUP_SIZE), scope_of(module))


class _Texts(Struct, frozen=True):
    """Keeps the library's compiled sources in the compile cache."""

    cache: ObjectCache

    def read(self, key: str) -> str | None:
        entry = self.cache.get(cache_key(key))
        return None if entry is None else entry.code.decode()

    def write(self, key: str, text: str) -> None:
        self.cache.put(cache_key(key), CacheEntry(text.encode()))


def _store() -> _Texts | None:
    cache = default_cache()
    return None if cache is None else _Texts(cache)


def _facts(built: ProgramSource) -> dict[str, Any]:
    return {
        "log": built.log,
        "kernels": [to_builtins(kernel) for kernel in built.kernels.values()],
        "scope": scope_row(built.scope),
    }


def _restored(entry: CacheEntry, file: str, options: BuildOptions) -> ProgramSource:
    facts = json.loads(json.dumps(entry.metadata))
    kernels = {row["name"]: kernel_from(row) for row in facts["kernels"]}
    scope = scope_from(facts["scope"])
    return ProgramSource(entry.code.decode(), facts["log"], file, options, kernels, scope)

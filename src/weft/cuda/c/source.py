"""A program in CUDA C++ from its source to what kernels are compiled from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from weft.device.stored import kernel_from, scope_from, scope_row
from weft.diag.errors import ArgumentError
from weft.frontend.cuda_c.adopt import Assertion, assertions_of
from weft.frontend.cuda_c.arguments import kernel_infos
from weft.frontend.cuda_c.clang import NAMED, compile_source, known_by
from weft.frontend.cuda_c.options import CudaOptions
from weft.frontend.cuda_c.variables import Variable, scopes_of, variables_of
from weft.frontend.device.clang import note_source
from weft.frontend.device.definitions import reached
from weft.frontend.device.flatten import flatten
from weft.frontend.device.memory import Scope, scope_of
from weft.frontend.device.metadata import KernelInfo
from weft.ir import Function
from weft.ir.intrinsics import KERNEL_ATTRIBUTE
from weft.ir.reader import read_module
from weft.runtime.cache import CacheEntry, cache_key, default_cache
from weft.target.llvm import print_module
from weft.target.machine import TargetSpec
from weft.target.passes import PassList, optimize

INLINED = PassList("inlined", ("always-inline", "sroa", "globaldce"))
"""What is left of a program: kernels, what they mention, and what the host may set."""

_OLD_MARK = '!"kernel", i32 1}'
_NAMED = re.compile(rf"^@{NAMED}(\d+) = .*? ptr @([\w.$]+|\"[^\"]*\"),", re.M)
# What a unit lists beside its functions is host code's: types, variables and names of other namespaces.
_UNIT_LISTS = re.compile(
    r"(?<=[^\n]), (?:retainedTypes|globals|imports|enums|macros): !\d+(?=[^\n]*\)$)", re.M
)
_NAMED_LINE = re.compile(rf"^@{NAMED}\d+ = .*\n", re.M)
STATE_BYTES = 64
"""At the begin of a program's variables: the number of the assertion that did not hold."""


class CudaSource(Struct, frozen=True):
    """A program that was compiled to LLVM IR.

    Parameters
    ----------
    text
        Its kernels, with what they call inlined, in one address space but for shared memory.
    log
        clang's diagnostics.
    file
        What messages call the source.
    options
        How it was compiled.
    kernels
        What is known of each kernel, by symbol, in the order of the source.
    named
        The symbols of the kernels that were asked for by name expressions.
    scope
        The program's variables.
    variables
        Those of the source, by name.
    assertions
        What it asserts.
    """

    text: str
    log: str
    file: str
    options: CudaOptions
    kernels: Mapping[str, KernelInfo]
    named: tuple[str, ...]
    scope: Scope
    variables: Mapping[str, Variable]
    assertions: tuple[Assertion, ...]

    @property
    def digest(self) -> str:
        """Tells programs apart."""
        state = repr((sorted(self.scope.offsets.items()), self.options.contract))
        return hashlib.sha256((self.text + state).encode()).hexdigest()

    def symbol(self, name: str) -> str | None:
        """The symbol of the kernel of a name; None where there is none.

        Raises
        ------
        ArgumentError
            Several kernels have the name.
        """
        if name in self.kernels:
            return name
        found = [symbol for symbol, info in self.kernels.items() if name in (info.name, _unspaced(info.name))]
        if len(found) > 1:
            raise ArgumentError(
                f"the program has {len(found)} kernels {name!r}",
                hint=f"ask for one by its symbol: {', '.join(found)}",
            )
        return found[0] if found else None


def _unspaced(name: str) -> str:
    return name.replace(" ", "")


def build_source(
    source: str,
    options: CudaOptions,
    *,
    file: str = "",
    names: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    first: Sequence[str] = (),
) -> CudaSource:
    """Compile CUDA C++ as far as no launch matters; kept in the compile cache.

    Parameters
    ----------
    source, options
        The program.
    file
        What messages call the source; made up of its hash where nothing is said.
    names
        Expressions that name instances of kernel templates.
    headers
        Texts that ``#include`` finds under these names.
    first
        Symbols of variables that are to come first in memory, in this order.

    Raises
    ------
    BuildError
        clang refuses the program; `log` has what it says.
    UnsupportedError
        The program has what weft does not run, or there is no clang.
    """
    file = file or f"<cuda {hashlib.sha256(source.encode()).hexdigest()[:8]}>"
    note_source(file, source)
    cache = default_cache()
    if cache is None:
        return _built(source, options, file, names, headers, first)
    known = known_by(source, options, file, headers)
    key = cache_key("cuda-source", known, repr(options), file, repr(tuple(names)), repr(tuple(first)))
    built: CudaSource | None = None

    def make() -> CacheEntry:
        nonlocal built
        built = _built(source, options, file, names, headers, first)
        return CacheEntry(built.text.encode(), _facts(built))

    entry = cache.get_or_make(key, make)
    return built or _restored(entry, file, options)


def _built(
    source: str,
    options: CudaOptions,
    file: str,
    names: Sequence[str],
    headers: Mapping[str, str] | None,
    first: Sequence[str],
) -> CudaSource:
    output = compile_source(source, options, file, names, headers)
    # Kernels of clang before version 21 are marked aside; LLVM knows them.
    written = print_module(output.text) if _OLD_MARK in output.text else output.text
    found = {int(number): symbol.strip('"') for number, symbol in _NAMED.findall(written)}
    bare = _UNIT_LISTS.sub("", _NAMED_LINE.sub("", written))
    text = optimize(flatten(reached(bare)), INLINED, TargetSpec.chosen().machine)
    module = read_module(text, filename=file)
    kernels = [f for f in module.definitions() if f.attribute(KERNEL_ATTRIBUTE) is not None]
    infos = kernel_infos(kernels)
    assertions = assertions_of(module)
    scope = scope_of(module, first, STATE_BYTES)
    return CudaSource(
        text, output.log, file, options, {k.name: replace(infos[k.name], name=_title(k)) for k in kernels},
        tuple(found[k] for k in range(len(names))), scope, variables_of(module), assertions,
    )  # fmt: skip


def _title(kernel: Function) -> str:
    """What the source calls a kernel."""
    subprogram = kernel.subprogram
    if subprogram is None:
        return kernel.name
    return "::".join((*scopes_of(subprogram), subprogram.text("name") or kernel.name))


def _facts(built: CudaSource) -> dict[str, Any]:
    return {
        "log": built.log,
        "kernels": [[symbol, to_builtins(kernel)] for symbol, kernel in built.kernels.items()],
        "named": list(built.named),
        "scope": scope_row(built.scope),
        "variables": [[name, v.symbol, v.type] for name, v in built.variables.items()],
        "assertions": [[a.text, a.file, a.line] for a in built.assertions],
    }


def _restored(entry: CacheEntry, file: str, options: CudaOptions) -> CudaSource:
    facts = json.loads(json.dumps(entry.metadata))
    return CudaSource(
        entry.code.decode(), facts["log"], file, options,
        {symbol: kernel_from(row) for symbol, row in facts["kernels"]}, tuple(facts["named"]),
        scope_from(facts["scope"]), {name: Variable(*row) for name, *row in facts["variables"]},
        tuple(Assertion(*row) for row in facts["assertions"]),
    )  # fmt: skip

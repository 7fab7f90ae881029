"""Programs in CUDA C++, from Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.c.kernel import CKernel, Loaded
from weft.cuda.c.memory import VariableMemory
from weft.cuda.c.source import CudaSource, build_source
from weft.diag.call_site import call_site, located
from weft.diag.errors import ArgumentError, BuildError
from weft.frontend.cuda_c.arguments import WARP
from weft.frontend.cuda_c.options import parse_options
from weft.options import CompileOptions, kernel_brush, require_lane_options
from weft.switches import DEFAULT_REPLACEMENT, switches
from weft.target.once import made_once

_PTX = re.compile(r"(?:\s|//[^\n]*\n)*\.version\b")


class Module:
    """A program in CUDA C++; its kernels, and its variables as arrays, are its attributes.

    Parameters
    ----------
    source
        Its text, or the path of a file with it. Host code in it is read, and nothing is made of it.
    options
        Options as for nvcc or NVRTC, in a text or one by one: ``"-DN=16 -std=c++20 -use_fast_math"``.
    names
        Instances of kernel templates, as C++ names them: ``["add<float>"]``. ``module["add<float>"]`` makes others.
    headers
        Texts that ``#include`` finds under these names.
    debug
        Run kernels on the checking interpreter: out-of-bounds accesses, races, barriers that part of a block reaches,
        reads of what nobody wrote and more raise `weft.errors.SanitizerError` with the line.
    width
        Threads in a lane group, a power of two; 1 runs one after the other. weft chooses by default.
    brush, projection
        Threads in a lane group along z, y and x, or y and x, as ``(4, 16)`` or ``"4x16"``; and in which order these
        dimensions fill the lanes, ``(1, 0)`` with x fastest (docs/tensors.md).
    boscc, uniform_values, uniform_control, scalar_counters, scalar_replacement, without
        As for `weft.cuda.jit`.

    Raises
    ------
    BuildError
        The program does not compile; `log` of the error has clang's diagnostics.
    SettingError
        An option is unknown.
    ArgumentError
        The source is PTX.
    SignatureError, PassError
        An option of weft's has a value that it cannot have.

    Examples
    --------
    >>> module = Module("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(8, np.float32)
    >>> module.twice[1, 8](x)
    >>> float(x.sum())
    16.0
    """

    @located
    def __init__(
        self,
        source: str | Path,
        options: str | Sequence[str] = "",
        *,
        names: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        debug: bool = False,
        width: int | None = None,
        brush: Sequence[int] | str | None = None,
        projection: Sequence[int] | str | None = None,
        boscc: str = "auto",
        uniform_values: bool = True,
        uniform_control: bool = True,
        scalar_counters: bool = True,
        scalar_replacement: str = DEFAULT_REPLACEMENT,
        without: Sequence[str] = (),
    ) -> None:
        require_lane_options(width, boscc)
        box = kernel_brush(brush, projection, width)
        chosen = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
        self._options = parse_options(options)
        self._file = str(source) if isinstance(source, Path) else ""
        self._text = source.read_text(errors="replace") if isinstance(source, Path) else source
        if _PTX.match(self._text):
            raise ArgumentError(
                "the source is PTX, not CUDA C++", call_site(), "weft.ptx.Module(...) runs it"
            )
        self._headers = headers
        self._names = list(names)
        self._source = self._build(self._names)
        asked = CompileOptions(width=width, boscc=boscc, whole_rows=True, switches=chosen, brush=box)
        asked = replace(asked, fastmath=self._options.fastmath, warp=WARP)
        self._loaded = Loaded(VariableMemory(self._source.scope), asked, debug)
        self._kernels: dict[str, CKernel] = {}

    def _build(self, names: Sequence[str], first: Sequence[str] = ()) -> CudaSource:
        return build_source(
            self._text, self._options, file=self._file, names=names, headers=self._headers, first=first
        )

    @property
    def source(self) -> CudaSource:
        """What the kernels are compiled from."""
        return self._source

    @property
    def log(self) -> str:
        """What clang said of the source."""
        return self._source.log

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels, of templates those of their instances, in the order of the source."""
        return tuple(info.name for info in self._source.kernels.values())

    @property
    def variable_names(self) -> tuple[str, ...]:
        """Names of the ``__device__`` and ``__constant__`` variables, in the order of the source."""
        return tuple(self._source.variables)

    @located
    def __getitem__(self, name: str) -> CKernel:
        """Return a kernel by its name, its symbol, or an expression that names an instance of a template.

        Raises
        ------
        ArgumentError
            There is none.
        """
        return self.kernel(name)

    def kernels(self) -> list[CKernel]:
        """All kernels, of templates the instances that there are, in the order of the source."""
        return [self.kernel(symbol) for symbol in self._source.kernels]

    def kernel(self, name: str) -> CKernel:
        """As ``module[name]``."""
        symbol = self._source.symbol(name)
        if symbol is None and name in self._names:
            symbol = self._source.named[self._names.index(name)]
        if symbol is None:
            symbol = self._instance(name)
        found = symbol
        return made_once(
            self._kernels, found, lambda: CKernel(self._loaded, KernelOrigin(self._source, found))
        )

    def _instance(self, name: str) -> str:
        """The symbol of an instance of a template that no one has asked for yet."""
        names, offsets = [*self._names, name], self._source.scope.offsets
        try:
            built = self._build(names, sorted(offsets, key=lambda known: offsets[known]))
        except BuildError as error:
            listed = ", ".join(self.kernel_names)
            raise ArgumentError(
                f"the program has no kernel {name!r}: {error.message}",
                hint=f"it has {listed}"
                if listed
                else "it has none; name instances of templates: 'add<float>'",
            ) from None
        self._loaded.memory.add(built.scope)
        self._names, self._source = names, built
        return built.named[-1]

    def __getattr__(self, name: str) -> CKernel | np.ndarray[Any, Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._source.variables:
            return self.variable(name)
        symbol = self._source.symbol(name)
        if symbol is None:
            raise _Missing(f"the program has no kernel and no variable {name!r}", call_site(), self._hint())
        return self.kernel(symbol)

    def variable(self, name: str) -> np.ndarray[Any, Any]:
        """Return the memory of a ``__device__`` or ``__constant__`` variable, to read and to set.

        Raises
        ------
        ArgumentError
            There is none of the name.
        """
        if name not in self._source.variables:
            listed = ", ".join(self.variable_names)
            raise ArgumentError(
                f"the program has no variable {name!r}", hint=f"it has {listed}" if listed else "it has none"
            )
        return self._loaded.memory.view(self._source, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name in self._source.variables:
            self.variable(name)[...] = value
            return
        super().__setattr__(name, value)

    def _hint(self) -> str:
        listed = ", ".join((*self.kernel_names, *self.variable_names))
        return (
            f"it has {listed}" if listed else "it has none; name instances of templates: module['add<float>']"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kernel_names, *self.variable_names]

    def __repr__(self) -> str:
        return f"<weft CUDA C module {self._source.file}: {', '.join(self.kernel_names)}>"


class _Missing(ArgumentError, AttributeError):
    """The program has no kernel and no variable of the name that was asked for as an attribute."""

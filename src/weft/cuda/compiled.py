"""One compiled signature of a kernel: from the cache, or through the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from weft.codegen.arena import ArenaNeeds
from weft.codegen.run_unit import RunUnit
from weft.diag.remarks import Remark
from weft.diag.stored_remarks import restore_remarks, store_remarks
from weft.frontend.python.fingerprint import files_of
from weft.frontend.python.types import KernelType
from weft.machine.host import is_runnable
from weft.options import CompileOptions, Timings, checking
from weft.runtime.cache import default_cache
from weft.runtime.code_key import code_key
from weft.runtime.launch import Launcher
from weft.runtime.launch_terms import LaunchTerms
from weft.runtime.parameters import packer_for
from weft.runtime.printing import PRINT_SYMBOL
from weft.runtime.stored_code import StoredCode
from weft.runtime.symbols import called_symbols
from weft.target.machine import TargetSpec
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.check import CheckedLauncher
    from weft.passes.lower_kernel import LoweredKernel


@dataclass(frozen=True, slots=True)
class KernelSource:
    """What a kernel is compiled from: the Python function, and how."""

    function: Callable[..., Any]
    options: CompileOptions

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def file(self) -> str:
        return self.function.__code__.co_filename

    @property
    def parameters(self) -> tuple[str, ...]:
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount]


class CompiledKernel:
    """Machine code for one tuple of argument types, made when it is first launched.

    Attributes
    ----------
    types
        The argument types.
    timings
        Seconds in front end, weft's passes and LLVM; all zero when the code came from the cache.
    terms
        For which launches it is.
    """

    __slots__ = (
        "_launchers", "_lowered", "_remarks", "_stored", "source", "terms", "timings", "types",
    )  # fmt: skip

    def __init__(self, source: KernelSource, types: tuple[KernelType, ...]) -> None:
        self.source = source
        self.types = types
        self.timings = Timings()
        self._remarks: tuple[Remark, ...] = ()
        self._lowered: LoweredKernel | None = None
        self._launchers: dict[None, Launcher | CheckedLauncher] = {}
        cache = None if checking() else default_cache()
        key = None
        if cache is not None:
            key = code_key("kernel", source.function, types, source.options, TargetSpec.chosen())
        self._stored = StoredCode(
            cache, key, self._described, self._emitted, _symbols, lambda: self.lowered().text
        )
        self.terms = LaunchTerms(**self._stored.facts["terms"])

    @property
    def options(self) -> CompileOptions:
        """How it was compiled."""
        return self.source.options

    @property
    def from_cache(self) -> bool:
        """Whether the code came from the cache."""
        return self._stored.from_cache

    @property
    def launcher(self) -> Launcher | CheckedLauncher:
        """Runs the kernel."""
        return made_once(self._launchers, None, self._make_launcher)

    @property
    def is_ready(self) -> bool:
        """Whether the code is made, or loaded."""
        return bool(self._launchers)

    def ready(self) -> CompiledKernel:
        """The kernel, whose code is made by now if it can run here; otherwise it is made to be looked at."""
        if is_runnable():
            made_once(self._launchers, None, self._make_launcher)
        return self

    def _make_launcher(self) -> Launcher | CheckedLauncher:
        source = self.source
        code = self._stored.load()
        metadata = self._stored.facts
        arena = ArenaNeeds(**metadata["arena"])
        packer = packer_for(source.name, source.parameters, self.types)
        launcher = Launcher(
            code,
            metadata["entry"],
            packer,
            arena.bytes,
            RunUnit(**metadata["run_unit"]).groups,
            metadata["barrier_lines"],
            metadata["prints"],
        )
        if checking():
            from weft.check import CheckedLauncher

            return CheckedLauncher(launcher, packer, self.lowered(), source.options)
        return launcher

    def _described(self) -> dict[str, Any]:
        """What the launcher needs to know of the kernel, and users may ask."""
        lowered = self.lowered()
        return {
            "entry": lowered.entry,
            "arena": asdict(lowered.arena),
            "run_unit": asdict(lowered.run_unit),
            "terms": asdict(lowered.terms),
            "barrier_lines": list(lowered.barrier_lines),
            "prints": PRINT_SYMBOL in lowered.text,
            "math": {symbol: [m.name, m.bits, m.lanes] for symbol, m in lowered.math.items()},
            "remarks": store_remarks(self._remarks, files_of(self.source.function)),
        }

    def _emitted(self) -> bytes:
        from weft.cuda.build import emit

        return emit(self.lowered())

    def lowered(self) -> LoweredKernel:
        """The kernel as LLVM text before the final pipeline; compiled again when the code was cached."""
        if self._lowered is None:
            # Importing the compiler takes longer than loading a kernel from the cache, which does without.
            from weft.cuda.build import lower

            source = self.source
            self._lowered, self._remarks = lower(source.function, self.types, source.options, self.timings)
        return self._lowered

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was decided in compiling, be it long ago."""
        return restore_remarks(self._stored.facts["remarks"], files_of(self.source.function))

    def llvm(self) -> str:
        from weft.cuda.build import llvm

        return llvm(self.lowered())

    def assembly(self) -> str:
        from weft.cuda.build import assembly

        return assembly(self.lowered())


def _symbols(facts: Mapping[str, Any]) -> dict[str, int] | None:
    """Addresses of what compiled code calls; None when a vector math function is no longer installed."""
    return called_symbols(facts["math"])

"""Code of a kernel for one kind of arguments, from the cache or through the pipeline, for every door for kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from weft.codegen.arena import ArenaNeeds
from weft.codegen.order.run_unit import RunUnit
from weft.diag.remarks import Remark
from weft.diag.stored_remarks import restore_remarks, store_remarks
from weft.machine.host import is_runnable
from weft.options import CompileOptions, Overlap, Timings, checking
from weft.runtime.cache import default_cache
from weft.runtime.launch import Launcher
from weft.runtime.launch_terms import LaunchTerms
from weft.runtime.packing import ArgumentPacker
from weft.runtime.printing import PRINT_SYMBOL
from weft.runtime.row_numbers import FEW, Known, Restriction, restored, restrictions
from weft.runtime.shape import LaunchShape
from weft.runtime.stored_code import StoredCode
from weft.runtime.symbols import called_symbols
from weft.runtime.watching import LaneCount
from weft.target.jit import LoadedCode
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.check import CheckedLauncher
    from weft.passes.lower_kernel import LoweredKernel, StartedKernel

Started = tuple["StartedKernel", Sequence[Remark]]
"""A kernel up to where it is known which lengths of rows matter, and what was remarked before weft's passes."""


class CompiledKernelBase:
    """Machine code for one kind of arguments, made when it is first launched.

    At first it is compiled only as far as it takes to know which lengths of short rows matter: where launches have such
    rows, code that knows these runs (`weft.runtime.launch_terms`), and this one may never be wanted.

    A door says in a subclass what is compiled, and under which key it is kept.

    Parameters
    ----------
    types
        What tells the kinds of arguments apart.
    options
        How it is compiled.

    Attributes
    ----------
    timings
        Seconds in front end, weft's passes and LLVM; all zero when the code came from the cache.
    row_numbers
        The parameters that rows have their lengths from, and up to which there are specializations.
    """

    __slots__ = (
        "_lane_count", "_launchers", "_lowered", "_remarks", "_started", "_stored", "_whole", "options",
        "row_numbers", "timings", "types",
    )  # fmt: skip

    def __init__(self, types: Any, options: CompileOptions) -> None:
        self.types: Any = types
        self.options = options
        self.timings = Timings()
        self._remarks: tuple[Remark, ...] = ()
        self._started: StartedKernel | None = None
        self._lowered: LoweredKernel | None = None
        self._whole: dict[None, tuple[Mapping[str, Any], LaunchTerms]] = {}
        self._launchers: dict[None, Launcher | CheckedLauncher] = {}
        self._lane_count = LaneCount() if self.options.switches.count_lanes else None
        cache = None if checking() else default_cache()
        key = self._key() if cache is not None else None
        self._stored = StoredCode(
            cache, key, self._described, self._emitted, self._symbols, lambda: self.lowered().text,
            self._first_facts,
        )  # fmt: skip
        self.row_numbers = restored(self._stored.first_facts["row_numbers"])

    @abstractmethod
    def _key(self) -> str | None:
        """Return the key under which code is kept; None where it is for this process only."""

    @abstractmethod
    def _files(self) -> Sequence[str]:
        """Return the files that remarks are about, which may be elsewhere when code comes from the cache."""

    @abstractmethod
    def _packer(self) -> ArgumentPacker:
        """Return what makes slots of arguments."""

    @abstractmethod
    def _start(self) -> Started:
        """Compile the kernel up to where it is known which lengths of rows matter."""

    @property
    def terms(self) -> LaunchTerms:
        """For which launches it is."""
        return made_once(self._whole, None, self._make_known)[1]

    @property
    def overlap(self) -> Overlap:
        """Which launches are its own, by whether arrays overlap."""
        if self.terms.arrays_apart:
            return Overlap.NONE
        return Overlap.ANY if self.options.arrays_apart else Overlap.SOME

    def slots(self, args: Sequence[Any]) -> list[Any]:
        """The slots of arguments that are of its types."""
        return self._packer().pack(args, checked=True)

    def restrictions(self, known: Known, shape: LaunchShape) -> list[Restriction]:
        """For which numbers code for launches of a shape is that knows some of them; this code has to know none."""
        if shape.group_threads * shape.groups <= FEW:
            return []
        return restrictions(known, self.row_numbers)

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

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the launcher needs to know of the code."""
        return made_once(self._whole, None, self._make_known)[0]

    def _make_known(self) -> tuple[Mapping[str, Any], LaunchTerms]:
        facts = self._stored.facts
        return facts, LaunchTerms(**facts["terms"])

    def load(self) -> LoadedCode:
        """The code, linked into this process."""
        return self._stored.load()

    def object_code(self) -> bytes:
        """The code as an object file, for who links it elsewhere."""
        return self._stored.object_code()

    def make_ready(self) -> None:
        """Make the code, if it can run here; otherwise it is made to be looked at."""
        if is_runnable():
            made_once(self._launchers, None, self._make_launcher)
        else:
            made_once(self._whole, None, self._make_known)

    def _make_launcher(self) -> Launcher | CheckedLauncher:
        code, facts = self._stored.load(), self._stored.facts
        packer = self._packer()
        launcher = Launcher(
            code,
            facts["entry"],
            packer,
            ArenaNeeds(**facts["arena"]).bytes,
            RunUnit(**facts["run_unit"]).groups,
            facts["barrier_lines"],
            facts["prints"],
            facts["lanes"],
            facts["dimension"],
            RunUnit(**facts["run_unit"]).width > 1,
            facts["arena"]["resident"],
            self._lane_count,
            facts["run_unit"]["long"],
        )
        if checking():
            from weft.check import CheckedLauncher

            return CheckedLauncher(launcher, packer, self.lowered(), self.options)
        return launcher

    def _first_facts(self) -> dict[str, Any]:
        """What tells whether launches want other code than this."""
        return {"row_numbers": list(self._begun().row_numbers)}

    def _described(self) -> dict[str, Any]:
        """What the launcher needs to know of the kernel, and users may ask."""
        lowered = self.lowered()
        return {
            "entry": lowered.entry,
            "arena": asdict(lowered.arena),
            "run_unit": asdict(lowered.run_unit),
            "terms": asdict(lowered.terms),
            "row_numbers": list(lowered.row_numbers),
            "barrier_lines": list(lowered.barrier_lines),
            "prints": PRINT_SYMBOL in lowered.text,
            "lanes": 1 if lowered.summary is None else lowered.summary.width,
            "dimension": lowered.dimension or 0,
            "math": {symbol: [m.name, m.bits, m.lanes] for symbol, m in lowered.library_math.items()},
            "remarks": store_remarks(self._remarks, self._files()),
        }

    def _symbols(self, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Addresses of what compiled code uses; None when a vector math function is no longer installed."""
        return called_symbols(facts["math"], self._lane_count)

    def _emitted(self) -> bytes:
        from weft.passes.lower_kernel import emit_kernel
        from weft.target.machine import TargetSpec

        return emit_kernel(self.lowered(), TargetSpec.chosen())

    def lowered(self) -> LoweredKernel:
        """The kernel as LLVM text before the final pipeline; compiled again when the code was cached."""
        if self._lowered is None:
            started, self._started = self._begun(), None
            self._lowered = started.finish()
            self._remarks = (*self._remarks, *self._lowered.remarks)
        return self._lowered

    def _begun(self) -> StartedKernel:
        if self._started is None:
            self._started, remarks = self._start()
            self._remarks = tuple(remarks)
        return self._started

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was decided in compiling, be it long ago."""
        return restore_remarks(self.facts["remarks"], self._files())

    def llvm(self) -> str:
        """Optimized LLVM IR for this machine."""
        from weft.passes.lower_kernel import kernel_llvm
        from weft.target.machine import TargetSpec

        return kernel_llvm(self.lowered(), TargetSpec.chosen())

    def assembly(self) -> str:
        """Assembly for this machine."""
        from weft.passes.lower_kernel import kernel_assembly
        from weft.target.machine import TargetSpec

        return kernel_assembly(self.lowered(), TargetSpec.chosen())

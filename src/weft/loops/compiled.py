"""One compiled signature of a function: from the cache, or through the pipeline."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from weft.diag.remarks import Remark
from weft.diag.stored_remarks import restore_file, restore_remarks, store_file, store_remarks
from weft.frontend.python.fingerprint import files_of
from weft.frontend.python.types import KernelType, callees_of
from weft.jit_options import JitOptions
from weft.loops.argument_slots import bytes_of_arrays, restricted_sizes, slots_of_extents
from weft.machine.host import demand_runnable, is_runnable
from weft.options import Overlap, Timings, checking
from weft.runtime.array_memory import LONG
from weft.runtime.cache import default_cache
from weft.runtime.code_key import code_key
from weft.runtime.dispatch_records import Record, function_record
from weft.runtime.heap import Block, free_blocks, heap_symbols
from weft.runtime.interrupts import interruptible
from weft.runtime.parallel import parallel_symbols, prepare_pool
from weft.runtime.parameters import packer_for
from weft.runtime.printing import PRINT_SYMBOL, printing
from weft.runtime.results import Description, handed_over, result_memory, result_reader, slots_of
from weft.runtime.row_numbers import FEW, Known, Restriction, RowNumbers, numbers_of, restored, restrictions
from weft.runtime.settings import get_num_threads
from weft.runtime.stored_code import Facts, StoredCode
from weft.runtime.symbols import called_symbols
from weft.runtime.watching import WATCHERS, LaneCount, counts_lanes, tell
from weft.target.jit import LoadedCode
from weft.target.machine import TargetSpec
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.loops.build import Results
    from weft.passes.lower_function import LoweredFunction, StartedFunction

NO_BLOCKS: Sequence[Block] = ()
_FRAME = struct.Struct("@2Q")


def _has_all_tests(options: JitOptions) -> bool:
    """Whether all that finds parallel loops is installed, if they are looked for."""
    if not options.auto:
        return True
    from weft.analysis.symbolic.integer_sets import has_isl

    return has_isl()


class CompiledFunction:
    """Machine code for one tuple of argument types.

    Where lengths of short rows matter, or whether arrays overlap, code is made when it is wanted (`make_ready`): calls
    with such rows, or arrays, run code of their own. Other code is made at once.

    Attributes
    ----------
    function, options
        What it is made of, and how it is compiled.
    types
        The argument types.
    declared
        The type that a signature says it returns.
    record, few_record
        What machine code calls it by; None if that cannot. The second is for small arrays, where code for launches that
        know more serves others.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
    written
        The arguments, by number, that are arrays and may be written to, where it matters whether arrays overlap.
    timings
        Seconds in front end, weft's passes and LLVM; all zero when the code came from the cache.
    """

    __slots__ = (
        "_called_by", "_code", "_entry", "_errors", "_extents", "_format", "_heap", "_lane_count", "_lowered",
        "_memory", "_of_defaults", "_packer", "_parallel", "_read", "_ready", "_remarks", "_results", "_slots",
        "_started", "_stored", "_told_apart_by", "_twins", "_whole", "declared", "few_record", "function", "options",
        "record", "row_numbers", "timings", "types", "written",
    )  # fmt: skip

    def __init__(
        self,
        function: FunctionType,
        types: tuple[KernelType, ...],
        options: JitOptions,
        declared: KernelType | None = None,
        told_apart_by: RowNumbers | None = None,
        of_defaults: Known = (),
    ) -> None:
        self.function = function
        self._told_apart_by = told_apart_by
        self._of_defaults = of_defaults
        self.types = types
        self.declared = declared
        self.options = options
        self.timings = Timings()
        self._lane_count = LaneCount() if options.switches.count_lanes else None
        self._twins: dict[None, CompiledFunction] = {}
        self._code: LoadedCode | None = None
        self._ready: dict[None, bool] = {}
        self._whole: dict[None, Mapping[str, Any]] = {}
        self._started: StartedFunction | None = None
        self._lowered: LoweredFunction | None = None
        self._remarks: tuple[Remark, ...] = ()
        self._results: Results | None = None
        self.record: Record | None = None
        self.few_record: Record | None = None
        self._called_by: tuple[str, Description] | None = None
        code = function.__code__
        self._packer = packer_for(
            function.__name__, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], types
        )
        self._format = struct.Struct("@" + self._packer.formats)
        cache = default_cache()
        # The function tells how many of these are its arguments.
        typed = types if declared is None else (*types, declared)
        door = "jit" if _has_all_tests(options) else "jit without integer sets"
        key = None if cache is None else code_key(door, function, typed, options, TargetSpec.chosen())
        self._stored = StoredCode(
            cache, key, self._described, self._emitted, self._symbols, lambda: self.lowered().text,
            self._first_facts,
        )  # fmt: skip
        first = self._stored.first_facts
        self.row_numbers = restored(first["row_numbers"])
        self._extents: list[int] = first["extents"]
        self.written: tuple[int, ...] = tuple(first["written"])
        if not self.waits:
            self.make_ready()

    @property
    def waits(self) -> bool:
        """Whether it depends on the arguments of a call if it is wanted."""
        return bool(self.row_numbers) or self.is_for_apart

    @property
    def is_for_apart(self) -> bool:
        """Whether it is for calls only in which no array overlaps one that is written to."""
        return bool(self.written) and self.options.overlap is Overlap.NONE

    @property
    def is_ready(self) -> bool:
        """Whether the code is made, or loaded."""
        return bool(self._ready)

    def make_ready(self) -> None:
        """Make the code, or load it; code for a better machine than this one is only looked at."""
        made_once(self._ready, None, self._make)

    def _make(self) -> bool:
        function, types, options = self.function, self.types, self.options
        self._code = self._stored.load() if is_runnable() else None
        metadata = self._stored.facts
        self._parallel: bool = metadata["parallel"]
        self._heap: bool = metadata["heap"]
        self._extents = metadata["extents"]
        files = files_of(function, *callees_of(types)) if metadata["errors"] else ()
        self._errors = [
            [kind, message, restore_file(file, files), *place]
            for kind, message, file, *place in metadata["errors"]
        ]
        result = metadata["result"]
        self._slots = slots_of(result)
        self._memory, self._read = result_memory(result), result_reader(result)
        self._entry = _refuse if self._code is None else _entry_of(self._code, metadata)
        if self._code is not None and checking():
            from weft.check.entry import CheckedEntry

            self._entry = CheckedEntry(self._entry, self._packer, result, self.lowered, options)
        elif self._code is not None and not (metadata["prints"] or options.debug):
            self._called_by = metadata["entry"], result
            self.record = self.record_for(types)
            knows_rows = not set(self.options.known) <= set(self._of_defaults)
            if self.row_numbers and not knows_rows and self.options.overlap is not Overlap.SOME:
                # Code that knows lengths of rows is for no others, be there few elements or many.
                few = restrictions(self.options.known, (), self._of_defaults)
                few += [(n, 0, FEW) for n in self._extents]
                self.few_record = self._record_for(types, few + restricted_sizes(types, FEW))
        return True

    def record_for(self, types: Sequence[KernelType]) -> Record | None:
        """What machine code calls it by with arguments of these types, which make the slots of its own.

        None where it cannot, as where calls are checked, or code prints.
        """
        # What is for arrays that overlap has no versions for short rows.
        versions = self.options.overlap is not Overlap.SOME
        # Once some numbers are known others may matter, which calls are not looked up by.
        numbers = self.row_numbers if self._told_apart_by is None else self._told_apart_by
        only = restrictions(self.options.known, numbers if versions else (), self._of_defaults)
        if self.options.small_arrays:
            only += [(n, 0, LONG - 1) for n in self._extents]
            only += restricted_sizes(types, LONG)
        return self._record_for(types, only)

    def _record_for(self, types: Sequence[KernelType], only: Sequence[Restriction]) -> Record | None:
        if self._called_by is None or self._code is None:
            return None
        overlap = self.options.overlap if self.written else Overlap.ANY
        record = function_record(
            types, self._code, *self._called_by, self._parallel, self._heap, only, overlap, self.written
        )
        if record is not None:
            record.finish = self.finish
        return record

    def plain_entry(self) -> int | None:
        """The address of its code, for machine code that knows how to call it; None where that may not.

        It takes slots, and a frame where one of `weft.runtime.heap` is, as it returns nothing.
        """
        if self._called_by is None or self._code is None or self._slots:
            return None
        if self.row_numbers or self.options.small_arrays or self.written:
            # It is for some arguments of these types only.
            return None
        return self._code.address(self._called_by[0])

    def known_numbers(self, args: Sequence[Any]) -> Known:
        """What code for such arguments may know, if it is worth it to make some."""
        if not self.row_numbers:
            return ()
        slots = self._packer.pack(args, checked=True)
        if all(slots[n] <= FEW for n in self._extents):
            return ()
        return numbers_of(self.row_numbers, slots)

    def _first_facts(self) -> Facts:
        """What tells whether calls want other code than this."""
        numbers = list(self._begun().row_numbers)
        assert self._results is not None
        extents = slots_of_extents(self.types) if numbers else []
        return {"row_numbers": numbers, "extents": extents, "written": list(self._results.written)}

    def _described(self) -> Facts:
        """What calls need to know of the function, and users may ask."""
        lowered = self.lowered()
        assert self._results is not None
        files = files_of(self.function, *callees_of(self.types))
        return {
            "entry": lowered.entry,
            "parallel": lowered.parallel,
            "heap": lowered.heap,
            "prints": PRINT_SYMBOL in lowered.text,
            "row_numbers": list(lowered.row_numbers),
            "extents": slots_of_extents(self.types),
            "written": list(self._results.written),
            "result": self._results.description,
            "errors": [
                [kind, message, store_file(file, files), *place]
                for kind, message, file, *place in self._results.errors
            ],
            "math": {symbol: [m.name, m.bits, m.lanes] for symbol, m in lowered.library_math.items()},
            "remarks": store_remarks(self._remarks, files),
        }

    def _symbols(self, metadata: Mapping[str, Any]) -> dict[str, int] | None:
        """Addresses of what compiled code uses; None when a vector math function is no longer installed."""
        symbols = called_symbols(metadata["math"], self._lane_count)
        if symbols is not None and metadata["parallel"]:
            symbols |= parallel_symbols()
        if symbols is not None and metadata["heap"]:
            symbols |= heap_symbols()
        return symbols

    def _emitted(self) -> bytes:
        from weft.loops.build import emit

        return emit(self.lowered())

    def call(self, args: Sequence[Any]) -> Any:
        """Run the function on arguments of exactly the compiled types.

        Raises
        ------
        ArgumentError
            A number does not fit its type; nothing has run.
        ArrayShapeError, OutOfMemoryError
            An array could not be made.
        """
        try:
            slots = self.pack(self._packer.pack(args, checked=True))
        except (struct.error, OverflowError):
            raise self._packer.blame(args) from None
        return self.run(slots, args)

    def pack(self, values: Sequence[Any]) -> bytes:
        """Lay out the values of the slots, which are those of the arguments one after the other.

        Raises
        ------
        struct.error, OverflowError
            A number does not fit its slot.
        """
        return self._format.pack(*values)

    def run(self, slots: bytes, args: Sequence[Any] = ()) -> Any:
        """Run the function on packed slots; a result that leads into an array needs the arguments too."""
        if counts_lanes() and self._lane_count is None:
            return self._counting().run(slots, args)
        self.make_ready()
        if self._parallel:
            prepare_pool()
        memory = self._memory()
        counted = (0, 0) if self._lane_count is None else self._lane_count.now()
        start = time.perf_counter() if WATCHERS else 0.0
        try:
            self._entry(slots, memory)
        except BaseException:
            # An interrupt: nobody will have the arrays that were handed over by then.
            if self._heap:
                free_blocks(memory[self._slots])
            raise
        if start:
            threads = get_num_threads() if self._parallel else 1
            active = None if self._lane_count is None else self._lane_count.active_since(counted)
            size = bytes_of_arrays(self.types, slots)
            tell("call", self.function.__name__, start, threads=threads, bytes=size, active=active)
        return self.finish(memory, args)

    def _counting(self) -> CompiledFunction:
        """The same function, in code that counts lanes."""
        options = replace(self.options, switches=replace(self.options.switches, count_lanes=True))
        return made_once(
            self._twins, None, lambda: CompiledFunction(self.function, self.types, options, self.declared)
        )

    def finish(self, memory: Any, args: Sequence[Any]) -> Any:
        """The value of a result's words, which the function has left.

        Raises
        ------
        ArrayShapeError, OutOfMemoryError, Exception
            It has told an error, or raised one.
        """
        if not self._heap:
            return self._read(memory, args, NO_BLOCKS)
        head, error = _FRAME.unpack_from(memory, 8 * self._slots)
        return self._read(memory, args, handed_over(head, error, self._errors))

    def lowered(self) -> LoweredFunction:
        """The function as LLVM text before the final pipeline; compiled again when the code was cached."""
        if self._lowered is None:
            started, self._started = self._begun(), None
            self._lowered = started.finish()
            self._remarks = (*self._remarks, *self._lowered.remarks)
        return self._lowered

    def _begun(self) -> StartedFunction:
        if self._started is None:
            from weft.loops.build import start

            self._started, self._results, self._remarks = start(
                self.function, self.types, self.declared, self.options, self.timings
            )
        return self._started

    def remarks(self) -> tuple[Remark, ...]:
        """What was decided in compiling, be it long ago."""
        facts = made_once(self._whole, None, lambda: self._stored.facts)
        return restore_remarks(facts["remarks"], files_of(self.function, *callees_of(self.types)))

    def llvm(self) -> str:
        from weft.loops.build import llvm

        return llvm(self.lowered())

    def assembly(self) -> str:
        from weft.loops.build import assembly

        return assembly(self.lowered())


def _entry_of(code: LoadedCode, metadata: Mapping[str, Any]) -> Callable[[bytes, Any], None]:
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    entry = interruptible(code.address(metadata["entry"]), signature)
    return printing()(entry) if metadata["prints"] else entry


def _refuse(slots: bytes, memory: Any) -> None:
    demand_runnable()

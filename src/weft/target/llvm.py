"""The border to llvmlite: everything of it that weft uses, with types.

llvmlite carries no annotations; the rest of weft sees only what this file exports. Each parsed module has a
context of its own, so that compiling does not fill LLVM's global one for good.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import llvmlite
import llvmlite.binding as binding

from weft.diag.errors import CompileError
from weft.machine.llvm_contexts import parsed_alone
from weft.machine.targets import best_isa
from weft.target.once import FORK_LOCKS

LLVMLITE_VERSION: str = llvmlite.__version__
LLVM_VERSION: tuple[int, int, int] = tuple(binding.llvm_version_info)

_LOCK: AbstractContextManager[Any] = binding.ffi.lib._lock
"""What llvmlite holds in each call of LLVM; the thread that has it may take it again."""

FORK_LOCKS.append(_LOCK)

_PASS_METHODS = {
    "always-inline": "add_always_inliner_pass",
    "globaldce": "add_global_dead_code_eliminate_pass",
    "sroa": "add_sroa_pass",
    "simplifycfg": "add_simplify_cfg_pass",
    "instcombine": "add_instruction_combine_pass",
    "sccp": "add_sccp_pass",
    "newgvn": "add_new_gvn_pass",
    "adce": "add_aggressive_dce_pass",
    "dce": "add_dead_code_elimination_pass",
    "dse": "add_dead_store_elimination_pass",
    "loop-simplify": "add_loop_simplify_pass",
    "loop-unroll": "add_loop_unroll_pass",
    "lcssa": "add_lcssa_pass",
    "lowerswitch": "add_lower_switch_pass",
    "mergereturn": "add_unify_function_exit_nodes_pass",
    "verify": "add_verifier",
}
"""The passes offered one by one, under LLVM's names of them."""

PASS_NAMES = frozenset(_PASS_METHODS)


class TargetMachine:
    """LLVM's description of one processor, with the options code is generated under.

    Parameters
    ----------
    triple, cpu, features
        As LLVM spells them; empty `cpu` and `features` mean the least of the architecture.
    level
        How hard the code generator optimizes, 0 to 3; on aarch64 at least 1.
    """

    __slots__ = ("_machine", "data_layout", "isa", "triple")

    def __init__(self, triple: str, cpu: str, features: str, level: int) -> None:
        _initialize(triple.startswith(_native_arch()))
        _restrain_scalar_evolution()
        # Level 0 of aarch64 is another code generator, which knows fewer vectors: it stops the process at some of
        # pointers.
        opt = max(level, 1) if triple.startswith("aarch64") else level
        try:
            target = binding.Target.from_triple(triple)
            # Position-independent code of the small model is what a cached object can be linked as anywhere:
            # calls go through stubs, so it does not matter how far away a library is mapped.
            self._machine: Any = target.create_target_machine(
                cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="default", jit=True
            )
        except RuntimeError as error:
            raise CompileError(f"LLVM has no target machine for {triple} {cpu}: {error}") from None
        self.triple = triple
        named = {text[1:] for text in features.split(",") if text.startswith("+")}
        self.isa = best_isa(triple.split("-", 1)[0], named, cpu)
        self.data_layout = str(self._machine.target_data)

    def emit_object(self, module: ParsedModule) -> bytes:
        return _refusing(self._machine.emit_object, module.ref)

    def emit_assembly(self, module: ParsedModule) -> str:
        return _refusing(self._machine.emit_assembly, module.ref)


class ParsedModule:
    """An LLVM module in LLVM's own memory, parsed from text and verified.

    Parameters
    ----------
    text
        LLVM IR. Its ``target`` lines may be missing; where present, their architecture must be `machine`'s.
    machine
        What the module is for: gives triple and data layout.
    """

    __slots__ = ("ref",)

    def __init__(self, text: str, machine: TargetMachine) -> None:
        self.ref: Any = _parsed(_targeted(text, machine))
        _refusing(self.ref.verify)

    def replace(self, text: str, machine: TargetMachine) -> None:
        """Become another module, that of a text."""
        self.ref = ParsedModule(text, machine).ref

    def __str__(self) -> str:
        return str(self.ref)

    def bitcode(self) -> bytes:
        """The module in LLVM's binary format."""
        return self.ref.as_bitcode()

    def run_passes(self, names: Iterable[str], machine: TargetMachine) -> None:
        """Run passes one by one, each over the whole module, in the order given.

        Modules with more loops in a function than `weft.target.newgvn` says go without ``newgvn``, which may take no
        store away. To ``instcombine`` extrema are given without a nest (`weft.target.rewrites.nested_extrema`).
        """
        # Calls of kept code, which need the rest of this file, run no passes.
        from weft.target.newgvn import is_bounded
        from weft.target.rewrites.nested_extrema import without_nested_extrema

        # LLVM takes longer to print a module than some passes do.
        text: str | None = None
        for name, group in itertools.groupby(
            names, key=lambda n: n if n in ("newgvn", "instcombine") else ""
        ):
            if name == "newgvn":
                if is_bounded(self.ref):
                    text = self._run_newgvn(machine)
                continue
            if name == "instcombine" and (other := without_nested_extrema(text or str(self))) is not None:
                self.replace(other, machine)
            self._run_each(group, machine)
            text = None

    def _run_each(self, names: Iterable[str], machine: TargetMachine) -> None:
        manager = binding.create_new_module_pass_manager()
        for name in names:
            getattr(manager, _PASS_METHODS[name])()
        self._run(manager, binding.create_pipeline_tuning_options(0), machine)

    def _run_newgvn(self, machine: TargetMachine) -> str | None:
        """Run it; the module's text, where that is known."""
        from weft.target.known_conditions import with_hidden_conditions, with_shown_conditions
        from weft.target.newgvn import has_lost_stores, with_plain_stores, with_unordered_stores

        _restrain_newgvn()
        before = str(self)
        hidden = with_hidden_conditions(before)
        if hidden is not None:
            self.replace(hidden, machine)
        given = hidden or before
        self._run_each(["newgvn"], machine)
        after = str(self)
        if not has_lost_stores(given, after):
            if hidden is None:
                return after
            self.replace(with_shown_conditions(after), machine)
            return None
        unordered = with_unordered_stores(given)
        if unordered is not None:
            self.replace(unordered, machine)
            self._run_each(["newgvn"], machine)
            after = str(self)
            if not has_lost_stores(unordered, after):
                self.replace(with_shown_conditions(with_plain_stores(after)), machine)
                return None
        self.replace(before, machine)
        return None

    def run_pipeline(
        self,
        level: int,
        machine: TargetMachine,
        *,
        unroll: bool = True,
        vectorize: bool = False,
        superwords: bool = True,
    ) -> None:
        """Run LLVM's default pipeline ``O<level>``, with its loop and superword vectorizers if told so."""
        tuning = _tuning(level, unroll, vectorize)
        tuning.slp_vectorization = vectorize and superwords
        self._run(None, tuning, machine)

    def simplify_functions(self, level: int, machine: TargetMachine, *, unroll: bool = True) -> None:
        """Run the part of pipeline ``O<level>`` that simplifies one function, once on each."""
        tuning = _tuning(level, unroll, vectorize=False)
        builder = binding.create_pass_builder(machine._machine, tuning)
        manager = builder.getFunctionPassManager()
        for function in self.ref.functions:
            if not function.is_declaration:
                _refusing(manager.run, function, builder)

    def _run(self, manager: Any, tuning: Any, machine: TargetMachine) -> None:
        builder = binding.create_pass_builder(machine._machine, tuning)
        _refusing((manager or builder.getModulePassManager()).run, self.ref, builder)


def _tuning(level: int, unroll: bool, vectorize: bool) -> Any:
    """What tunes a pipeline ``O<level>``: without its vectorizers it leaves vectors as they are."""
    tuning = binding.create_pipeline_tuning_options(level)
    tuning.loop_vectorization = vectorize
    tuning.loop_interleaving = vectorize
    tuning.slp_vectorization = vectorize
    tuning.loop_unrolling = unroll
    return tuning


def disassemble(data: bytes) -> str:
    """Return the text of a module in bitcode, its target being any.

    Raises
    ------
    CompileError
        It is no bitcode of this or an earlier LLVM.
    """
    return str(_refusing(parsed_alone, binding.parse_bitcode, data))


def print_module(text: str) -> str:
    """Return a module's text as this version of LLVM writes it, its target being any.

    Raises
    ------
    CompileError
        LLVM's parser or verifier refuses the module.
    """
    module = _parsed(text)
    _refusing(module.verify)
    return str(module)


def _parsed(text: str) -> Any:
    """Return the module of a text; LLVM brings older text into today's form, but for names in debug information."""
    for old, name in _RENAMED.items():
        text = text.replace(old, name)
    return _refusing(parsed_alone, binding.parse_assembly, text)


class LinkedLibrary:
    """Object code in executable memory; unloaded when the last reference goes.

    Parameters
    ----------
    address
        Address of each exported symbol.
    """

    __slots__ = ("_tracker", "address")

    def __init__(self, tracker: Any, exports: Iterable[str]) -> None:
        self._tracker = tracker
        self.address: Mapping[str, int] = {name: tracker[name] for name in exports}

    def keep_forever(self) -> None:
        """Never unload: for code that threads may still run while the interpreter shuts down."""
        self._tracker.detach()


class Linker:
    """One ORC JIT session, of which only the linker is used: what comes in is object code."""

    __slots__ = ("_jit",)

    def __init__(self) -> None:
        _initialize(native=True)
        # LLVM's older linker, the faster one, maps each section by itself: elsewhere than on x86-64 they may lie too
        # far apart for the instructions that lead from one to the other. The newer keeps an object in one place.
        others = not _native_arch().startswith("x86_64")
        self._jit: Any = binding.create_lljit_compiler(use_jit_link=others, suppress_errors=True)

    def link(
        self, name: str, data: bytes, exports: Iterable[str], imports: Mapping[str, int]
    ) -> LinkedLibrary:
        """Link an object file under a name not used before.

        Undefined symbols come from `imports`, then from the libraries of this process.
        """
        exports = tuple(exports)
        builder = binding.JITLibraryBuilder().add_object_img(data).add_current_process()
        for symbol in exports:
            builder.export_symbol(symbol)
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        try:
            tracker = builder.link(self._jit, name)
        except RuntimeError as error:
            raise CompileError(f"object code cannot be linked: {str(error).strip()}") from None
        return LinkedLibrary(tracker, exports)


@functools.cache
def host_cpu() -> tuple[str, str, str]:
    """Return triple, processor and features of this machine, absent features as ``-name``.

    The name of a processor promises features that a hypervisor may withhold, so the absent ones matter.
    """
    _initialize(native=True)
    features = binding.get_host_cpu_features()
    return binding.get_process_triple(), binding.get_host_cpu_name(), features.flatten()


@functools.cache
def _initialize(native: bool) -> None:
    if native:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        # Inline assembly would end the process without it.
        binding.initialize_native_asmparser()
    else:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()


@functools.cache
def _native_arch() -> str:
    return binding.get_process_triple().split("-")[0]


@functools.cache
def _restrain_newgvn() -> None:
    # Its "φ of operations" makes new φs, a partial redundancy elimination in small, and was the part of
    # NewGVN that miscompiled (llvm-project issue 53277 and others).
    binding.set_option("weft", "--enable-phi-of-ops=false")


@functools.cache
def _restrain_scalar_evolution() -> None:
    # Sums of more terms are taken as they stand. LLVM takes 4096 for many, and its reduction of the strength of
    # loops builds each sum of a hundred choices again and again.
    binding.set_option("weft", "--scalar-evolution-huge-expr-threshold=100")


_RENAMED = {"DW_CC_LLVM_OpenCLKernel": "DW_CC_LLVM_DeviceKernel"}
"""Names that LLVM has changed and does not read any more: that of LLVM 20 and before, and today's."""

# Words are found sooner than the lines that begin with them, of which there are many.
_TARGET_LINE = re.compile(r"target (datalayout|triple) = \"([^\"]*)\"")
_CPU_ATTRIBUTES = ("target-cpu", "target-features", "tune-cpu", "min-legal-vector-width")
_CPU_ATTRIBUTE = re.compile(rf" ?\"(?:{'|'.join(_CPU_ATTRIBUTES)})\"=\"[^\"]*\"")


def _targeted(text: str, machine: TargetMachine) -> str:
    """Return the text with the machine's ``target`` lines, without attributes that overrule the machine.

    Among these is clang's mark on scalar code that it needs no wide registers, under which processors tuned for
    256 bits split 512-bit vectors.
    """

    def without(found: re.Match[str]) -> str:
        if found.start() and text[found.start() - 1] != "\n":
            return found[0]
        what, value = found.groups()
        if what == "triple" and value and value.split("-")[0] != machine.triple.split("-")[0]:
            raise CompileError(f"a module for {value} cannot be compiled for {machine.triple}")
        return ""

    left = _TARGET_LINE.sub(without, text)
    if any(f'"{name}"=' in left for name in _CPU_ATTRIBUTES):
        left = _CPU_ATTRIBUTE.sub("", left)
    # On the first line, so that LLVM's complaints name the lines of the text as it was given.
    return f'target datalayout = "{machine.data_layout}" target triple = "{machine.triple}" {left}'


def _refusing(function: Any, *arguments: Any) -> Any:
    """Call llvmlite; what LLVM refuses becomes a `CompileError`."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the module: {str(error).strip()}") from None
    except UnicodeDecodeError as error:
        # LLVM names the first byte of a character of several.
        message = bytes(error.object).decode(errors="backslashreplace")
        raise CompileError(f"LLVM refused the module: {message.strip()}") from None

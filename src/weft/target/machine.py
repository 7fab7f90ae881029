"""What machines code is made for, and making it: LLVM text in, object code or assembly out.

LLVM is loaded when something is asked of it, not with this module: importing weft does without.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from weft.machine.host import chosen, host
from weft.machine.targets import Isa, best_isa

if TYPE_CHECKING:
    from weft.target.llvm import ParsedModule, TargetMachine
    from weft.target.passes import PassList, Pipeline


class TargetSpec(Struct, frozen=True):
    """What to generate code for; equal specs share one target machine.

    Parameters
    ----------
    triple, cpu, features
        As LLVM spells them.
    level
        How hard the code generator optimizes, 0 to 3.
    """

    triple: str
    cpu: str = ""
    features: str = ""
    level: int = 3

    @classmethod
    def host(cls, level: int = 3) -> TargetSpec:
        """Return the machine this process runs on, with all it offers."""
        return cls(*_host_cpu(), level)._with_own_gathers()

    @classmethod
    def chosen(cls, level: int = 3) -> TargetSpec:
        """Return the machine that code is made for: this process's, or the one that the user has named."""
        machine = chosen()
        if machine is host():
            return cls.host(level)
        triple, cpu, offered = _host_cpu()
        has = [f"+{feature}" for feature in sorted(machine.features)]
        if machine.lacking and machine.cpu == cpu:
            # Of what the name promises a hypervisor may have withheld some.
            has = offered.split(",")
        # What is taken away comes last: LLVM adds what a feature rests on.
        features = ",".join([*has, *(f"-{feature}" for feature in sorted(machine.lacking))])
        return cls(triple, machine.cpu, features, level)._with_own_gathers()

    def _with_own_gathers(self) -> TargetSpec:
        """The same, where LLVM does not gather on its own account what is loaded one by one for want of masks.

        Its superwords of forces by lists of neighbours, whose places it multiplies in vectors of 64 bits, take 1.3
        times as long on Emerald Rapids.
        """
        isa = self.isa
        known = isa.core.fast_gathers or isa.core.slow_gathers
        if not known or isa.mask_registers or not isa.gather:
            return self
        return replace(self, features=f"{self.features},-fast-gather".lstrip(","))

    @classmethod
    def of_isa(cls, isa: Isa, level: int = 3) -> TargetSpec:
        """Return the least processor that has an instruction set level."""
        triple = f"{isa.arch}-unknown-linux-gnu" if isa.arch else _host_cpu()[0]
        return cls(triple, isa.cpu, isa.feature_string, level)

    @property
    def key(self) -> tuple[str, ...]:
        """What object code depends on beside the IR, for the compile cache."""
        from weft.target.llvm import LLVM_VERSION, LLVMLITE_VERSION

        llvm = ".".join(map(str, LLVM_VERSION))
        return (self.triple, self.cpu, self.features, str(self.level), llvm, LLVMLITE_VERSION)

    @property
    def isa(self) -> Isa:
        """The best instruction set level that code may use."""
        return _isa_of(self.triple, self.cpu, self.features)

    @property
    def machine(self) -> TargetMachine:
        return target_machine(self)


@functools.cache
def target_machine(spec: TargetSpec) -> TargetMachine:
    """Return the target machine of a spec, made once."""
    from weft.target.llvm import TargetMachine

    return TargetMachine(spec.triple, spec.cpu, spec.features, spec.level)


@functools.cache
def _isa_of(triple: str, cpu: str, features: str) -> Isa:
    # Passes ask again and again, and processors have a hundred features.
    offered = {text[1:] for text in features.split(",") if text.startswith("+")}
    offered -= {text[1:] for text in features.split(",") if text.startswith("-")}
    return best_isa(triple.split("-", 1)[0], offered, cpu)


def emit_object(text: str, spec: TargetSpec, passes: PassList | Pipeline | None = None) -> bytes:
    """Return a relocatable object file with the code of a module.

    Raises
    ------
    CompileError
        LLVM's parser or verifier refuses the module.
    """
    return spec.machine.emit_object(_prepared(text, spec, passes))


def emit_assembly(text: str, spec: TargetSpec, passes: PassList | Pipeline | None = None) -> str:
    """Return the assembly of a module; for nvptx64 that is PTX.

    Raises
    ------
    CompileError
        LLVM's parser or verifier refuses the module.
    """
    return spec.machine.emit_assembly(_prepared(text, spec, passes))


def emit_bitcode(text: str, spec: TargetSpec, passes: PassList | Pipeline | None = None) -> bytes:
    """Return a module in LLVM's binary format.

    Raises
    ------
    CompileError
        LLVM's parser or verifier refuses the module.
    """
    return _prepared(text, spec, passes).bitcode()


def optimized(text: str, spec: TargetSpec, passes: PassList | Pipeline) -> str:
    """Return a module's text behind LLVM's passes, as code is made of it."""
    from weft.target.passes import optimize

    return optimize(_in_registers(text, spec), passes, spec.machine)


def _in_registers(text: str, spec: TargetSpec) -> str:
    if "@weft.lookup." not in text:
        return text
    from weft.target.rewrites.tables import with_tables

    return with_tables(text, spec.isa)


def _prepared(text: str, spec: TargetSpec, passes: PassList | Pipeline | None) -> ParsedModule:
    from weft.target.llvm import ParsedModule
    from weft.target.passes import run

    module = ParsedModule(_in_registers(text, spec), spec.machine)
    if passes:
        run(module, passes, spec.machine)
    return module


def _host_cpu() -> tuple[str, str, str]:
    from weft.target.llvm import host_cpu

    return host_cpu()

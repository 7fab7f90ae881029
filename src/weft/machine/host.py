"""The machine that weft runs on, and the one it makes code for. LLVM is asked once, at the first question."""

from __future__ import annotations

import functools
import os
import platform

from weft.diag.errors import SettingError
from weft.machine.processors import processor
from weft.machine.targets import ALWAYS, ISAS, Machine, best_isa, machine_of, misses, without

SETTING = "WEFT_CPU"
"""The environment variable that names the processor to make code for, and after commas features that it lacks.

Virtual machines hide features: ``alderlake,-avxvnni`` runs where ``alderlake`` would not.
"""


@functools.cache
def host() -> Machine:
    """Return the machine that this process runs on."""
    # LLVM takes tens of milliseconds to load, and importing weft should not.
    import llvmlite.binding as llvm

    arch = platform.machine()
    arch = {"AMD64": "x86_64", "arm64": "aarch64"}.get(arch, arch)
    features = frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)
    features |= ALWAYS.get(arch, frozenset())
    cpu = llvm.get_host_cpu_name()
    return Machine(arch, cpu, features, best_isa(arch, features, cpu))


def chosen() -> Machine:
    """Return the machine that code is made for: the one that ``WEFT_CPU`` names, else this one.

    Raises
    ------
    SettingError
        The variable names no processor.
    """
    name = os.environ.get(SETTING)
    return _named(name) if name else host()


def is_runnable() -> bool:
    """Whether this machine has all instructions that code is made of."""
    return not _lacking()


def demand_runnable() -> None:
    """Refuse to run what is made for another processor, if this one has not all of its instructions.

    Raises
    ------
    SettingError
        It has not.
    """
    if lacking := _lacking():
        machine, here = chosen(), host()
        raise SettingError(
            f"{SETTING}={os.environ.get(SETTING)}: code for {machine.cpu} cannot run here: "
            f"{here.cpu} has no {', '.join(lacking)}",
            hint="code can be compiled and looked at; unset the variable to run it",
        )


def _lacking() -> tuple[str, ...]:
    machine, here = chosen(), host()
    return () if machine is here else misses(here, machine)


@functools.cache
def _named(name: str) -> Machine:
    here = host()
    cpu, *lacking = name.split(",")
    found = here if cpu in ("host", "native") else machine_of(here.arch, cpu) or processor(here.arch, cpu)
    if found is not None and all(f.startswith("-") and f[1:] in _known_features() for f in lacking):
        return without(found, [f[1:] for f in lacking]) if lacking else found
    levels = ", ".join(isa.cpu for isa in reversed(ISAS) if isa.arch == here.arch)
    raise SettingError(
        f"{SETTING}={name}: there is no such processor",
        hint=f"name a level ({levels}), or a processor as LLVM does, perhaps less some features: "
        "znver3; alderlake,-avxvnni",
    )


@functools.cache
def _known_features() -> frozenset[str]:
    import llvmlite.binding as llvm

    return frozenset(llvm.get_host_cpu_features())


def core_count() -> int:
    """Return how many processors this process may use: its affinity mask, not what the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

"""The machine that weft runs on. LLVM is asked once, at the first question."""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass

from weft.machine.targets import Isa, best_isa


@dataclass(frozen=True, slots=True)
class HostMachine:
    """What code for this machine may use.

    Parameters
    ----------
    arch
        The architecture, as LLVM's triples begin.
    cpu
        LLVM's name of the processor.
    features
        LLVM's names of the features that processor and operating system both support.
    isa
        The best instruction set level among them.
    """

    arch: str
    cpu: str
    features: frozenset[str]
    isa: Isa


@functools.cache
def host() -> HostMachine:
    """Return the machine that this process runs on."""
    # LLVM takes tens of milliseconds to load, and importing weft should not.
    import llvmlite.binding as llvm

    arch = platform.machine()
    arch = {"AMD64": "x86_64", "arm64": "aarch64"}.get(arch, arch)
    features = frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)
    return HostMachine(arch, llvm.get_host_cpu_name(), features, best_isa(arch, features))


def core_count() -> int:
    """Return how many processors this process may use: its affinity mask, not what the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

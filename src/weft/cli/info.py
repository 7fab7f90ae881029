"""``weft info``: what weft runs on, and what it found there."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

import weft
from weft.machine.host import SETTING, chosen, core_count, host, is_runnable
from weft.machine.targets import ISAS, Machine
from weft.machine.vecmath import LIBRARIES
from weft.machine.vecmath_load import load
from weft.runtime.settings import cache_directory, get_num_threads


class VectorMathFound(Struct, frozen=True):
    """One vector math library: the file, None when there is none, and how many functions it offers."""

    name: str
    file: str | None
    functions: int


class Info(Struct, frozen=True):
    """What ``weft info`` prints; field by field in the JSON."""

    versions: dict[str, str]
    cpu: str
    architecture: str
    isa: str
    isas: list[str]
    chosen: bool
    runs_here: bool
    lanes: dict[str, int]
    cores: int
    threads: int
    vector_math: list[VectorMathFound]
    cache_directory: str
    cache_entries: int
    cache_bytes: int


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "info", help="versions, processor, vector math libraries, threads and cache", description=__doc__
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the information."""
    info = collect()
    print(json.dumps(to_builtins(info), indent=2) if options.json else as_text(info))
    return 0


def collect() -> Info:
    """Ask the machine, the libraries and the file system."""
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    machine = chosen()
    entries, size = _usage(cache_directory())
    return Info(
        versions={
            "weft": weft.__version__,
            "Python": platform.python_version(),
            "llvmlite": llvmlite.__version__,
            "LLVM": ".".join(str(part) for part in llvm.llvm_version_info),
            "NumPy": np.__version__,
        },
        cpu=machine.cpu,
        architecture=machine.arch,
        isa=machine.isa.name,
        isas=_levels(machine),
        chosen=machine is not host(),
        runs_here=is_runnable(),
        lanes={f"{bits}-bit": machine.isa.lanes(bits) for bits in (8, 16, 32, 64)},
        cores=core_count(),
        threads=get_num_threads(),
        vector_math=_vector_math(machine),
        cache_directory=str(cache_directory()),
        cache_entries=entries,
        cache_bytes=size,
    )


def as_text(info: Info) -> str:
    """Return the information as lines for people."""
    lanes = ", ".join(f"{count} x {kind}" for kind, count in info.lanes.items())
    rows = [
        *info.versions.items(),
        ("processor", f"{info.cpu} ({info.architecture}: {', '.join(info.isas) or 'no vector unit known'})"),
        *(
            [("", f"chosen by {SETTING}{'' if info.runs_here else ', and cannot run here'}")]
            if info.chosen
            else []
        ),
        ("lanes", f"{lanes} in one {info.isa} register"),
        ("threads", f"{info.threads} of {_counted(info.cores, 'core')}"),
        *((f"{found.name}", _describe(found)) for found in info.vector_math),
        (
            "cache",
            f"{info.cache_directory}: {_counted(info.cache_entries, 'file')}, {_size(info.cache_bytes)}",
        ),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _levels(machine: Machine) -> list[str]:
    return [isa.name for isa in ISAS if isa.arch == machine.arch and isa.features <= machine.features]


def _vector_math(machine: Machine) -> list[VectorMathFound]:
    isa = machine.isa
    found = []
    for library in LIBRARIES:
        loaded = load(library)
        if loaded is None:
            found.append(VectorMathFound(library.name, None, 0))
        else:
            count = sum(bool(loaded.function(name, 32, isa.lanes(32), isa)) for name in library.functions)
            found.append(VectorMathFound(library.name, loaded.file, count))
    return found


def _usage(folder: Path) -> tuple[int, int]:
    """Return number and bytes of the files under a folder, which other processes may be changing."""
    entries = size = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(directory, name)).st_size
            except FileNotFoundError:
                continue
            entries += 1
    return entries, size


def _describe(found: VectorMathFound) -> str:
    return f"{found.file}: {_counted(found.functions, 'function')}" if found.file else "not found"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"

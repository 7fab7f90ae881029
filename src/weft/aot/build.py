"""Making a library: code for each level in a process of its own, C around it, and one link."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from weft.aot.glue import glue, header, public_names
from weft.aot.interface import PLAIN, Made, c_name
from weft.aot.stub import stub
from weft.device.host.library import (
    OPTIONS,
    SHARED_SETTINGS,
    SHARED_SOURCES,
    TARGET,
    size_constant,
    write_whole,
)
from weft.device.host.shared_library import link_shared
from weft.diag.errors import ArgumentError, CompileError, UnsupportedError
from weft.frontend.clang import SUFFIXES, find_clang
from weft.machine.targets import SSE2
from weft.runtime.heap import heap_module
from weft.runtime.pool_ir import pool_module
from weft.target.machine import TargetSpec, emit_object

_VECTOR_MATH = {"libmvec": "own,libmvec", "none": "own"}

LEVELS = {"x86-64": 1, "x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4}
"""Levels of instructions by name."""

_OWN = Path(__file__).with_name("c")
_SHARED = ("arenas.c", "machine.c", "pool.c", "print.c")

Progress = Callable[[str], None]


class Library(Struct, frozen=True):
    """What was made.

    Parameters
    ----------
    library, header, stub
        The files; there is no stub for functions of C alone.
    names
        What it exports.
    """

    library: Path
    header: Path
    stub: Path | None
    names: tuple[str, ...]


def levels_named(text: str) -> tuple[str, ...]:
    """The levels of a list such as ``x86-64,v3,x86-64-v4``, in ascending order.

    Raises
    ------
    ArgumentError
        One of them is none.
    """
    found: set[str] = set()
    for name in text.split(","):
        full = f"x86-64-{name.strip()}" if name.strip().startswith("v") else name.strip()
        full = "x86-64" if full == "x86-64-v1" else full
        if full not in LEVELS:
            raise ArgumentError(f"there is no level {name!r}", hint=f"levels are {', '.join(LEVELS)}")
        found.add(full)
    return tuple(sorted(found, key=LEVELS.__getitem__))


def build(
    source: Path,
    folder: Path,
    *,
    levels: Sequence[str] = ("x86-64", "x86-64-v3", "x86-64-v4"),
    names: Sequence[str] = (),
    vector_math: str = "libmvec",
    stem: str = "",
    progress: Progress = lambda what: None,
) -> Library:
    """Make a shared library, its header and its Python stub.

    Parameters
    ----------
    source
        Python, OpenCL C, C or C++.
    folder
        Where the files go; it is made if it is not there.
    levels
        The levels that there is code for; of these the best that the processor has runs.
    names
        What to export; all that there is by default.
    vector_math
        ``libmvec`` links with the library of vector math that comes with glibc; with ``none`` what weft has no vector
        function of its own for is called lane by lane.
    stem
        What the files are called; by default as the source is.
    progress
        Is told of each step.

    Raises
    ------
    ArgumentError
        There is nothing to build.
    UnsupportedError
        Something cannot be in a library, there is no clang or no linker, or this is no Linux on x86-64.
    CompileError
        The source is refused; the message is the compiler's.
    """
    if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
        raise UnsupportedError("libraries are for Linux on x86-64")
    if source.suffix not in (".py", ".cl", *SUFFIXES):
        raise ArgumentError(f"{source}: weft build reads .py, .cl, C and C++ files")
    if not source.is_file():
        raise ArgumentError(f"there is no file {source}")
    stem = c_name(stem or source.stem)
    if stem in sys.stdlib_module_names:
        raise ArgumentError(f"{stem} is a module of Python's own", hint="give another name: --name")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weft-build-") as name:
        work = Path(name)
        made: list[tuple[int, Made]] = []
        for level in levels:
            progress(f"code for {level}")
            made.append((LEVELS[level], _made(source, work, level, names, vector_math)))
        exports = made[0][1].exports
        progress("linking")
        (work / "glue.c").write_text(
            glue(
                [(number, each.exports) for number, each in made],
                bytes.fromhex(made[0][1].scope),
                made[0][1].pointers,
                stem,
            )
        )
        _compile_c(work)
        public = public_names(exports, stem)
        script = work / "exports"
        script.write_text(f"{{ global: {' '.join(f'{n};' for n in public)} local: *; }};\n")
        file = f"lib{stem}.so"
        linking = ("--version-script", str(script), "-soname", file, "--as-needed")
        link_shared(sorted(work.glob("*.o")), work / file, linking)
        write_whole(folder / file, (work / file).read_bytes())
    write_whole(folder / f"{stem}.h", header(exports, stem, source.name).encode())
    python = None
    if any(e.kind != PLAIN for e in exports):
        python = folder / f"{stem}.py"
        if python.resolve() == source.resolve():
            raise ArgumentError(f"{python} would be written over", hint="choose another folder with -o")
        write_whole(python, stub(exports, file, source.name, stem).encode())
    return Library(folder / file, folder / f"{stem}.h", python, tuple(e.name for e in exports))


def _made(source: Path, work: Path, level: str, names: Sequence[str], vector_math: str) -> Made:
    prefix = f"v{LEVELS[level]}"
    command = [sys.executable, "-m", "weft.aot.worker", str(source), str(work), prefix, *names]
    environment = {**os.environ, "WEFT_CPU": level, "WEFT_VECTOR_MATH": _VECTOR_MATH[vector_math]}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise CompileError(f"{source} cannot be built for {level}:\n{done.stderr.strip()}")
    return Made.of(json.loads((work / f"{prefix}.json").read_text()))


def _compile_c(work: Path) -> None:
    """Compile what is C in a library, and the thread pool."""
    settings = ["#include <stddef.h>", *(size_constant(n, size) for n, size in SHARED_SETTINGS.items()), ""]
    (work / "settings.c").write_text("\n".join(settings))
    for file in (*(SHARED_SOURCES / n for n in _SHARED), *sorted(_OWN.glob("*.c"))):
        shutil.copy(file, work / file.name)
    spec = TargetSpec.of_isa(SSE2)
    (work / "threads.o").write_bytes(emit_object(pool_module(spec.triple), spec))
    (work / "blocks.o").write_bytes(emit_object(heap_module(), spec))
    sources = [file.name for file in sorted(work.glob("*.c"))]
    command = [
        *find_clang(TARGET), f"--target={TARGET}", *OPTIONS, f"-I{SHARED_SOURCES}", f"-I{_OWN}", *sources
    ]  # fmt: skip
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"the C of a library cannot be compiled: {done.stderr.strip()}")

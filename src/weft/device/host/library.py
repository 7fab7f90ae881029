"""A library for host programs from its C sources: made once by clang, and kept.

Beside a library's own sources there are those that all share (``c/``), the runtime's thread pool
(`weft.runtime.pool_ir`) and a file of settings: the version, the Python that compiles kernels and its module, the sizes
in the pool's memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

import weft
from weft.device.host.shared_library import link_shared
from weft.diag.errors import CompileError, UnsupportedError
from weft.frontend.clang import find_clang
from weft.machine.targets import SSE2
from weft.runtime.cache import cache_key
from weft.runtime.pool_ir import MAX_THREADS, POOL_ALIGNMENT, POOL_SIZE, SPIN_NS, pool_module
from weft.runtime.row_numbers import FEW
from weft.target.machine import TargetSpec, emit_object

SHARED_SOURCES = Path(__file__).with_name("c")
TARGET = "x86_64-linux-gnu"

OPTIONS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", "-c"),
)
SHARED_SETTINGS = {
    "pool_size": POOL_SIZE,
    "pool_alignment": POOL_ALIGNMENT,
    "pool_spin": SPIN_NS,
    "pool_threads": MAX_THREADS,
    "few_threads": FEW,
}


class HostLibrary(Struct, frozen=True):
    """A library for host programs.

    Parameters
    ----------
    title
        What messages call it.
    compiler
        The module that compiles for it.
    sources
        Its C files and headers.
    texts, numbers
        Constants for the sources, each under its name with ``weft_`` before it; a list has its length beside it.
    generated
        C sources that are made for it, by name.
    """

    title: str
    compiler: str
    sources: Sequence[Path]
    texts: dict[str, str | Sequence[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    generated: dict[str, str] = field(default_factory=dict)

    def require_platform(self) -> None:
        """See that it can be used here.

        Raises
        ------
        UnsupportedError
            This is no Linux on x86-64.
        """
        if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
            raise UnsupportedError(f"{self.title} is for Linux on x86-64")

    def key(self) -> str:
        """Tells it from others, and from what was made of other sources."""
        texts = [p.read_bytes() for p in self._sources()]
        made = [*self.generated, *self.generated.values()]
        return cache_key("host-library", *OPTIONS, TARGET, *self._settings(), *made, *texts)[:16]

    def build(self, path: Path, linking: Sequence[str] = ()) -> None:
        """Make it, with further options of the linker.

        Raises
        ------
        UnsupportedError
            There is no clang, or no linker (``pip install weft[clang]``).
        CompileError
            clang refuses the sources.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="weft-library-") as name:
            folder = Path(name)
            texts = {"settings.c": "\n".join(self._settings()), **self.generated}
            for file, text in texts.items():
                (folder / file).write_text(text)
            spec = TargetSpec.of_isa(SSE2)
            (folder / "threads.o").write_bytes(emit_object(pool_module(spec.triple), spec))
            sources = [str(p) for p in (*self._sources(), *map(folder.joinpath, texts)) if p.suffix == ".c"]
            folders = sorted({str(p.parent) for p in self._sources()})
            command = [
                *find_clang(TARGET),
                f"--target={TARGET}",
                *OPTIONS,
                *(f"-I{f}" for f in folders),
                *sources,
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CompileError(f"{self.title} cannot be compiled: {done.stderr.strip()}")
            made = folder / "made.so"
            link_shared(sorted(folder.glob("*.o")), made, linking)
            write_whole(path, made.read_bytes())

    def _sources(self) -> list[Path]:
        return [*sources_in(SHARED_SOURCES), *self.sources]

    def _settings(self) -> Iterator[str]:
        """C that defines what the sources take from Python."""
        yield "#include <stddef.h>"
        texts = {
            "version": weft.__version__,
            "python": sys.executable,
            "compiler": self.compiler,
            **self.texts,
        }
        for name, text in texts.items():
            if isinstance(text, str):
                yield f"extern const char weft_{name}[];\nconst char weft_{name}[] = {json.dumps(text)};"
                continue
            listed = ", ".join(map(json.dumps, text))
            yield f"extern const char *const weft_{name}s[];\nconst char *const weft_{name}s[] = {{{listed}}};"
            yield size_constant(f"{name}_count", len(text))
        yield from (size_constant(name, size) for name, size in {**SHARED_SETTINGS, **self.numbers}.items())
        yield ""


def sources_in(folder: Path) -> list[Path]:
    """The C files and headers of a folder."""
    return sorted(p for p in folder.iterdir() if p.suffix in (".c", ".h"))


def size_constant(name: str, size: int) -> str:
    """C that defines a number under its name, with ``weft_`` before it."""
    return f"extern const size_t weft_{name};\nconst size_t weft_{name} = {size};"


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place whole: others may read it, or write the same, at this moment."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="weft-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.chmod(temporary, 0o755 if ".so" in path.suffixes else 0o644)
    os.replace(temporary, path)

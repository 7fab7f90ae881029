"""A kernel's object code as a shared library, which hosts in any language can load.

Hosts have no Python and no symbols of weft's. So the library defines itself what kernels call of the runtime, which
is printing, by a pointer that its loader sets, and what LLVM calls for what the processor cannot do. Functions of the C
library and of vector math libraries are found by the loader, since the library names theirs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from weft.diag.errors import CompileError, UnsupportedError
from weft.machine.vecmath_load import installed
from weft.runtime.printing import PRINT_SYMBOL
from weft.runtime.settings import cache_directory
from weft.target.jit import helpers_needed
from weft.target.machine import TargetSpec, emit_object

HOST_PRINT = "weft_host_print"
"""The pointer that the loader sets."""

_RUNTIME = f"""
@{HOST_PRINT} = global ptr null
define hidden void @"{PRINT_SYMBOL}"(ptr %letters, ptr %slots) {{
  %print = load ptr, ptr @{HOST_PRINT}
  call void %print(ptr %letters, ptr %slots)
  ret void
}}
"""


def kernel_library(code: bytes) -> Path:
    """Return the library of an object file, which is made if it is not kept yet.

    Raises
    ------
    CompileError
        It cannot be linked.
    UnsupportedError
        There is no linker (``pip install weft[clang]``).
    """
    folder = cache_directory() / "host"
    path = folder / f"kernel-{hashlib.sha256(code + _RUNTIME.encode()).hexdigest()[:32]}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _link(code, path)
    return path


def _link(code: bytes, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-link-", dir=path.parent) as name:
        kernel, runtime, made = (Path(name, file) for file in ("kernel.o", "runtime.o", "made.so"))
        kernel.write_bytes(code)
        runtime.write_bytes(_runtime())
        objects = [kernel, runtime]
        helpers = helpers_needed(code, TargetSpec.chosen())
        if helpers is not None:
            objects.append(Path(name, "helpers.o"))
            objects[-1].write_bytes(helpers)
        link_shared(objects, made)
        os.replace(made, path)


def link_shared(objects: Sequence[Path], path: Path, linking: Sequence[str] = ()) -> None:
    """Make a shared library of object files, which uses its own functions before those of others.

    Raises
    ------
    CompileError
        It cannot be linked; a symbol that nobody defines is named.
    UnsupportedError
        There is no linker.
    """
    options = ("-shared", "-Bsymbolic", "-z", "now", "-z", "defs", *linking, "-o", str(path))
    command = [*_linker(), *options, *map(str, objects), *_libraries(), *_mathematics(objects)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"a library for host programs cannot be linked: {done.stderr.strip()}")


@cache
def _runtime() -> bytes:
    return emit_object(_RUNTIME, TargetSpec.chosen())


def _linker() -> list[str]:
    wheel = importlib.util.find_spec("ziglang")
    if wheel is not None and wheel.origin is not None:
        return [str(Path(wheel.origin).with_name("zig")), "ld.lld"]
    found = shutil.which("ld.lld") or shutil.which("ld")
    if found is None:
        raise UnsupportedError("there is no linker for libraries", hint="pip install 'weft[clang]'")
    return [found]


@cache
def _libraries() -> tuple[str, ...]:
    """Files of the system's libraries that all code may call, as they are loaded here."""
    return _loaded((r"libm\.so", r"libc\.so", r"ld-linux-x86-64\.so"))


def _mathematics(objects: Sequence[Path]) -> list[str]:
    """Files of the vector math libraries whose functions object files name, and where the loader finds them."""
    found: list[str] = []
    names = b"".join(o.read_bytes() for o in objects)
    for loaded in installed():
        library = loaded.library
        if library.symbol.partition("{")[0].encode() not in names:
            continue
        wanted = (loaded.file, *((library.preload,) if library.preload else ()))
        files = _loaded(tuple(re.escape(Path(file).name) for file in wanted))
        found += files
        if os.path.isabs(loaded.file):
            # Wheels put it beside Python, where no other program looks.
            found += [f"-rpath={folder}" for folder in dict.fromkeys(str(Path(f).parent) for f in files)]
    return found


def _loaded(patterns: Sequence[str]) -> tuple[str, ...]:
    """Files that are mapped into this process."""
    wanted = re.compile(rf"/(?:{'|'.join(patterns)})")
    maps = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in maps if wanted.search(line)}
    return tuple(sorted(files))

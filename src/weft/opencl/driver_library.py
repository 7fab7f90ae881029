"""The OpenCL driver as a shared library: made once by clang, and kept.

The C sources are in ``driver/``. Linked to them are the runtime's thread pool (`weft.runtime.pool_ir`) and a file of
settings: the version, the Python that compiles kernels (`weft.opencl.compiler`), the sizes in the pool's memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import weft
from weft.diag.errors import CompileError, UnsupportedError
from weft.frontend.clang import find_clang
from weft.frontend.device.primitives import SUB_GROUP_SIZE
from weft.frontend.opencl.features import DEVICE_EXTENSIONS, FEATURES, LOCAL_MEMORY_BYTES, MAX_GROUP
from weft.machine.targets import SSE2
from weft.opencl.shared_library import link_shared
from weft.runtime.cache import cache_key
from weft.runtime.pool_ir import MAX_THREADS, POOL_ALIGNMENT, POOL_SIZE, SPIN_NS, pool_module
from weft.runtime.settings import cache_directory
from weft.target.machine import TargetSpec, emit_object

SOURCES = Path(__file__).with_name("driver")
SHARED_HEADER = Path(__file__).parents[1] / "frontend" / "opencl" / "library" / "image_descriptor.h"
"""What the driver and the builtin library both read."""

TARGET = "x86_64-linux-gnu"

API_EXTENSIONS = ("cl_khr_icd", "cl_khr_image2d_from_buffer")
"""Extensions that the driver has, and the language knows nothing of."""

_OPTIONS = (
    *(
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
    ),
)


def driver_library() -> Path:
    """The driver, which is made if it is not there yet; in the folder of the compile cache.

    Raises
    ------
    UnsupportedError
        There is no clang (``pip install weft[clang]``), or this is no Linux on x86-64.
    CompileError
        clang refuses the sources.
    """
    if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
        raise UnsupportedError("the OpenCL driver is for Linux on x86-64")
    texts = [p.read_bytes() for p in _sources()]
    key = cache_key("opencl-driver", *_OPTIONS, TARGET, *_settings(), *texts)
    path = cache_directory() / "opencl" / f"libweft-opencl-{key[:16]}.so"
    if not path.exists():
        _build(path)
    return path


def vendor_folder() -> Path:
    """A folder for ``OCL_ICD_VENDORS`` with a file that names the driver."""
    library = driver_library()
    folder = library.parent / f"vendors-{library.stem.rsplit('-', 1)[1]}"
    folder.mkdir(exist_ok=True)
    _write(folder / "weft.icd", f"{library}\n".encode())
    return folder


def _sources() -> list[Path]:
    return [*sorted(p for p in SOURCES.iterdir() if p.suffix in (".c", ".h")), SHARED_HEADER]


def _build(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weft-driver-") as name:
        folder = Path(name)
        settings, pool, made = folder / "settings.c", folder / "threads.o", folder / "driver.so"
        settings.write_text("\n".join(_settings()))
        spec = TargetSpec.of_isa(SSE2)
        pool.write_bytes(emit_object(pool_module(spec.triple), spec))
        sources = [str(p) for p in (*_sources(), settings) if p.suffix == ".c"]
        command = [
            *find_clang(TARGET),
            f"--target={TARGET}",
            *_OPTIONS,
            f"-I{SHARED_HEADER.parent}",
            *sources,
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"the OpenCL driver cannot be compiled: {done.stderr.strip()}")
        link_shared(sorted(folder.glob("*.o")), made)
        _write(path, made.read_bytes())


def _settings() -> Iterator[str]:
    """C that defines what the sources take from Python."""
    yield "#include <stddef.h>"
    for name, text in (("version", weft.__version__), ("python", sys.executable)):
        yield f"extern const char weft_{name}[];\nconst char weft_{name}[] = {json.dumps(text)};"
    for name, texts in (("extension", (*API_EXTENSIONS, *DEVICE_EXTENSIONS)), ("feature", FEATURES)):
        list_of = ", ".join(map(json.dumps, texts))
        yield f"extern const char *const weft_{name}s[];\nconst char *const weft_{name}s[] = {{{list_of}}};"
        yield _size(f"{name}_count", len(texts))
    yield from (_size(name, size) for name, size in _SIZES.items())
    yield ""


_SIZES = {
    "pool_size": POOL_SIZE,
    "pool_alignment": POOL_ALIGNMENT,
    "pool_spin": SPIN_NS,
    "pool_threads": MAX_THREADS,
    "group_limit": MAX_GROUP,
    "local_bytes": LOCAL_MEMORY_BYTES,
    "sub_group_size": SUB_GROUP_SIZE,
}


def _size(name: str, size: int) -> str:
    return f"extern const size_t weft_{name};\nconst size_t weft_{name} = {size};"


def _write(path: Path, data: bytes) -> None:
    """Put a file in its place whole: others may read it, or write the same, at this moment."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="weft-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.chmod(temporary, 0o755 if path.suffix == ".so" else 0o644)
    os.replace(temporary, path)

"""``libcudart.so`` as a shared library: made once by clang, and kept (`weft.device.host.library`).

``exports.txt`` lists the functions of CUDA 13's runtime. Those that the C sources do not define say that they are not
there, so that a program that never calls them runs; those for a default stream of each thread are the others', since
what is asked of the device runs in one order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weft.cuda.runtime.compiler import CAPABILITY
from weft.device.host.library import HostLibrary, sources_in, write_whole
from weft.frontend.cuda_c.adopt import SMALL_GROUPS
from weft.runtime.settings import cache_directory

SOURCES = Path(__file__).with_name("c")
NAME = "libcudart.so.13"
VERSION = 13000
_SUFFIXES = ("_ptsz", "_ptds")


def library_folder() -> Path:
    """The folder for ``LD_LIBRARY_PATH`` with the library, which is made if it is not there yet.

    Raises
    ------
    UnsupportedError
        There is no clang (``pip install weft[clang]``), or this is no Linux on x86-64.
    CompileError
        clang refuses the sources.
    """
    library = _library()
    library.require_platform()
    folder = cache_directory() / "cuda" / f"runtime-{library.key()}"
    path = folder / NAME
    if not path.exists():
        script = folder / "versions"
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(script, f"{NAME} {{ global: cuda*; __cuda*; local: *; }};\n".encode())
        library.build(path, ("-soname", NAME, "--version-script", str(script)))
        link = folder / "libcudart.so"
        link.unlink(missing_ok=True)
        link.symlink_to(NAME)
    return folder


def _library() -> HostLibrary:
    exports = SOURCES.with_name("exports.txt").read_text().split()
    return HostLibrary(
        "the CUDA runtime",
        "weft.cuda.runtime.compiler",
        sources_in(SOURCES),
        numbers={"runtime_version": VERSION, "capability": CAPABILITY, "small_groups": SMALL_GROUPS},
        generated={"exports.c": "\n".join(_exports(exports))},
    )


def _exports(names: list[str]) -> Iterator[str]:
    """C that defines what the sources leave out, weakly."""
    yield "int weft_missing(const char *name);"
    plain = [n for n in names if not n.endswith(_SUFFIXES)]
    for name in plain:
        yield f'__attribute__((weak, visibility("default"))) int {name}(void) {{ return weft_missing("{name}"); }}'
    for name in names:
        if name.endswith(_SUFFIXES) and name[:-5] in plain:
            yield f'__asm__(".globl {name}\\n.type {name}, @function\\n{name}: jmp {name[:-5]}@PLT");'
    yield ""

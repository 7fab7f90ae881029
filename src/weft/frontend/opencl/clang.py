"""Running clang on OpenCL C: LLVM IR for spir64, whose address spaces are kept, and what clang says of the source.

clang runs as for C (`weft.frontend.clang`), without passes. It declares builtins itself, where they are used
(``-fdeclare-opencl-builtins``); types and macros are in ``library/base.h``.
"""

from __future__ import annotations

import linecache
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.diag.errors import BuildError
from weft.diag.source import SourceSpan
from weft.frontend.clang import bare_clang
from weft.frontend.opencl.features import EXTENSIONS, FEATURES
from weft.frontend.opencl.library import BASE_HEADER
from weft.frontend.opencl.options import BuildOptions

TRIPLE = "spir64-unknown-unknown"

LANGUAGE = (
    *("-x", "cl", f"--target={TRIPLE}", "-cl-no-stdinc", "-nostdinc", "-Xclang", "-fdeclare-opencl-builtins"),
    *("-include", str(BASE_HEADER)),
)
"""What tells clang which language it reads; the library is compiled with it, too."""

OUTPUT = (
    *("-S", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names"),
    *("-g", "-cl-kernel-arg-info", "-fno-strict-aliasing"),
)
_DIAGNOSTIC = re.compile(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.M
)

_FILE = re.compile(r'(!DIFile\(filename: "[^"]*", directory: )"[^"]*"')


@dataclass(frozen=True, slots=True)
class ClangOutput:
    """What clang made of a source.

    Parameters
    ----------
    text
        LLVM IR.
    log
        Its warnings, with the user's lines.
    """

    text: str
    log: str


def language_options(options: BuildOptions) -> list[str]:
    """Options for clang that say in which language, and with which extensions, a program is written."""
    names = [f"+{name}" for name in (*EXTENSIONS, *(FEATURES if options.version >= 300 else ()))]
    return [*LANGUAGE, f"-cl-std={options.standard}", "-Xclang", f"-cl-ext=-all,{','.join(names)}"]


def compile_source(
    source: str, options: BuildOptions, file: str, headers: Mapping[str, str] | None = None
) -> ClangOutput:
    """Compile a program.

    Parameters
    ----------
    source, file
        Its text, and what it is called.
    options
        Build options.
    headers
        Texts that ``#include`` finds under these names.

    Raises
    ------
    BuildError
        clang refuses it; the first error is named, with its place, and all are in the log.
    UnsupportedError
        There is no clang.
    """
    note_source(file, source)
    done = _run([*language_options(options), *OUTPUT, *options.clang], source, file, headers)
    if done.returncode:
        raise _refused(done.stderr, file)
    # Files are called what the source calls them, wherever it is compiled.
    return ClangOutput(_FILE.sub(r'\1""', done.stdout), done.stderr)


def note_source(file: str, source: str) -> None:
    """Let messages find the lines of a source that is in no file."""
    if not Path(file).is_file():
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)


def preprocessed(
    source: str, options: BuildOptions, file: str, headers: Mapping[str, str] | None = None
) -> str:
    """The source with its macros and includes expanded; what a program depends on is in it.

    Raises
    ------
    BuildError
        A file that it includes does not exist, or an ``#error`` is reached.
    """
    done = _run([*language_options(options), *options.clang, "-E"], source, file, headers)
    if done.returncode:
        raise _refused(done.stderr, file)
    return done.stdout


def _run(
    options: list[str], source: str, file: str, headers: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Run clang on a source, with headers in a folder of their own."""
    name = file.replace("\\", "\\\\").replace('"', '\\"')
    with tempfile.TemporaryDirectory(prefix="weft-cl-") as folder:
        for header, text in (headers or {}).items():
            path = Path(folder, header)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        includes = [f"-I{folder}"] if headers else []
        # What clang quotes of the source has its bytes.
        return subprocess.run(
            [*bare_clang(), *options, *includes, "-", "-o", "-"], input=f'#line 1 "{name}"\n{source}',
            capture_output=True, encoding="utf-8", errors="backslashreplace", check=False,
        )  # fmt: skip


def _refused(log: str, file: str) -> BuildError:
    found = _DIAGNOSTIC.search(log)
    if found is None:
        lines = log.strip().splitlines()
        return BuildError(
            f"clang cannot compile {file}: {lines[-1] if lines else 'it says nothing'}", log=log
        )
    span = SourceSpan(found["file"], int(found["line"]), int(found["column"]))
    return BuildError(f"clang: {found['message']}", span, log=log)

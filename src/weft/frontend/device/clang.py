"""Running clang on programs of kernels: what it makes of them, and what it says, with the user's lines."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.diag.errors import BuildError
from weft.diag.source import SourceSpan

_DIAGNOSTIC = re.compile(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.M
)

_FILE = re.compile(r'(!DIFile\(filename: "[^"]*", directory: )"[^"]*"')


class ClangOutput(Struct, frozen=True):
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


def note_source(file: str, source: str) -> None:
    """Let messages find the lines of a source that is in no file."""
    if not Path(file).is_file():
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)


def without_folders(text: str) -> str:
    """LLVM IR in which files are called what the source calls them, wherever it is compiled."""
    return _FILE.sub(r'\1""', text)


def run_clang(
    command: Sequence[str], source: str, file: str, headers: Mapping[str, str] | None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run clang on a source, with headers in a folder of their own.

    Parameters
    ----------
    command
        clang and its options.
    source, file
        The text, and what it is called.
    headers
        Texts that ``#include`` finds under these names.
    before
        Text that stands before the source.

    Raises
    ------
    BuildError
        The name of a header is no relative one.
    """
    name = file.replace("\\", "\\\\").replace('"', '\\"')
    with tempfile.TemporaryDirectory(prefix="weft-clang-") as folder:
        for header, text in (headers or {}).items():
            path = Path(folder, header)
            if not Path(os.path.normpath(path)).is_relative_to(folder):
                raise BuildError(f"a header cannot be called {header!r}, which leads out of its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        includes = [f"-I{folder}"] if headers else []
        # Only at the beginning clang passes over a byte order mark.
        program = source.removeprefix("\ufeff")
        # What clang quotes of the source has its bytes.
        return subprocess.run(
            [*command, *includes, "-", "-o", "-"], input=f'{before}#line 1 "{name}"\n{program}',
            capture_output=True, encoding="utf-8", errors="backslashreplace", check=False,
        )  # fmt: skip


def refused(log: str, file: str) -> BuildError:
    """The error for a source that clang refuses: the first error with its place, and all in the log."""
    found = _DIAGNOSTIC.search(log)
    if found is None:
        lines = log.strip().splitlines()
        return BuildError(
            f"clang cannot compile {file}: {lines[-1] if lines else 'it says nothing'}", log=log
        )
    span = SourceSpan(found["file"], int(found["line"]), int(found["column"]))
    return BuildError(f"clang: {found['message']}", span, log=log)

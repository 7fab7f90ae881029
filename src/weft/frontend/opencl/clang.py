"""Running clang on OpenCL C: LLVM IR for spir64, whose address spaces are kept, and what clang says of the source.

clang runs as for C (`weft.frontend.clang`), without passes. It declares builtins itself, where they are used
(``-fdeclare-opencl-builtins``); types and macros are in ``library/base.h``.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.frontend.clang import LLVM_IR, bare_clang
from weft.frontend.device.clang import ClangOutput, note_source, refused, run_clang, without_folders
from weft.frontend.device.contraction import float_options
from weft.frontend.opencl.features import EXTENSIONS, FEATURES
from weft.frontend.opencl.library import BASE_HEADER
from weft.frontend.opencl.options import BuildOptions

TRIPLE = "spir64-unknown-unknown"

LANGUAGE = (
    *("-x", "cl", f"--target={TRIPLE}", "-cl-no-stdinc", "-nostdinc", "-Xclang", "-fdeclare-opencl-builtins"),
    *("-include", str(BASE_HEADER)),
)
"""What tells clang which language it reads; the library is compiled with it, too."""

LENIENT = ("-Wno-error=incompatible-pointer-types", "-Wno-error=int-conversion")
"""What other drivers warn of and existing programs have; clang would refuse it since version 16."""

OUTPUT = (*LLVM_IR, "-cl-kernel-arg-info", "-fno-strict-aliasing")


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
    lenient = () if "-Werror" in options.clang else LENIENT
    command = [*bare_clang(), *language_options(options), *OUTPUT, *lenient, *options.clang]
    command += float_options(options.fastmath)
    done = run_clang(command, source, file, headers)
    if done.returncode:
        raise refused(done.stderr, file)
    # Files are called what the source calls them, wherever it is compiled.
    return ClangOutput(without_folders(done.stdout), done.stderr)


def preprocessed(
    source: str, options: BuildOptions, file: str, headers: Mapping[str, str] | None = None
) -> str:
    """The source with its macros and includes expanded; what a program depends on is in it.

    Raises
    ------
    BuildError
        A file that it includes does not exist, or an ``#error`` is reached.
    """
    done = run_clang([*bare_clang(), *language_options(options), *options.clang, "-E"], source, file, headers)
    if done.returncode:
        raise refused(done.stderr, file)
    return done.stdout

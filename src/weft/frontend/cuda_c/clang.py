"""Running clang on CUDA C++: LLVM IR for nvptx64 of the device code, and what clang says of the source.

clang reads host code as well and makes nothing of it. CUDA's own headers are not needed: those in ``include/`` have the
language, and declarations of the host's functions that programs call.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.frontend.clang import LLVM_IR, find_clang
from weft.frontend.cuda_c.options import CudaOptions
from weft.frontend.device.clang import ClangOutput, note_source, refused, run_clang, without_folders
from weft.frontend.device.contraction import contraction, float_options

INCLUDE = Path(__file__).parent / "include"
"""CUDA's headers, as far as programs need them."""

_HOST = "x86_64-linux-gnu"
_OUTPUT = (
    *LLVM_IR,
    # Device code gets lines only where types are not asked for; those of kernels' arguments are read from them.
    *("-Xclang", "-debug-info-kind=limited", "-fno-strict-aliasing"),
)
_LANGUAGE = (
    *("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"),
    # No CUDA that is installed has a say: of its version clang takes that of PTX, and without one too old a version.
    f"--cuda-path={INCLUDE}",
    # The runtime prints from a call with its arguments, not from a packed record. Lanes do not unwind.
    *("-fno-builtin-printf", "-fno-exceptions", "-fms-extensions", "-Wno-unused-value", "-Wno-register"),
)
_USES_HOST = re.compile(r"#\s*include|\bstd\s*::|<<<|\bmain\s*\(|\bcuda[A-Z]")
_OWN_INCLUDE = re.compile(r"#\s*include(?!\s*<)")

_MACROS = {"-D": "#define", "-U": "#undef"}

NAMED = "__weft_named_"
"""Variables that hold the addresses of kernels that were asked for by name expressions."""


def compile_source(
    source: str,
    options: CudaOptions,
    file: str,
    names: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> ClangOutput:
    """Compile the device code of a program.

    Parameters
    ----------
    source, file
        Its text, and what it is called.
    options
        Options.
    names
        Expressions that name instances of kernel templates.
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
    text = f"{source}\n{_naming(names)}"
    command = [*_command(source, options, file), *_OUTPUT]
    done = run_clang(command, text, file, headers, _macros(options))
    if done.returncode:
        raise refused(done.stderr, file)
    return ClangOutput(without_folders(done.stdout), done.stderr)


def known_by(source: str, options: CudaOptions, file: str, headers: Mapping[str, str] | None = None) -> str:
    """What a program depends on: its text, with what it includes that is not the system's.

    Raises
    ------
    BuildError
        A file that it includes does not exist, or an ``#error`` is reached.
    """
    own = _OWN_INCLUDE.search(source) or headers or any(word.startswith("-i") for word in options.clang)
    if not own and not any(word.startswith("-I") for word in options.clang):
        return _headers_digest() + source
    command = [*_command(source, options, file), "-E"]
    done = run_clang(command, source, file, headers, _macros(options))
    if done.returncode:
        raise refused(done.stderr, file)
    return done.stdout


def _command(source: str, options: CudaOptions, file: str) -> list[str]:
    folder = Path(file).parent if Path(file).is_file() else None
    return [
        *find_clang(_HOST, "c++"),
        *_LANGUAGE,
        f"--cuda-gpu-arch={options.architecture}",
        f"--cuda-feature=+{_ptx_version(options.architecture)}",
        f"-std={options.standard}",
        *float_options(options.fastmath, options.contract),
        f"-DWEFT_CONTRACT={contraction(options.fastmath, options.contract)}",
        *("-isystem", str(INCLUDE), "-include", "weft/cuda.h"),
        *(("-include", "weft/host.h") if _USES_HOST.search(source) else ()),
        *(("-iquote", str(folder)) if folder is not None else ()),
        *(word for word in options.clang if word[:2] not in _MACROS),
    ]


def _macros(options: CudaOptions) -> str:
    """The user's macros, for behind the headers that every program has: these do not heed them."""
    text = ""
    for word in options.clang:
        name, has_value, value = word[2:].partition("=")
        if word[:2] in _MACROS:
            text += f"{_MACROS[word[:2]]} {name} {value if has_value else 1 if word[1] == 'D' else ''}\n"
    return text


def _naming(names: Sequence[str]) -> str:
    """Variables with the addresses of the kernels that expressions name."""
    return "".join(
        f'#line 1 "<name expression>"\n__device__ const void *{NAMED}{k} = (const void *)&{name};\n'
        for k, name in enumerate(names)
    )


@functools.cache
def _headers_digest() -> str:
    """Tells one state of CUDA's headers here from another."""
    digest = hashlib.sha256()
    for path in sorted(INCLUDE.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(INCLUDE)).encode() + path.read_bytes())
    return digest.hexdigest()


def _ptx_version(architecture: str) -> str:
    """The version of PTX, as clang spells it, that has what an architecture has."""
    number = int(re.sub(r"\D", "", architecture))
    return "ptx78" if number < 90 else "ptx80" if number < 100 else "ptx87"

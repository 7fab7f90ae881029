"""Options of programs in CUDA C++, as nvcc and NVRTC write them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.diag.errors import SettingError
from weft.fast_math import FastMath

STANDARDS = ("c++11", "c++14", "c++17", "c++20", "c++23")
DEFAULT_STANDARD = "c++17"
"""nvcc's own choice."""

DEFAULT_ARCHITECTURE = "sm_70"
"""What ``__CUDA_ARCH__`` says where nothing is asked for: the first with warps that are not always in lock step."""

_FAST = ("afn", "arcp", "contract")
"""What ``-use_fast_math`` allows: approximate functions and quotients, contraction."""

_JOINED = ("-D", "-U", "-I", "-include", "-isystem")
_LONG = {
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-path": "-I",
    "--pre-include": "-include",
}
_IGNORED = re.compile(
    r"-O\d|-g|-G|-m64|-c|-dc|-lineinfo|--generate-line-info|--device-debug|-w|--disable-warnings"
    r"|-{1,2}(r?dc|relocatable-device-code|ftz|prec-div|prec-sqrt|maxrregcount|default-stream|threads|cudart)(=.*)?"
    r"|-{1,2}(expt-)?(extended-lambda|relaxed-constexpr)|-default-device|-{1,2}(ptxas|compiler)-options=.*"
    r"|-{1,2}resource-usage|-Wno-deprecated-gpu-targets|-{1,2}restrict|-Wall|-Wextra"
)
"""Options that ask for nothing here."""

_IGNORED_WITH_VALUE = re.compile(
    r"-Xcompiler|-Xptxas|-Xlinker|-gencode|--generate-code|-maxrregcount|--maxrregcount|-l|-L|-o"
)
_ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d+)a?")


class CudaOptions(Struct, frozen=True):
    """Options that were understood.

    Parameters
    ----------
    standard
        ``c++17`` and its like.
    clang
        What clang is given as it is: macros, include folders.
    architecture
        ``sm_70`` and its like: what ``__CUDA_ARCH__`` is made from.
    fastmath
        The fast-math flags that kernels are compiled under.
    contract
        Whether ``a*b + c`` may be rounded once.
    text
        As it was written.
    """

    standard: str = DEFAULT_STANDARD
    clang: tuple[str, ...] = ()
    architecture: str = DEFAULT_ARCHITECTURE
    fastmath: FastMath = False
    contract: bool = True
    text: str = ""


def parse_options(given: str | Sequence[str]) -> CudaOptions:
    """Read options, in a text or one by one.

    Raises
    ------
    SettingError
        An option is unknown, or lacks its value.
    """
    words = _words(given)
    standard, architecture = DEFAULT_STANDARD, DEFAULT_ARCHITECTURE
    clang: list[str] = []
    fastmath: FastMath = False
    contract = True
    for name, value in _pairs(words):
        match name:
            case "-std":
                standard = _standard(value)
            case "-arch":
                architecture = _architecture(value)
            case "-use_fast_math":
                fastmath = _FAST
            case "-fmad":
                contract = value != "false"
            case _:
                clang += [f"{name}{value}"] if name in ("-D", "-U", "-I") else [name, value]
    return CudaOptions(standard, tuple(clang), architecture, fastmath, contract, shlex.join(words))


def _words(given: str | Sequence[str]) -> list[str]:
    try:
        return shlex.split(given) if isinstance(given, str) else [str(word) for word in given]
    except ValueError as error:
        raise SettingError(f"options cannot be read: {error}", hint="close the quotation") from None


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """The options with their values, under one name each."""
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name in ("-std", "--std", "-arch", "--gpu-architecture", "-code", "--gpu-code"):
            short = {"--std": "-std", "--gpu-architecture": "-arch"}.get(name, name)
            value = value if has_value else _next(rest, word)
            if short in ("-std", "-arch"):
                yield short, value
        elif word in ("-use_fast_math", "--use_fast_math"):
            yield "-use_fast_math", ""
        elif name in ("-fmad", "--fmad"):
            yield "-fmad", value if has_value else _next(rest, word)
        elif name in _LONG and has_value:
            yield _LONG[name], value
        elif _IGNORED.fullmatch(word):
            continue
        elif _IGNORED_WITH_VALUE.fullmatch(word):
            _next(rest, word)
        elif word in _JOINED:
            yield word, _next(rest, word)
        elif word[:2] in ("-D", "-U", "-I"):
            yield word[:2], word[2:]
        elif not _IGNORED_WITH_VALUE.match(word):
            raise SettingError(
                f"unknown option {word!r}", hint="docs/cuda_c.md lists those that mean something here"
            )


def _next(rest: Iterator[str], word: str) -> str:
    value = next(rest, None)
    if value is None:
        raise SettingError(f"the option {word} lacks its value", hint=f"write {word} VALUE")
    return value


def _standard(name: str) -> str:
    if name not in STANDARDS:
        raise SettingError(f"-std={name} is no standard", hint=f"there are {', '.join(STANDARDS)}")
    return name


def _architecture(name: str) -> str:
    found = _ARCHITECTURE.fullmatch(name)
    if name in ("native", "all", "all-major"):
        return DEFAULT_ARCHITECTURE
    if found is None:
        raise SettingError(f"-arch={name} is no architecture", hint="write sm_70, or compute_80")
    return f"sm_{found[1]}"

"""Build options of OpenCL programs, as ``clBuildProgram`` takes them (OpenCL API 3.0, §5.8.4)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from weft.brush import Brush
from weft.diag.errors import PassError, SettingError, SignatureError
from weft.fast_math import FastMath, fast_math
from weft.options import kernel_brush, require_lane_options
from weft.switches import ALL_ON, DEFAULT_REPLACEMENT, Switches, switches

STANDARDS = {"CL1.0": 100, "CL1.1": 110, "CL1.2": 120, "CL2.0": 200, "CL3.0": 300}
"""What ``-cl-std=`` may say, and what ``__OPENCL_C_VERSION__`` is then."""

DEFAULT_STANDARD = "CL1.2"
"""The standard's own choice where nothing is said (§5.8.4.5)."""

_MATH = {
    "-cl-mad-enable": frozenset({"contract"}),
    "-cl-no-signed-zeros": frozenset({"nsz"}),
    "-cl-finite-math-only": frozenset({"nnan", "ninf"}),
    "-cl-unsafe-math-optimizations": frozenset({"contract", "nsz", "reassoc", "arcp", "afn"}),
    "-cl-fast-relaxed-math": frozenset({"fast"}),
}
"""LLVM's fast-math flags that each option stands for."""

_FOR_CLANG = frozenset(
    {
        "-cl-single-precision-constant",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-uniform-work-group-size",
        "-cl-kernel-arg-info",
        "-w",
        "-Werror",
        *_MATH,
    }
)
_FOR_WEFT = frozenset(
    {
        "-cl-opt-disable",
        "-cl-no-subgroup-ifp",
        "-cl-intel-greater-than-4GB-buffer-required",
        "-g",
        # Denormals are kept, which the option allows, and pointers of any types may lead to the same memory.
        "-cl-denorms-are-zero",
        "-cl-strict-aliasing",
    }
)
_TAKES_VALUE = ("-D", "-I")
_STANDARD = re.compile(r"-cl-std=(.*)")
_LINKING = frozenset({"-create-library", "-enable-link-options"})
_LANES = re.compile(r"-weft-([a-z-]+)=(.*)")
_ON_OR_OFF = ("uniform-values", "uniform-control", "scalar-counters")
_LANE_OPTIONS = ("width", "brush", "projection", "boscc", *_ON_OR_OFF, "scalar-replacement", "without")


class BuildOptions(Struct, frozen=True):
    """Build options that were understood.

    Parameters
    ----------
    standard
        ``CL1.2`` and its like.
    clang
        What clang is given as it is: macros, include folders, warnings, mathematics.
    fastmath
        The fast-math flags that kernels are compiled under.
    optimize
        Whether kernels run in lanes; ``-cl-opt-disable`` says no.
    denormals_are_zero, single_precision_constant, correctly_rounded
        Whether the option of that name was given.
    linking
        Options of ``clLinkProgram`` that were given.
    width, brush, boscc, switches
        How kernels are vectorized, as `weft.options.CompileOptions` has it.
    text
        As it was written.
    """

    standard: str = DEFAULT_STANDARD
    clang: tuple[str, ...] = ()
    fastmath: FastMath = False
    optimize: bool = True
    denormals_are_zero: bool = False
    single_precision_constant: bool = False
    correctly_rounded: bool = False
    linking: tuple[str, ...] = ()
    width: int | None = None
    brush: Brush | None = None
    boscc: str = "auto"
    switches: Switches = ALL_ON
    text: str = ""

    @property
    def version(self) -> int:
        """``__OPENCL_C_VERSION__``."""
        return STANDARDS[self.standard]


def parse_options(text: str) -> BuildOptions:
    """Read the text of build options.

    Raises
    ------
    SettingError
        An option is unknown, lacks its value, or names no standard. The driver's ``CL_INVALID_BUILD_OPTIONS``.
    """
    words = _words(text)
    standard, clang, flags = DEFAULT_STANDARD, [], set[str]()
    given: set[str] = set()
    lanes: dict[str, str] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in _TAKES_VALUE:
            if position == len(words):
                raise SettingError(f"the build option {word} lacks its value", hint=f"write {word}NAME")
            clang.append(word + words[position])
            position += 1
        elif word.startswith(_TAKES_VALUE):
            clang.append(word)
        elif (found := _STANDARD.fullmatch(word)) is not None:
            standard = _standard(found[1])
        elif (found := _LANES.fullmatch(word)) is not None and found[1] in _LANE_OPTIONS:
            lanes[found[1]] = found[2]
        elif word in _FOR_CLANG or word in _FOR_WEFT or word in _LINKING:
            given.add(word)
            flags |= _MATH.get(word, frozenset())
            if word in _FOR_CLANG:
                clang.append(word)
        else:
            raise SettingError(
                f"unknown build option {word!r}", hint="docs/opencl.md lists those that there are"
            )
    return BuildOptions(
        standard,
        tuple(clang),
        fast_math(flags) if flags else False,
        "-cl-opt-disable" not in given,
        "-cl-denorms-are-zero" in given,
        "-cl-single-precision-constant" in given,
        "-cl-fp32-correctly-rounded-divide-sqrt" in given,
        tuple(sorted(given & _LINKING)),
        *_vectorization(lanes),
        text,
    )


def _vectorization(given: Mapping[str, str]) -> tuple[int | None, Brush | None, str, Switches]:
    """Width, brush, branches around what no lane takes, and switches, of options that begin with ``-weft-``."""
    width, boscc = given.get("width"), given.get("boscc", "auto")
    values, control, counters = (_is_on(name, given.get(name, "on")) for name in _ON_OR_OFF)
    without = tuple(name for name in given.get("without", "").split(",") if name)
    try:
        lanes = None if width is None else int(width)
        require_lane_options(lanes, boscc)
        return (
            lanes,
            kernel_brush(given.get("brush"), given.get("projection"), lanes),
            boscc,
            switches(
                values, control, counters, given.get("scalar-replacement", DEFAULT_REPLACEMENT), without
            ),
        )
    except ValueError:
        raise SettingError(f"-weft-width={width} is no number", hint="write a power of two") from None
    except (SignatureError, PassError) as error:
        raise SettingError(error.message, hint=error.hint) from None


def _is_on(name: str, value: str) -> bool:
    if value not in ("on", "off"):
        raise SettingError(f"-weft-{name}={value}", hint="it may be on or off")
    return value == "on"


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SettingError(f"build options cannot be read: {error}", hint="close the quotation") from None


def _standard(name: str) -> str:
    if name.upper() not in STANDARDS:
        raise SettingError(f"-cl-std={name} is no standard", hint=f"there are {', '.join(STANDARDS)}")
    return name.upper()

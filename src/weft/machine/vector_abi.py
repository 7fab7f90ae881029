"""Names of SIMD functions by the vector function ABIs of x86 and AArch64.

``_ZGV<isa><mask><lanes><parameters>_<name>``: the letter of the instruction set, ``M`` where the function takes a
mask and ``N`` where not, the number of lanes, and for each parameter ``v`` (a vector), ``u`` (uniform) or
``l<stride>`` (linear; a negative stride is written ``ln<stride>``, 1 is left out), followed by ``a<alignment>`` where
one is promised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from weft.machine.targets import AVX2, AVX512, NEON, SSE2, SSE4, Isa

_LETTERS = {SSE2.name: "b", SSE4.name: "b", AVX2.name: "d", AVX512.name: "e", NEON.name: "n"}


class VectorParameter(Struct, frozen=True):
    """How a parameter changes from lane to lane: by nothing, by `stride`, or freely (None)."""

    stride: int | None = None
    alignment: int = 1

    def __str__(self) -> str:
        if self.stride is None:
            text = "v"
        elif self.stride == 0:
            text = "u"
        else:
            number = "" if self.stride == 1 else str(abs(self.stride))
            text = f"l{'n' if self.stride < 0 else ''}{number}"
        return text if self.alignment == 1 else f"{text}a{self.alignment}"


def vector_name(isa: Isa, masked: bool, lanes: int, parameters: Sequence[VectorParameter], name: str) -> str:
    """The name of the SIMD version of function `name`; ``_LLVM_`` stands for sets the ABI has no letter for."""
    letter = _LETTERS.get(isa.name, "_LLVM_")
    return f"_ZGV{letter}{'M' if masked else 'N'}{lanes}{''.join(map(str, parameters))}_{name}"


class Variant(Struct, frozen=True):
    """A SIMD version of a function as its name says it.

    Parameters
    ----------
    symbol
        The whole name.
    masked, lanes, parameters
        What it is called with.
    """

    symbol: str
    masked: bool
    lanes: int
    parameters: tuple[VectorParameter, ...]


_NAME = re.compile(
    r"_ZGV(?P<isa>[a-z])(?P<mask>[MN])(?P<lanes>\d+)(?P<parameters>(?:[vul]n?\d*(?:a\d+)?)*)_\w+"
)
_PARAMETER = re.compile(r"(?P<kind>[vul])(?P<negative>n?)(?P<step>\d*)(?:a(?P<alignment>\d+))?")


def variants_for(names: Sequence[str], isa: Isa) -> list[Variant]:
    """The versions for an instruction set among names of versions; steps known at run time only are left out."""
    found: list[Variant] = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or match["isa"] != _LETTERS.get(isa.name):
            continue
        parameters = tuple(_parameter(p) for p in _PARAMETER.finditer(match["parameters"]))
        found.append(Variant(name, match["mask"] == "M", int(match["lanes"]), parameters))
    return found


def _parameter(match: re.Match[str]) -> VectorParameter:
    step = None
    if match["kind"] != "v":
        step = 0 if match["kind"] == "u" else int(match["step"] or 1) * (-1 if match["negative"] else 1)
    return VectorParameter(step, int(match["alignment"] or 1))

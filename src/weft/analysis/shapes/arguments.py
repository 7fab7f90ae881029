"""Initial shapes that a user gives for arguments: ``--args U_C_S4a16_rT``.

One letter per argument, joined by underscores (letters may also follow each other directly, as in ``U_TrT``):

========  =======================================================================================
``U``     uniform
``C``     contiguous: neighbouring lanes are one element apart (1, or for pointers the element size)
``T``     varying
``S<k>``  stride k, which may be negative; in bytes for pointers
========  =======================================================================================

Lanes' values of ``C`` and ``S<k>`` are machine numbers, which may wrap around: of an i8 that is 254 in lane 0, lane 2
has 0. An ``n`` behind the letter (``Cn``, ``S4n``) promises that they do not: base + k·lane, read as a signed and as an
unsigned number, is in the range of the type for all lanes.

Each may be followed by ``a<n>``: the base (for ``T`` each lane) is a multiple of n, in bytes for pointers.
``r<shape>``, last, is the return value. Missing letters mean uniform.
"""

from __future__ import annotations

import re

from msgspec import Struct

from weft.analysis.shapes.domain import Domain
from weft.analysis.shapes.shape import Shape
from weft.diag.errors import ArgumentError

_SHAPE = re.compile(
    r"(?P<result>r?)(?:(?P<kind>[UT])|(?:(?P<unit>C)|S(?P<stride>-?\d+))(?P<exact>n?))(?:a(?P<alignment>\d+))?_?"
)


class ArgumentShape(Struct, frozen=True):
    """One letter: `kind` is U, C, T or S; `stride` counts for S only. `exact`: numbers of lanes do not wrap around."""

    kind: str = "U"
    stride: int = 0
    alignment: int = 1
    exact: bool = False

    def shape(self, domain: Domain, bits: int, element_bytes: int = 1) -> Shape:
        """The shape of an argument with `bits` bits (0: no integer) whose elements have the given distance."""
        alignment = self.alignment if bits else 1
        if self.kind == "U":
            return domain.uniform(bits, alignment)
        if self.kind == "T" or not bits:
            return domain.varying(bits, alignment)
        stride = element_bytes if self.kind == "C" else self.stride
        return domain.strided(stride, bits, alignment, exact=self.exact)

    def __str__(self) -> str:
        text = (f"S{self.stride}" if self.kind == "S" else self.kind) + ("n" if self.exact else "")
        return text if self.alignment == 1 else f"{text}a{self.alignment}"


class Signature(Struct, frozen=True):
    """Shapes of the arguments, and of the result if one was given."""

    arguments: tuple[ArgumentShape, ...]
    result: ArgumentShape | None = None

    def argument(self, index: int) -> ArgumentShape:
        """The shape of an argument; uniform where none was given."""
        return self.arguments[index] if index < len(self.arguments) else ArgumentShape()

    def __str__(self) -> str:
        text = "_".join(map(str, self.arguments))
        return text if self.result is None else f"{text}_r{self.result}".removeprefix("_")


def parse_args(text: str) -> Signature:
    """Read the shapes of ``--args``.

    Raises
    ------
    ArgumentError
        With the position of what could not be read.
    """
    arguments: list[ArgumentShape] = []
    result: ArgumentShape | None = None
    position = 0
    while position < len(text):
        match = _SHAPE.match(text, position)
        if match is None or result is not None:
            raise ArgumentError(
                f"shapes of arguments {text!r}: cannot read {text[position:]!r}",
                hint="one of U, C, T, S<stride> for each argument, joined by _, C and S optionally followed by n,"
                " each by a<alignment>; last r<shape> for the result",
            )
        alignment = match["alignment"]
        stride = match["stride"]
        shape = ArgumentShape(
            match["kind"] or match["unit"] or "S",
            int(stride or 0),
            1 if alignment is None else int(alignment),
            bool(match["exact"]),
        )
        if match["result"]:
            result = shape
        else:
            arguments.append(shape)
        position = match.end()
    return Signature(tuple(arguments), result)

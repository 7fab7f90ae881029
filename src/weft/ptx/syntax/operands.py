"""Operands of instructions: registers, numbers, symbols, addresses, and groups of these. All are frozen."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register.

    `component` is what follows the dot: ``x y z w r g b a`` of a vector register, ``b0``..``b3`` or ``h0`` ``h1`` of an
    operand of a video instruction, or nothing.
    """

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A predefined register such as ``%tid`` with component ``x``, or ``%laneid``."""

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, from -2**63 to 2**64 - 1; constant expressions have been evaluated.

    `unsigned` says that the text had the suffix ``U``, or a value that only an unsigned 64-bit integer has.
    """

    value: int
    unsigned: bool = False

    def bits(self, width: int) -> int:
        """The low `width` bits."""
        return self.value & ((1 << width) - 1)


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant by its bits: of single precision (``0f``, width 32) or of double (``0d`` and decimals)."""

    pattern: int
    width: int = 64

    @property
    def value(self) -> float:
        """What the bits mean."""
        form, integer = ("<f", "<I") if self.width == 32 else ("<d", "<Q")
        return struct.unpack(form, struct.pack(integer, self.pattern))[0]

    def bits(self, width: int) -> int:
        """The bits when used as a number of this width (16, 32 or 64), rounded to nearest; NaN keep their payload."""
        if width == self.width:
            return self.pattern
        if self.value != self.value:
            return _nan_bits(self.pattern, self.width, width)
        form, integer = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[width]
        try:
            return struct.unpack(integer, struct.pack(form, self.value))[0]
        except OverflowError:
            infinity = float("inf") if self.value > 0 else float("-inf")
            return struct.unpack(integer, struct.pack(form, infinity))[0]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function, label or parameter by its name, or the address ``name + offset`` of one.

    In an initializer, `generic` says that the generic address is meant, and `mask` which bits of it (0: all).
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces: ``{%r1, %r2}``."""

    elements: tuple[Operand, ...]


AddressBase: TypeAlias = Register | SpecialRegister | Symbol | Integer
"""What an address can begin with."""


@dataclass(frozen=True, slots=True)
class Address:
    """An operand in brackets.

    Parameters
    ----------
    base
        Register, symbol or absolute address.
    offset
        Bytes added to it.
    more
        What follows after commas: coordinates and samplers of textures and tensors.
    unified
        Whether ``.unified`` stands behind the bracket.
    """

    base: AddressBase
    offset: int = 0
    more: tuple[Operand, ...] = ()
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """An array's element without brackets, ``name[index]``: its address, or, of ``.reg`` arrays, its value."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Negated:
    """A predicate read inverted, ``!p``, or (`sign` is ``-``) an operand of a video instruction read negated."""

    operand: Operand
    sign: str = "!"


@dataclass(frozen=True, slots=True)
class Sink:
    """The destination ``_``, which drops the value."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations, ``p|q``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """Operands in parentheses: what a call passes, or what it gets back."""

    elements: tuple[Operand, ...]


Operand: TypeAlias = (
    Register
    | SpecialRegister
    | Integer
    | Float
    | Symbol
    | Vector
    | Address
    | Element
    | Negated
    | Sink
    | Pair
    | Group
)


def _nan_bits(pattern: int, width: int, wanted: int) -> int:
    """A NaN of another width: sign, quiet bit and the high bits of the payload stay."""
    fraction = {16: 10, 32: 23, 64: 52}
    sign = pattern >> (width - 1) << (wanted - 1)
    exponent = ((1 << (wanted - 1 - fraction[wanted])) - 1) << fraction[wanted]
    payload = pattern & ((1 << fraction[width]) - 1)
    shift = fraction[width] - fraction[wanted]
    kept = payload >> shift if shift > 0 else payload << -shift
    return sign | exponent | (kept or 1 << (fraction[wanted] - 1))

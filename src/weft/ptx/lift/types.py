"""Types of PTX as types of P-LLVM, and what the modifiers of an instruction say."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.types import BF16, F16, F32, F64, I1, FloatType, IntType, Type, VectorType, int_type
from weft.ptx.syntax import Instruction
from weft.ptx.types import FUNDAMENTAL

_FLOATS: dict[str, FloatType] = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
_PAIRS: dict[str, Type] = {
    "f16x2": F16,
    "bf16x2": BF16,
    "u16x2": int_type(16),
    "s16x2": int_type(16),
}


def ir_type(type: str) -> Type:
    """The type that a value has in P-LLVM; pairs of halves are vectors of two."""
    if type in _FLOATS:
        return _FLOATS[type]
    if type in _PAIRS:
        return VectorType(_PAIRS[type], 2)
    return I1 if type == "pred" else int_type(bits_of(type))


def bits_of(type: str) -> int:
    """How many bits a type has."""
    if type in ("u16x2", "s16x2"):
        return 32
    return FUNDAMENTAL[type][1]


def is_signed(type: str) -> bool:
    """Whether a type is a signed integer."""
    return type[0] == "s"


def is_float(type: str) -> bool:
    """Whether a type is a floating-point number, or a pair of them."""
    return type[0] == "f" or type.startswith("bf")


def integer_of(type: Type) -> IntType:
    """`type`, which is an integer type."""
    assert isinstance(type, IntType)
    return type


@dataclass(frozen=True, slots=True)
class Form:
    """The modifiers of an instruction: types apart, the others as a set.

    Parameters
    ----------
    types
        In the order of the text.
    words
        All others: ``rn``, ``ftz``, ``sat``, ``lo``.
    """

    types: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def of(cls, instruction: Instruction) -> Form:
        """Read the modifiers of an instruction."""
        types, words = list[str](), list[str]()
        for modifier in instruction.modifiers:
            (types if modifier in FUNDAMENTAL or modifier in _PAIRS else words).append(modifier)
        return cls(tuple(types), frozenset(words))

    @property
    def type(self) -> str:
        """The last type, which is that of most instructions."""
        return self.types[-1]

    def one_of(self, *words: str) -> str:
        """The first of these words that is there, else nothing."""
        return next((word for word in words if word in self.words), "")

"""Vector shapes: what is known of the values one instruction has in the lanes of a lane group.

All lattices of this package are parts of one, so that a shape is one object whatever lattice computed it.

**Lane space.** The lanes of a group are the points ℓ = (ℓ₀, …, ℓ_d₋₁) of a box with extents (m₀, …, m_d₋₁);
`(W,)` for plain vectorization. An extent may be unknown (None).

**Concretization.** Let v[ℓ] be the value of an n-bit integer or pointer in lane ℓ. With σ(ℓ) = Σ sᵢ·ℓᵢ over
the dimensions whose stride sᵢ is a number, a shape says that there are integers Cᵢ, one for each dimension
with a `SYMBOLIC` stride, and integers f(·), one for each combination of the coordinates in dimensions with
stride None, such that in every active lane

1. v[ℓ] ≡ f(ℓ) + Σ Cᵢ·ℓᵢ + σ(ℓ)  (mod 2ⁿ),
2. f(ℓ) ≡ residue  and  Cᵢ ≡ 0  (mod 2^known_bits): the low bits of the *base* f are known, and what is not in
   σ does not touch them,
3. where no stride is None: if ``nsw`` ≥ ACTIVE, (1) holds for the signed value of v[ℓ] exactly, not only modulo
   2ⁿ; if ``nsw`` = BASE, f is in the signed range besides. ``nuw`` says the same of the unsigned value.

A lane whose value is poison counts as inactive: a claim may be made true there by refinement. ⊥ has no vectors.

So stride (0,) is uniform, (1,) is contiguous, (None,) with known low bits is Moll's varying shape with an
alignment, and ``known_bits == n`` means that the base is a constant. An alignment that is no power of two is
kept only as far as a power of two divides it: nothing else survives a wrap-around.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from weft.analysis.integers.bounds import to_signed, trailing_zeros


class Symbolic(Enum):
    """A stride that is the same between all neighbouring lanes, but known only when the program runs."""

    UNKNOWN = "?"

    def __repr__(self) -> str:
        return "SYMBOLIC"

    # Enum hashes by name in Python code; shapes are hashed all the time.
    __hash__ = object.__hash__


SYMBOLIC: Final = Symbolic.UNKNOWN

Stride: TypeAlias = int | Symbolic | None

WRAPS: Final = 0
"""Level of exactness: the strided form holds modulo 2ⁿ only."""
ACTIVE: Final = 1
"""Level of exactness: the form holds over the integers in every active lane."""
BASE: Final = 2
"""Level of exactness: as ACTIVE, and the base (lane zero, be it active or not) is in the type's range."""


class Shape(NamedTuple):
    """An element of the lattice; built by `lattice.make` or a domain, which put it into canonical form.

    Parameters
    ----------
    strides
        Per dimension of the lane space: a number (canonical in the signed range), `SYMBOLIC`, or None.
    residue, known_bits
        The base is ``residue`` modulo ``2**known_bits``.
    nsw, nuw
        Exactness of the strided form in the signed and the unsigned reading: WRAPS, ACTIVE or BASE.
    """

    strides: tuple[Stride, ...]
    residue: int = 0
    known_bits: int = 0
    nsw: int = BASE
    nuw: int = BASE

    @property
    def is_bottom(self) -> bool:
        return not self.strides

    @property
    def is_uniform(self) -> bool:
        """All active lanes have the same value (⊥ included: there are no lanes that differ)."""
        return self.strides.count(0) == len(self.strides)

    @property
    def is_strided(self) -> bool:
        """The stride is a known number in every dimension (uniform values included)."""
        # Asked of every value again and again: a loop is faster than `all` of a generator.
        for stride in self.strides:
            if not isinstance(stride, int):
                return False
        return bool(self.strides)

    @property
    def is_affine(self) -> bool:
        """The value is base + Σ stride·lane with strides that are numbers or uniform run-time values."""
        return bool(self.strides) and None not in self.strides

    @property
    def is_varying(self) -> bool:
        """In some dimension nothing is known of how lanes are related."""
        return None in self.strides

    @property
    def stride(self) -> Stride:
        """The stride in dimension 0."""
        return self.strides[0] if self.strides else None

    @property
    def alignment(self) -> int:
        """The largest known power of two that divides the base."""
        return 1 << min(self.known_bits, trailing_zeros(self.residue))

    @property
    def lane_known_bits(self) -> int:
        """How many low bits are known to be the same, namely those of `residue`, in every lane."""
        known = self.known_bits
        for stride in self.strides:
            if isinstance(stride, int) and stride:
                known = min(known, trailing_zeros(stride))
        return known

    @property
    def lane_alignment(self) -> int:
        """The largest known power of two that divides the value of every lane (Moll, Fig. 10.8)."""
        return 1 << min(self.lane_known_bits, trailing_zeros(self.residue))

    def constant(self, bits: int) -> int | None:
        """The unsigned value if it is one constant in all lanes."""
        if bits and self.known_bits == bits and self.strides and self.is_uniform:
            return self.residue
        return None

    @property
    def class_name(self) -> str:
        """`bottom`, `uniform`, `strided`, `affine` or `varying`, as reports call it."""
        if not self.strides:
            return "bottom"
        if self.is_uniform:
            return "uniform"
        if None in self.strides:
            return "varying"
        return "affine" if SYMBOLIC in self.strides else "strided"

    def __str__(self) -> str:
        """The notation of ``--args`` where it has one: U, S4, S4a16, T, Ta8.

        S? has a symbolic stride; U=5 and S1=0 have a constant base (of at least 32 bits: a shape does not say how
        wide its values are).
        """
        if not self.strides:
            return "⊥"
        if self.is_uniform:
            text = "U"
        elif all(s is None for s in self.strides):
            text = "T"
        elif len(self.strides) == 1:
            text = f"S{_stride_text(self.strides[0])}"
        else:
            text = "S(" + ",".join(_stride_text(s) for s in self.strides) + ")"
        if self.known_bits >= _CONSTANT:
            return f"{text}={to_signed(self.residue, self.known_bits)}"
        return text if self.alignment == 1 else f"{text}a{self.alignment}"


_CONSTANT = 32


def _stride_text(stride: Stride) -> str:
    if stride is None:
        return "*"
    return "?" if stride is SYMBOLIC else str(stride)


BOTTOM: Final = Shape(())

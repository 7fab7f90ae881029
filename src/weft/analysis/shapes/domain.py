"""What the divergence engine asks of a lattice, and the part of the answer that all lattices share.

The lattices differ in which claims they can make, not in what a claim means: each is a sublattice of
`lattice`, given by a projection that forgets the rest. Its transfer functions are those of the whole lattice on
its own elements, projected back; a more precise lattice therefore never claims less.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from weft.analysis.integers.bounds import trailing_zeros
from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes.application import Fact, tighten
from weft.analysis.shapes.concretize import contains
from weft.analysis.shapes.lattice import Extents, join, make, meet
from weft.analysis.shapes.shape import ACTIVE, BASE, BOTTOM, Shape, Stride
from weft.analysis.shapes.transfer import transfer


class Domain(Protocol):
    """A lattice of shapes over a lane space with the given extents (None: unknown)."""

    @property
    def name(self) -> str: ...

    @property
    def extents(self) -> Extents: ...

    def bottom(self) -> Shape:
        """No value: not reached, or not computed yet."""
        ...

    def uniform(self, bits: int = 0, alignment: int = 1) -> Shape:
        """The same value in all lanes, a multiple of `alignment` if it is an integer or pointer."""
        ...

    def varying(self, bits: int = 0, alignment: int = 1) -> Shape:
        """Values that nothing relates, each a multiple of `alignment`."""
        ...

    def constant(self, bits: int, value: int) -> Shape:
        """An integer constant."""
        ...

    def lane_id(self, dim: int = 0, bits: int = 64) -> Shape:
        """The coordinate of the lane along `dim`, counted from zero."""
        ...

    def strided(
        self, strides: int | tuple[Stride, ...], bits: int = 64, alignment: int = 1, exact: bool = True
    ) -> Shape:
        """Base + Σ stride·lane, the base a multiple of `alignment`; `exact`: as numbers, without wrapping.

        A single number is the stride along dimension 0. Alignment 0 means that the base is zero. Thread ids have
        stride 1 along the dimension that lanes run along, aligned to W where groups begin at multiples of W.
        """
        ...

    def join(self, a: Shape, b: Shape) -> Shape: ...

    def leq(self, a: Shape, b: Shape) -> bool: ...

    def meet(self, a: Shape, b: Shape, bits: int) -> Shape:
        """Both claims about one value (parameter attributes, assumptions)."""
        ...

    def refine(self, shape: Shape, bits: int, bounds: Interval | None) -> Shape:
        """`shape` with the exactness that a range of the value proves."""
        ...

    def transfer(
        self,
        op: str,
        flags: Iterable[str],
        bits: int,
        operands: Sequence[Fact],
        predicate: str | None = None,
        *,
        scales: tuple[int, ...] = (),
        offset: int = 0,
        bounds: Interval | None = None,
    ) -> Shape:
        """The shape of an instruction's result.

        Parameters
        ----------
        op
            LLVM's opcode; for intrinsics umin umax smin smax abs ptrmask. Every other name is uniform where all
            operands are, and so must stand for an operation without memory or side effects.
        flags
            nsw nuw exact disjoint nneg inbounds nusw samesign; ``noundef`` on a freeze of what is not poison.
        bits
            Width of the result if it is an integer or pointer, else 0.
        operands
            Their facts: a getelementptr has the base, then one per index with a byte scale in `scales`;
            constant indices may be folded into `offset`. ⊥ operands give ⊥, but are left out at a phi.
        bounds
            A range of the result, if one is known.
        """
        ...

    def at_lane_zero(
        self,
        op: str,
        bits: int,
        operands: Sequence[Fact],
        shape: Shape,
        predicate: str | None = None,
        *,
        scales: tuple[int, ...] = (),
        offset: int = 0,
    ) -> bool:
        """Whether one evaluation, on the bases of the operands and without flags, gives the base of `shape`.

        Code generation computes a strided or uniform result once, in lane zero. Lane zero may be inactive, and
        then flags and ranges promise nothing for it: what was concluded from them holds in the active lanes, but
        must be computed in one of these, or in all lanes.
        """
        ...

    def contains(
        self, shape: Shape, lanes: np.ndarray, active: np.ndarray | Sequence[bool] | None, bits: int
    ) -> bool:
        """Whether observed values agree with `shape`: the concretization, as a test of membership.

        Parameters
        ----------
        lanes
            The values, indexed by lane coordinates. Integers in either reading.
        active
            The lanes that count, of the same shape: the definition mask, less lanes with poison.
        bits
            Width of integers and pointers; 0 for all else, compared bit by bit.
        """
        ...


class ShapeDomain(ABC):
    """Everything in `Domain` but the projection, which tells one lattice from another."""

    name: str

    def __init__(self, extents: Extents) -> None:
        self.extents = extents
        self._zeros: tuple[Stride, ...] = (0,) * len(extents)
        # Bound to the instance, so that a domain's cached results go with it.
        self._cached = lru_cache(maxsize=1 << 16)(self._transfer)

    @abstractmethod
    def project(self, shape: Shape, bits: int) -> Shape:
        """The least element of this lattice that is above `shape`, of a value with so many bits."""

    def bottom(self) -> Shape:
        return BOTTOM

    def uniform(self, bits: int = 0, alignment: int = 1) -> Shape:
        return self.strided(self._zeros, bits, alignment)

    def varying(self, bits: int = 0, alignment: int = 1) -> Shape:
        return self.strided((None,) * len(self.extents), bits, alignment)

    def constant(self, bits: int, value: int) -> Shape:
        return self.project(make(self.extents, bits, self._zeros, value, bits), bits)

    def lane_id(self, dim: int = 0, bits: int = 64) -> Shape:
        strides = tuple(int(d == dim) for d in range(len(self.extents)))
        return self.project(make(self.extents, bits, strides, 0, bits, BASE, BASE), bits)

    def strided(
        self, strides: int | tuple[Stride, ...], bits: int = 64, alignment: int = 1, exact: bool = True
    ) -> Shape:
        if isinstance(strides, int):
            strides = (strides, *self._zeros[1:])
        known = trailing_zeros(alignment)
        level = BASE if exact else 0
        return self.project(make(self.extents, bits, strides, 0, known, level, level), bits)

    def join(self, a: Shape, b: Shape) -> Shape:
        if a is b:
            return a
        # A base of which both know all bits is a constant, whatever the type.
        return self.project(join(a, b), max(a.known_bits, b.known_bits))

    def leq(self, a: Shape, b: Shape) -> bool:
        return a is b or self.join(a, b) == b

    def meet(self, a: Shape, b: Shape, bits: int) -> Shape:
        return self.project(meet(self.extents, bits, a, b), bits)

    def refine(self, shape: Shape, bits: int, bounds: Interval | None) -> Shape:
        if bounds is None:
            return shape
        return self.project(tighten(self.extents, bits, shape, bounds), bits)

    def transfer(
        self,
        op: str,
        flags: Iterable[str],
        bits: int,
        operands: Sequence[Fact],
        predicate: str | None = None,
        *,
        scales: tuple[int, ...] = (),
        offset: int = 0,
        bounds: Interval | None = None,
    ) -> Shape:
        return self._cached(
            op, tuple(flags), bits, tuple(operands), predicate, scales, offset, bounds, ACTIVE
        )

    def at_lane_zero(
        self,
        op: str,
        bits: int,
        operands: Sequence[Fact],
        shape: Shape,
        predicate: str | None = None,
        *,
        scales: tuple[int, ...] = (),
        offset: int = 0,
    ) -> bool:
        if all(fact.shape.is_uniform for fact in operands):
            return True
        there = self._cached(op, (), bits, tuple(operands), predicate, scales, offset, None, BASE)
        return there.strides == shape.strides

    def _transfer(
        self,
        op: str,
        flags: tuple[str, ...],
        bits: int,
        operands: tuple[Fact, ...],
        predicate: str | None,
        scales: tuple[int, ...],
        offset: int,
        bounds: Interval | None,
        need: int,
    ) -> Shape:
        return self.project(
            transfer(
                self.extents, op, frozenset(flags), bits, operands, predicate, scales, offset, bounds, need
            ),
            bits,
        )

    def contains(
        self, shape: Shape, lanes: np.ndarray, active: np.ndarray | Sequence[bool] | None, bits: int
    ) -> bool:
        return contains(shape, lanes, active, bits)

"""For which launches the code of a kernel is, and which specializations of it serve the others.

A kernel is compiled for launches of any shape first. What the passes find out about it, its `LaunchTerms`, says which
work-groups are served better, or only, by code that is made for them: small ones, rows that are no whole lane groups,
boxes of threads, arrays of 2 GiB, arrays that overlap. Every door for kernels launches through `Specializations`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from weft.brush import Brush
from weft.options import CompileOptions
from weft.runtime.row_numbers import FEW, MOST_VERSIONS, Known, RowNumbers, numbers_of
from weft.runtime.shape import LaunchShape
from weft.runtime.watching import counts_lanes
from weft.target.once import made_once


class LaunchTerms(Struct, frozen=True):
    """What a launch asks of compiled code.

    Parameters
    ----------
    barrier_width
        Threads of a lane group of a kernel with barriers, of which there are specializations for smaller work-groups; 0
        for others.
    row_multiple
        It is for work-groups whose rows have a multiple of so many threads.
    box_width
        For work-groups of several rows with fewer threads than this there are specializations that run boxes of
        threads.
    box_rows, box_columns
        For work-groups of as many threads along y and x, or more, there is a specialization that runs boxes of these; 0
        for none.
    arrays_apart
        It is for launches in which no two arrays overlap; there is a specialization for the others.
    warp
        Threads of a warp if the kernel uses warp operations, else 1; boxes have as many, and are warps.
    sized
        The numbers of parameters that lead to arrays of which the code gets the bytes, behind all arguments; -1 for 0
        bytes, which nobody asks for.
    """

    barrier_width: int = 0
    row_multiple: int = 1
    box_width: int = 0
    warp: int = 1
    arrays_apart: bool = False
    box_rows: int = 0
    box_columns: int = 0
    sized: tuple[int, ...] = ()

    def has_box(self, block: tuple[int, int, int]) -> bool:
        """Whether work-groups of this size have the box that is for all of some size."""
        x, y, _ = block
        return 0 < self.box_rows <= y and self.box_columns <= x

    def has_boxes(self, block: tuple[int, int, int]) -> bool:
        """Whether there is a specialization for work-groups of this size that runs boxes of threads.

        Warps are boxes only where rows, or planes, are parts of them.
        """
        x, y, z = block
        if x >= self.box_width or y * z == 1:
            return False
        if self.warp == 1:
            return True
        part = x if x * y % self.warp == 0 else x * y
        return self.warp % part == 0 and x * y * z % self.warp == 0

    def serves(self, block: tuple[int, int, int]) -> bool:
        """Whether the code itself is what runs work-groups of this size."""
        row = block[0]
        in_rows = not self.has_boxes(block) and not self.has_box(block)
        return row > self.barrier_width and row % self.row_multiple == 0 and in_rows

    def options_for(self, options: CompileOptions, shape: LaunchShape) -> CompileOptions:
        """The options of the specialization for a launch, of code that was compiled under `options`.

        Lane groups are boxes of threads where rows are short, so that few lanes are wasted; a work-group that is one
        lane group needs no barriers.
        """
        row = shape.block[0]
        width = 1 << (row - 1).bit_length()
        if self.has_boxes(shape.block):
            return replace(options, block=shape.block, whole_rows=False)
        if self.has_box(shape.block):
            brush = Brush((self.box_rows, self.box_columns), (1, 0))
            return replace(options, brush=brush, brush_chosen=True)
        if row == shape.group_threads and 1 < width <= self.barrier_width:
            return replace(options, width=width, lock_step=True)
        if width < self.barrier_width:
            return replace(options, width=width, whole_rows=row == width)
        if row % self.row_multiple:
            return replace(options, whole_rows=False)
        return options


class Specialized(Protocol):
    """Code of a kernel for some types of arguments."""

    @property
    def types(self) -> Hashable:
        """The types."""
        ...

    @property
    def options(self) -> CompileOptions:
        """How it was compiled."""
        ...

    @property
    def row_numbers(self) -> RowNumbers:
        """The parameters that rows have their lengths from, and up to which there are specializations."""
        ...

    @property
    def terms(self) -> LaunchTerms:
        """For which launches it is; that takes compiling it."""
        ...


SpecializedT = TypeVar("SpecializedT", bound=Specialized)


class Specializations(Generic[SpecializedT]):
    """The specializations of a kernel that launches have asked for.

    Parameters
    ----------
    make
        Compiles one for the types of another, under other options.
    """

    def __init__(self, make: Callable[[SpecializedT, CompileOptions], SpecializedT]) -> None:
        self._make = make
        self.made: dict[tuple[Hashable, CompileOptions], SpecializedT] = {}

    def serving(
        self,
        code: SpecializedT,
        shape: LaunchShape,
        large: bool,
        overlapping: Callable[[], bool] = lambda: False,
        slots: Callable[[], Sequence[Any]] | None = None,
        inside: Callable[[], bool] = lambda: False,
    ) -> SpecializedT:
        """The specialization of `code` that serves a launch.

        Parameters
        ----------
        code
            What was compiled for launches of any shape.
        shape
            That of the launch.
        large
            Whether it has arrays of 2 GiB or more.
        overlapping
            Whether two of its arrays overlap; that is asked for code that takes none to do so.
        slots
            Its slots, as far as there are parameters, where they are known.
        inside
            Whether one of its arrays may have something in front of it; that is asked for code that takes none to.
        """
        if slots is not None and code.row_numbers and shape.group_threads * shape.groups > FEW:
            code = self.knowing(code, numbers_of(code.row_numbers, slots()))
        if large or not code.terms.serves(shape.block):
            if large:
                code = self._specialized(code, replace(code.options, small_arrays=False))
            code = self._specialized(code, code.terms.options_for(code.options, shape))
        options = code.options
        if code.terms.arrays_apart and overlapping():
            options = replace(options, arrays_apart=False)
        if options.array_begins and inside():
            options = replace(options, array_begins=False)
        code = self._specialized(code, options)
        if counts_lanes():
            counting = replace(code.options.switches, count_lanes=True)
            code = self._specialized(code, replace(code.options, switches=counting))
        return code

    def knowing(self, code: SpecializedT, known: Known) -> SpecializedT:
        """The specialization of `code` for numbers that are known; `code` itself where there are too many."""
        made = {o.known for types, o in list(self.made) if types == code.types and o.known}
        if known not in made and len(made) >= MOST_VERSIONS:
            return code
        return self._specialized(code, replace(code.options, known=known))

    def _specialized(self, code: SpecializedT, options: CompileOptions) -> SpecializedT:
        if options == code.options:
            return code
        return made_once(self.made, (code.types, options), lambda: self._make(code, options))

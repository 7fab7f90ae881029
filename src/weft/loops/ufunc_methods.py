"""What elementwise functions have beside their call, as NumPy's ufuncs have it: ``reduce``, ``outer``, ``at``, ...."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.call_site import located
from weft.diag.errors import ArgumentError
from weft.frontend.python.types import Scalar
from weft.loops import reduction_loops as loops

if TYPE_CHECKING:
    from weft.loops.element_types import ElementTypes
    from weft.loops.jit_function import JitFunction

_NO_VALUE: Any = object()


class UfuncMethods:
    """Base of elementwise functions: methods, and what a ufunc tells of itself."""

    name: str
    nin: int
    nout: int
    identity: Any
    signature = None
    """Of ufuncs of stacks of arrays."""

    if TYPE_CHECKING:
        signatures: tuple[Any, ...]
        _types: ElementTypes
        _lines: dict[tuple[Callable[[Any], FunctionType], np.dtype[Any]], JitFunction | None]

        def _loop(self, make: Callable[[Any], FunctionType]) -> JitFunction: ...
        def __call__(self, *args: Any, **keywords: Any) -> Any: ...

    @property
    def nargs(self) -> int:
        return self.nin + self.nout

    @property
    def types(self) -> list[str]:
        """The types that it was declared for, in NumPy's letters: ``["ff->f", "dd->d"]``."""
        return [
            f"{''.join(t.dtype.char for t in s.args)}->{'?' if s.result is None else s.result.dtype.char}"
            for s in self.signatures
        ]

    @property
    def ntypes(self) -> int:
        return len(self.signatures)

    def reduce(
        self,
        array: Any,
        axis: int | tuple[int, ...] | None = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NO_VALUE,
        stream: Any = 0,
    ) -> Any:
        """Combine the elements along an axis, from the first to the last.

        Parameters
        ----------
        array
            An array, or what makes one.
        axis
            The axis; several, which the function has to be associative and commutative for; None for all.
        dtype
            The type to compute in.
        out
            The array that takes the results.
        keepdims
            Whether the axis stays, with one element.
        initial
            What to begin with; the first element, unless given.
        stream
            Orders nothing.

        Raises
        ------
        ArgumentError
            This is no function of two numbers of one type, the axis is none, or there are no elements and neither
            `initial` nor an identity.
        """
        del stream
        simple = dtype is None and out is None and not keepdims and initial is _NO_VALUE
        if simple and type(array) is np.ndarray and array.ndim == 1 and array.size and axis in (0, -1, None):
            line = self._line(loops.reduced_line, array.dtype)
            if line is not None:
                return array.dtype.type(line(array))
        return self._reduce(array, axis, dtype, out, keepdims, initial)

    def _line(self, make: Callable[[Any], FunctionType], dtype: np.dtype[Any]) -> JitFunction | None:
        """The loop over vectors of elements that are combined as they are; None for others."""
        known = self._lines.get((make, dtype), _NO_VALUE)
        if known is _NO_VALUE:
            self._require_two(make.__name__)
            known = (
                self._loop(make)
                if dtype.isnative and self._fold_type(np.empty(0, dtype), None).dtype == dtype
                else None
            )
            self._lines[make, dtype] = known
        return known

    @located
    def _reduce(self, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any) -> Any:
        """Do what `reduce` says, for all arguments."""
        self._require_two("reduce")
        given = np.asarray(array)
        axes = _axes(self.name, axis, given.ndim)
        moved = np.moveaxis(given, axes, range(-len(axes), 0)) if axes else given
        outer = moved.shape[: given.ndim - len(axes)]
        if len(axes) == 1:
            parts = _around(given, axes[0])
        else:
            parts = np.ascontiguousarray(moved).reshape(int(np.prod(outer)), -1, 1)
        type_ = self._fold_type(given, dtype)
        start = self.identity if initial is _NO_VALUE else initial
        if parts.shape[1] == 0 or initial is not _NO_VALUE:
            if start is None:
                raise ArgumentError(f"{self.name}.reduce() of no elements has no value", hint="give initial")
            begin, found = 0, np.full((parts.shape[0], parts.shape[2]), start, type_.dtype)
        else:
            begin, found = 1, parts[:, 0, :].astype(type_.dtype)
        self._loop(loops.reduced)(np.ascontiguousarray(parts, type_.dtype), begin, found)
        made = found.reshape(
            tuple(1 if k in axes else n for k, n in enumerate(given.shape)) if keepdims else outer
        )
        return _given(made, out)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The values of a reduction after each element along an axis.

        Raises
        ------
        ArgumentError
            This is no function of two numbers of one type, or the axis is none.
        """
        simple = (
            type(array) is np.ndarray and array.ndim == 1 and array.size and dtype is None and out is None
        )
        if simple and axis in (0, -1):
            line = self._line(loops.accumulated_line, array.dtype)
            if line is not None:
                return line(array)
        return self._accumulate(array, axis, dtype, out)

    @located
    def _accumulate(self, array: Any, axis: int, dtype: Any, out: Any) -> Any:
        """Do what `accumulate` says, for all arguments."""
        self._require_two("accumulate")
        given = np.asarray(array)
        (place,) = _axes(self.name, axis, given.ndim)
        type_ = self._fold_type(given, dtype)
        parts = np.ascontiguousarray(_around(given, place), type_.dtype)
        made = np.empty_like(parts)
        if parts.size:
            made[:, 0, :] = parts[:, 0, :]
            self._loop(loops.accumulated)(parts, made)
        return _given(made.reshape(given.shape), out)

    @located
    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Reductions of parts of an axis, as NumPy's: from each index to the next, or of one element if that is less.

        Raises
        ------
        ArgumentError
            This is no function of two numbers of one type, the axis is none, or an index lies outside.
        """
        self._require_two("reduceat")
        given, begins = np.asarray(array), np.asarray(indices, np.int64).ravel()
        (place,) = _axes(self.name, axis, given.ndim)
        size = given.shape[place]
        begins = np.where(begins < 0, begins + size, begins)
        if np.any((begins < 0) | (begins >= size)):
            raise ArgumentError(f"{self.name}.reduceat(): an index lies outside of the axis of {size}")
        ends = np.append(begins[1:], size)
        type_ = self._fold_type(given, dtype)
        parts = np.ascontiguousarray(_around(given, place), type_.dtype)
        made = np.empty((parts.shape[0], begins.size, parts.shape[2]), type_.dtype)
        self._loop(loops.reduced_between)(parts, begins, ends, made)
        shape = (*given.shape[:place], begins.size, *given.shape[place + 1 :])
        return _given(made.reshape(shape), out)

    @located
    def outer(self, a: Any, b: Any, **keywords: Any) -> Any:
        """The function of all pairs of elements.

        Raises
        ------
        ArgumentError
            This is no function of two numbers.
        """
        self._require_two("outer")
        first, second = np.asarray(a), np.asarray(b)
        return self(first.reshape(first.shape + (1,) * second.ndim), second, **keywords)

    @located
    def at(self, array: np.ndarray[Any, Any], indices: Any, values: Any = None) -> None:
        """Change the elements at the indices in place, one after the other, so that a place may come several times.

        Raises
        ------
        ArgumentError
            `array` is no array that can be written, or the function does not take its elements.
        IndexError
            An index lies outside.
        """
        if self.nin > 2 or (self.nin == 2) != (values is not None):
            raise ArgumentError(f"{self.name}.at() takes an array, indices{', values' * (self.nin == 2)}")
        if not isinstance(array, np.ndarray) or not array.flags.writeable:
            raise ArgumentError(f"{self.name}.at() changes an array in place, not {type(array).__qualname__}")
        numbers = np.arange(array.size).reshape(array.shape)[indices]
        wide = array if array.flags.c_contiguous else array.copy()
        given = [np.empty(0, array.dtype)] + ([] if values is None else [np.asarray(values)])
        types = self._types.chosen(given, [False] * len(given))
        if not np.can_cast(self._types.result(types), array.dtype, "same_kind"):
            raise ArgumentError(f"{self.name}.at(): its results do not fit into {array.dtype}")
        work = np.ascontiguousarray(wide, types[0].dtype).reshape(-1)
        if values is None:
            self._loop(loops.changed_at)(work, numbers.reshape(-1))
        else:
            second = np.broadcast_to(np.asarray(values), numbers.shape)
            self._loop(loops.combined_at)(
                work, numbers.reshape(-1), np.ascontiguousarray(second, types[1].dtype).reshape(-1)
            )
        if not np.shares_memory(work, array):
            array[...] = work.reshape(array.shape)

    def _require_two(self, method: str) -> None:
        if self.nin != 2:
            raise ArgumentError(f"{self.name}.{method}() is for functions of two numbers, not of {self.nin}")

    def _fold_type(self, array: np.ndarray[Any, Any], dtype: Any) -> Scalar:
        """The type in which elements are combined: what the function gives for two of it."""
        example = np.empty(0, array.dtype if dtype is None else dtype)
        for _ in range(3):
            types = self._types.chosen([example, example], [False, False])
            result = self._types.result(types)
            if types[0] is types[1] and types[0].dtype == result:
                return types[0]
            example = np.empty(0, result)
        raise ArgumentError(
            f"{self.name} gives {example.dtype} of {array.dtype}, which it does not combine further",
            hint="declare a signature with one type for arguments and result",
        )


def _axes(name: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    wanted = (axis,) if isinstance(axis, int) else tuple(axis)
    if not all(-ndim <= one < ndim for one in wanted) or len({one % max(ndim, 1) for one in wanted}) < len(
        wanted
    ):
        raise ArgumentError(f"{name}: an array of {ndim} dimensions has no axis {axis}")
    return tuple(one % ndim for one in wanted)


def _around(array: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """The array with three dimensions: what is before the axis, the axis, what is behind it."""
    shape = array.shape
    return array.reshape(int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :])))


def _given(made: np.ndarray[Any, Any], out: Any) -> Any:
    """The result, in `out` if there is one; a number where it has no dimensions."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return made[()] if made.ndim == 0 else made
    out[...] = made
    return out

"""How an elementwise function goes over arrays: the loops that apply it, and which of them serves which views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from weft.diag.errors import ArgumentError
from weft.jit_options import JitOptions
from weft.loops import elementwise_loops as loops
from weft.loops.jit_function import JitFunction

SHORT_ROW = 64
"""Rows of fewer elements are not worth a loop of their own."""


class ElementwiseWalks:
    """The loops that apply a function of numbers, each compiled when it is first wanted.

    Parameters
    ----------
    function
        The function of numbers.
    inputs
        How many it takes.
    options
        How loops are compiled.
    """

    def __init__(self, function: FunctionType, inputs: int, options: JitOptions) -> None:
        self._function = function
        self._name = function.__name__
        self._inputs = inputs
        self._options = options
        self._compiled: dict[Callable[..., FunctionType], JitFunction] = {}

    @property
    def compiled(self) -> Iterable[JitFunction]:
        """The loops that there are so far."""
        return self._compiled.values()

    def apply(
        self,
        operands: list[Any],
        result: np.dtype[Any],
        out: np.ndarray[Any, Any] | None,
        where: Any,
        casting: Any,
        order: Any,
    ) -> Any:
        """Apply the function to arrays broadcast together; the other arguments are those of the call.

        Raises
        ------
        ArgumentError
            `out` does not take the result, or shapes do not fit.
        """
        inputs = operands if where is True else [*operands, np.asarray(where, dtype=bool)]
        if out is None or out.dtype == result:
            return self._run(inputs, result, out, order)
        if not np.can_cast(result, out.dtype, casting):
            raise ArgumentError(
                f"{self._name} gives {result}, which {casting} does not convert to {out.dtype}"
            )
        converted = out.astype(result)
        out[...] = self._run(inputs, result, converted, order)
        return out

    def _run(
        self, inputs: list[Any], result: np.dtype[Any], out: np.ndarray[Any, Any] | None, order: Any
    ) -> Any:
        """Compute into `out`, or into a new array; inputs that it overlaps are copied."""
        masked = len(inputs) > self._inputs
        flags = [["readonly"] for _ in inputs]
        flags.append(["writeonly", "allocate"] if out is None else ["readwrite" if masked else "writeonly"])
        flags[-1].append("no_broadcast")
        try:
            walk = np.nditer(
                [*inputs, out],
                flags=["external_loop", "zerosize_ok", "copy_if_overlap"],
                # NumPy's stubs know flags as literals only.
                op_flags=flags,  # type: ignore[arg-type]
                op_dtypes=[*(a.dtype for a in inputs), result],
                order=order,
            )
        except ValueError as error:
            raise ArgumentError(f"{self._name}: {error}") from None
        with walk:
            self._walk(walk.itviews, masked)
            made = walk.operands[-1]
        if out is not None:
            return out
        return made[()] if made.ndim == 0 else made

    def _walk(self, views: Sequence[np.ndarray[Any, Any]], masked: bool) -> None:
        """Run the loop for views of one shape, in which NumPy has joined the dimensions that it can."""
        out = views[-1]
        if out.ndim > 2:
            for k in range(out.shape[0]):
                self._walk([v[k] for v in views], masked)
            return
        if out.size == 0:
            return
        if out.ndim == 0:
            self._walk([v.reshape(1) for v in views], masked)
            return
        # What is the same everywhere is loaded once, as a number.
        inputs = tuple(v.flat[0] if not any(v.strides) or v.size == 1 else v for v in views[: self._inputs])
        if out.ndim == 1:
            loop = self.loop(loops.along_line_where if masked else loops.along_line)
        elif out.shape[-1] >= SHORT_ROW:
            loop = self.loop(loops.by_rows_where if masked else loops.by_rows)
        else:
            loop = self.loop(loops.by_points_where if masked else loops.by_points)
        if masked:
            loop(inputs, views[self._inputs], out)
        else:
            loop(inputs, out)

    def loop(self, make: Callable[[Any], FunctionType]) -> JitFunction:
        """The loop of a kind."""
        known = self._compiled.get(make)
        if known is None:
            known = self._compiled[make] = JitFunction(make(self._function), self._options)
        return known

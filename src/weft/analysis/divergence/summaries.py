"""Summaries of functions: the shape of the result for given shapes of the arguments.

A summary is the result of analysing the callee with these initial shapes, so the analysis is polymorphic in shapes.
Recursion: a summary that is asked for while it is being computed is taken to be what is known of it so far, ⊥ at
first, and it is computed again until that does not change. What was computed from such an answer is provisional
itself, until the outermost function of the recursion is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.divergence.threads import Scope
from weft.analysis.shapes import BOTTOM, Shape
from weft.ir import Function, Value

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine

Key = tuple[Function, Scope, str, tuple[int | None, ...], tuple[Shape, ...], bool]

MAX_SIGNATURES = 8
"""Signatures of one function that are told apart; from then on all its arguments count as varying."""


class Summaries:
    """Shapes of results by function and shapes of arguments; may be shared by analyses of one module."""

    __slots__ = ("_depth", "_final", "_provisional", "_signatures", "_touched")

    def __init__(self) -> None:
        self._final: dict[Key, Shape] = {}
        self._provisional: dict[Key, Shape] = {}
        self._depth: dict[Key, int] = {}
        """The functions being analysed, by how deeply they are nested."""
        self._touched: list[int] = []
        """For each of these the least depth of one whose provisional result it has used."""
        self._signatures: dict[Function, int] = {}

    def result(self, caller: Engine, callee: Function, arguments: tuple[Shape, ...], partial: bool) -> Shape:
        """The shape of what `callee` returns; `partial`: it may be called for a part of the threads."""
        threads = caller.threads
        place = (threads.scope, threads.domain.name, threads.domain.extents)
        key: Key = (callee, *place, arguments, partial)
        if key not in self._final and key not in self._depth:
            seen = self._signatures.get(callee, 0)
            if seen >= MAX_SIGNATURES:
                varying = tuple(caller.varying(a) for a in callee.args)
                key = (callee, *place, varying, True)
            self._signatures[callee] = seen + 1
        found = self._final.get(key)
        if found is not None:
            return found
        depth = self._depth.get(key)
        if depth is not None:
            self._touched[-1] = min(self._touched[-1], depth)
            return self._provisional[key]
        return self._compute(caller, callee, key)

    def _compute(self, caller: Engine, callee: Function, key: Key) -> Shape:
        """Analyse `callee` until its own result, if it was asked for meanwhile, is stable."""
        from weft.analysis.divergence.api import run_engine

        depth = len(self._touched)
        self._depth[key] = depth
        shape = self._provisional.setdefault(key, BOTTOM)
        join = caller.threads.domain.join
        while True:
            self._touched.append(depth + 1)
            initial: dict[Value, Shape] = dict(zip(callee.args, key[4], strict=True))
            engine = run_engine(
                callee, caller.threads, initial=initial, summaries=self, partial_entry=key[5],
                with_ranges=caller.ranges is not None,
            )  # fmt: skip
            touched = self._touched.pop()
            new = join(shape, engine.result)
            stable = new == shape or touched > depth
            shape = self._provisional[key] = new
            if stable:
                break
        del self._depth[key]
        if touched < depth:
            # It rests on what is assumed of a function further out.
            self._touched[-1] = min(self._touched[-1], touched)
        else:
            self._final[key] = shape
        return shape

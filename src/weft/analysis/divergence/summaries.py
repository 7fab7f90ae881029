"""Summaries of functions: the shape of the result for given shapes of the arguments.

A summary is the result of analysing the callee with these initial shapes, so the analysis is polymorphic in shapes.
Recursion: a summary that is asked for while it is being computed is taken to be what is known of it so far, ⊥ at
first, and it is computed again until that does not change. What was computed from such an answer is provisional
itself, until the outermost function of the recursion is done.

Between two analyses the functions may be transformed. So each analysis looks once at the functions whose summaries it
meets, and forgets everything if one of them is not as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.divergence.threads import Scope
from weft.analysis.shapes import BOTTOM, Shape
from weft.ir import Function, Value

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine

Place = tuple[Scope, str, tuple[int | None, ...], int | None, bool]
Key = tuple[Function, Place, tuple[Shape, ...], bool]

MAX_SIGNATURES = 8
"""Signatures of one function that are told apart; from then on all its arguments count as varying."""


class Summaries:
    """Shapes of results by function and shapes of arguments; may be shared by analyses of one module."""

    __slots__ = (
        "_current",
        "_depth",
        "_final",
        "_provisional",
        "_rests_on",
        "_signatures",
        "_states",
        "_touched",
    )

    def __init__(self) -> None:
        self._states: dict[Function, tuple[object, ...]] = {}
        """What the functions were like when their summaries were made."""
        self._rests_on: dict[Function, set[Function]] = {}
        """The functions whose summaries that of another was made from, directly."""
        self._current: set[Function] = set()
        """Those that this analysis has looked at."""
        self._final: dict[Key, Shape] = {}
        self._provisional: dict[Key, Shape] = {}
        self._depth: dict[Key, int] = {}
        """The functions being analysed, by how deeply they are nested."""
        self._touched: list[int] = []
        """For each of these the least depth of one whose provisional result it has used."""
        self._signatures: dict[Function, int] = {}

    def begin(self) -> None:
        """An analysis begins: functions may have changed since the one before."""
        self._current.clear()
        # What others have asked takes nothing from what it may ask.
        self._signatures.clear()

    def _is_current(self, function: Function) -> bool:
        """Whether the function, and those that its summaries rest on, are as they were."""
        work = [function]
        while work:
            met = work.pop()
            if met in self._current:
                continue
            state = _state(met)
            if self._states.setdefault(met, state) != state:
                return False
            self._current.add(met)
            work.extend(self._rests_on.get(met, ()))
        return True

    def _forget(self) -> None:
        """Drop everything but what is assumed of functions that are being analysed."""
        for kept in (self._states, self._rests_on, self._current, self._final, self._signatures):
            kept.clear()
        self._provisional = {key: self._provisional[key] for key in self._depth}

    def result(self, caller: Engine, callee: Function, arguments: tuple[Shape, ...], partial: bool) -> Shape:
        """The shape of what `callee` returns; `partial`: it may be called for a part of the threads."""
        if not self._is_current(callee):
            self._forget()
        self._rests_on.setdefault(caller.function, set()).add(callee)
        threads = caller.threads
        domain, with_ranges = threads.domain, caller.ranges is not None
        place = (threads.scope, domain.name, domain.extents, threads.dimension, with_ranges)
        key: Key = (callee, place, arguments, partial)
        if key not in self._final and key not in self._depth:
            seen = self._signatures.get(callee, 0)
            if seen >= MAX_SIGNATURES:
                varying = tuple(caller.varying(a) for a in callee.args)
                key = (callee, place, varying, True)
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
        """The shape of what `callee` returns, which is kept if it rests on nothing that is assumed further out."""
        depth = len(self._touched)
        self._depth[key] = depth
        facts = FunctionFacts(callee)
        try:
            shape, touched = self._settle(caller, facts, key, depth)
        finally:
            # An analysis that ends in an error leaves nothing that the next one takes for its own.
            del self._depth[key]
            del self._touched[depth:]
        if touched < depth:
            # It rests on what is assumed of a function further out.
            self._touched[-1] = min(self._touched[-1], touched)
        else:
            self._final[key] = shape
        return shape

    def _settle(self, caller: Engine, facts: FunctionFacts, key: Key, depth: int) -> tuple[Shape, int]:
        """Analyse a function until its own result, if it was asked for meanwhile, is stable.

        Returns the result, and the least depth of a provisional one that it rests on.
        """
        from weft.analysis.divergence.api import run_engine

        callee, join = facts.function, caller.threads.domain.join
        shape = self._provisional.setdefault(key, BOTTOM)
        while True:
            self._touched.append(depth + 1)
            initial: dict[Value, Shape] = dict(zip(callee.args, key[2], strict=True))
            engine = run_engine(
                facts, caller.threads, initial=initial, summaries=self, partial_entry=key[3],
                with_ranges=caller.ranges is not None,
            )  # fmt: skip
            touched = self._touched.pop()
            new = join(shape, engine.result)
            stable = new == shape or touched > depth
            shape = self._provisional[key] = new
            if stable:
                return shape, touched


def summaries_of(function: Function) -> Summaries:
    """The summaries that analyses of the function's module share."""
    module = function.module
    if module is None:
        return Summaries()
    if not isinstance(module.summaries, Summaries):
        module.summaries = Summaries()
    return module.summaries


def _state(function: Function) -> tuple[object, ...]:
    """What the function's code consists of; it changes with the code."""
    parts: list[object] = [function.attributes, *(argument.attributes for argument in function.args)]
    for block in function.blocks:
        parts += (block, block.predicate)
        for i in block.instructions:
            parts += (i, i.op, i.flags, i.total, *i.used_values(), *i.blocks)
            if i.attrs:
                parts.append(dict(i.attrs))
            if i.metadata:
                parts.append(i.metadata.get("range"))
    return tuple(parts)

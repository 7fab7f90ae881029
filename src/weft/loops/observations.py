"""What an observer saw of the loops of one function, in terms of the analysis."""

from __future__ import annotations

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.scope import LoopContext, line_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.loops.observer import LoopObserver
from weft.report.loops.observed import ObservedDependence, ObservedLoop


class Observations:
    """Answers for the loops of a module that was run.

    Parameters
    ----------
    observer
        What watched the run.
    """

    __slots__ = ("_observer",)

    def __init__(self, observer: LoopObserver) -> None:
        self._observer = observer

    def of(self, accesses: Accesses, loop: LoopContext, verdict: LoopVerdict) -> ObservedLoop:
        """What was seen of a loop; a loop that never ran has no runs."""
        observer = self._observer
        record = observer.records.get((loop.scope.function.name, loop.loop.header))
        if record is None:
            return ObservedLoop(0, 0, 0, 0.0, 0.0, (), observer.is_complete)
        own = {
            a.instruction
            for a in accesses.of(loop)
            if isinstance(a, Access) and a.base is not None and a.base in verdict.private
        }
        lines = {a.instruction: a.line for a in accesses.of(loop)}
        found = [
            ObservedDependence(
                kind,
                lines.get(source) or line_of(source),
                lines.get(sink) or line_of(sink),
                least,
                most,
                times,
            )
            for (kind, source, sink), (least, most, times) in record.pairs.items()
            if source not in own and sink not in own
        ]
        return ObservedLoop(
            record.runs,
            record.least,
            record.most,
            record.iterations / max(1, record.runs),
            record.instructions / max(1, observer.instructions),
            tuple(sorted(found, key=lambda d: (d.source, d.sink, d.kind))),
            observer.is_complete,
            frozenset(record.counts or ()),
        )

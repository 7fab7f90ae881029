"""Remarks: what a pass decided, where, and what the user can do about it.

Every decision that a user may ask about leaves one. Reports, CLI and tests read the same remarks: a kind is a
stable name and the message is for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from weft.diag.source import SourceSpan, render


class RemarkKind(StrEnum):
    """What a remark is about.

    Warnings (`is_warning`) concern the program's meaning, all others its speed.
    """

    TYPE_JOIN = "type-join"
    """A variable's join of types loses precision (int64 with float64)."""
    BARRIER = "barrier"
    """A barrier is under control flow that may diverge within the work-group."""
    ASSUMPTION = "assumption"
    """The result is right only under a promise of the user's that weft could not prove (a parallel loop)."""

    VECTORIZED = "vectorized"
    """A kernel or loop became SIMD code, of which width and why that one."""
    LANE_BY_LANE = "lane-by-lane"
    """A kernel, region, call or instruction runs once for each lane."""
    DIVERGENT_BRANCH = "divergent-branch"
    """Lanes disagree at a branch."""
    DIVERGENT_LOOP = "divergent-loop"
    """Lanes leave a loop in different iterations."""
    MEMORY = "memory"
    """The form of a memory access that is not one vector load or store: gather, scatter, strided."""
    MATH = "math"
    """Where a math function comes from, and its accuracy."""
    TRANSFORM = "transform"
    """A pass changed the program in a way that shows (a branch kept, a loop split)."""
    MISSED = "missed"
    """A pass left something undone; the message says what stood in the way."""

    @property
    def is_warning(self) -> bool:
        return self in (RemarkKind.TYPE_JOIN, RemarkKind.BARRIER, RemarkKind.ASSUMPTION)


class Remark(Struct, frozen=True):
    """One decision.

    Parameters
    ----------
    kind
        What it is about.
    message
        One sentence without a full stop.
    span
        Where in the user's source, when that is known.
    hint
        What the user could write to get something better, where there is such a thing.
    pass_name
        The pass that decided.
    """

    kind: RemarkKind
    message: str
    span: SourceSpan | None = None
    hint: str | None = None
    pass_name: str = ""

    def __str__(self) -> str:
        label = "warning" if self.kind.is_warning else "remark"
        return render(f"{label}[{self.kind}]", self.message, self.span, self.hint)


class RemarkLog:
    """The remarks of one compilation, in the order in which they were made, each once."""

    __slots__ = ("_remarks",)

    def __init__(self, remarks: Iterable[Remark] = ()) -> None:
        self._remarks: dict[Remark, None] = dict.fromkeys(remarks)

    def add(
        self,
        kind: RemarkKind,
        message: str,
        span: SourceSpan | None = None,
        hint: str | None = None,
        pass_name: str = "",
    ) -> None:
        """Add a remark; one made before is not repeated (a pass may visit an unrolled line many times)."""
        self._remarks[Remark(kind, message, span, hint, pass_name)] = None

    def extend(self, remarks: Iterable[Remark]) -> None:
        """Add the remarks of another log."""
        self._remarks.update(dict.fromkeys(remarks))

    def of_kind(self, *kinds: RemarkKind) -> list[Remark]:
        """Return the remarks of the kinds, in order."""
        return [remark for remark in self._remarks if remark.kind in kinds]

    def by_position(self) -> list[Remark]:
        """Return all remarks by file and line; those without a position come first."""
        return sorted(self._remarks, key=_position)

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._remarks)

    def __len__(self) -> int:
        return len(self._remarks)

    def __str__(self) -> str:
        return "\n".join(str(remark) for remark in self.by_position())


def _position(remark: Remark) -> tuple[str, int, int]:
    span = remark.span
    return (span.file, span.line, span.column) if span else ("", 0, 0)

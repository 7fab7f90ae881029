"""What the sanitizer finds: undefined behaviour with source position and threads."""

from __future__ import annotations

from msgspec import Struct, field

from weft.diag.source import SourceSpan, render
from weft.interp.faults import FaultKind
from weft.interp.threads.geometry import Dim3

SHOWN_THREADS = 4


class ThreadId(Struct, frozen=True):
    """A thread by the index of its block and its index in the block."""

    block: Dim3
    thread: Dim3

    def __str__(self) -> str:
        return f"block {_short(self.block)} thread {_short(self.thread)}"


class Finding(Struct):
    """One kind of undefined behaviour at one place.

    Parameters
    ----------
    kind, message
        What it is; the message is that of the first occurrence.
    span
        The source position.
    threads
        The first few threads at fault.
    count
        How often it happened: threads times executions.
    other
        For a race, the position of the other access.
    """

    kind: FaultKind
    message: str
    span: SourceSpan | None
    threads: list[ThreadId] = field(default_factory=list)
    count: int = 0
    other: SourceSpan | None = None

    def __str__(self) -> str:
        who = ", ".join(map(str, self.threads))
        more = f" and {self.count - len(self.threads)} more" if self.count > len(self.threads) else ""
        return render(f"{self.kind}", f"{self.message} ({who}{more})", self.span, None)


def _short(index: Dim3) -> str:
    """An index without the zeros of dimensions that are not used: ``7``, ``(3, 2)``."""
    x, y, z = index
    return f"({x}, {y}, {z})" if z else f"({x}, {y})" if y else str(x)

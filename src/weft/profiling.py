"""``weft.profile()``: what ran, how long it took, and how much it had to do.

>>> with weft.profile() as seen:
...     saxpy[grid, block](2.0, x, y)
>>> print(seen)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import asdict

from weft.runtime.watching import Event, unwatch, watch


class Line(Struct, frozen=True):
    """What there was of one kernel or function.

    Parameters
    ----------
    kind, name
        As `Event` has them.
    count
        How often.
    seconds, longest
        In all, and the longest.
    bytes
        Of the arrays of all times together.
    lanes, filled
        Lanes of a lane group, and the part of them that got a thread, as the mean over time.
    active
        The part of the lanes of vector instructions that did the work of a thread, as the mean over time; None where
        that was not counted, or no lanes were.
    """

    kind: str
    name: str
    count: int
    seconds: float
    longest: float
    bytes: int
    lanes: int
    filled: float
    active: float | None

    @property
    def bandwidth(self) -> float:
        """Bytes of arrays a second: what the memory moves at least, if each byte is touched once."""
        return self.bytes / self.seconds if self.seconds else 0.0


class profile:  # noqa: N801 - it is used as a function
    """A context manager that looks on while kernels and functions run, in all threads of the process.

    Launches and calls go through Python as long as it does, which takes some microseconds each.

    Parameters
    ----------
    lanes
        Whether to count how many lanes are in use where threads take different ways. Kernels and functions then run in
        code that counts, made at their first launch; it takes longer.

    Attributes
    ----------
    events
        What happened, in the order in which it ended.
    """

    def __init__(self, *, lanes: bool = False) -> None:
        self.events: list[Event] = []
        self._lanes = lanes

    def __enter__(self) -> Self:
        watch(self._note, self._lanes)
        return self

    def __exit__(self, *exception: object) -> None:
        unwatch(self._note)

    def _note(self, event: Event) -> None:
        self.events.append(event)

    @property
    def lines(self) -> list[Line]:
        """What there was of each kernel and function, what took longest first."""
        found: dict[tuple[str, str], list[Event]] = {}
        for event in self.events:
            found.setdefault((event.kind, event.name), []).append(event)
        lines = [_line(kind, name, events) for (kind, name), events in found.items()]
        return sorted(lines, key=lambda line: -line.seconds)

    def __str__(self) -> str:
        rows = [
            ("", "times", "total ms", "mean us", "longest us", "MiB", "GB/s", "lanes", "filled", "in use")
        ]
        for line in self.lines:
            runs = line.kind in ("launch", "call")
            rows.append(
                (
                    f"{line.kind} {line.name}",
                    str(line.count),
                    f"{1e3 * line.seconds:.3f}",
                    f"{1e6 * line.seconds / line.count:.1f}",
                    f"{1e6 * line.longest:.1f}",
                    f"{line.bytes / 2**20:.2f}" if runs else "",
                    f"{line.bandwidth / 1e9:.1f}" if runs else "",
                    str(line.lanes) if line.kind == "launch" else "",
                    f"{line.filled:.0%}" if line.kind == "launch" else "",
                    "" if line.active is None else f"{line.active:.0%}",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "".join(
            f"{row[0]:{widths[0]}}"
            + "".join(f"  {c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))
            + "\n"
            for row in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Lines and events as dictionaries and lists; times are seconds."""
        return {"lines": [asdict(line) for line in self.lines], "events": [asdict(e) for e in self.events]}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=1)

    def to_chrome_trace(self) -> str:
        """The events as JSON for ``chrome://tracing`` and https://ui.perfetto.dev."""
        return json.dumps({"traceEvents": list(_trace(self.events)), "displayTimeUnit": "ms"})

    def write_trace(self, file: str | os.PathLike[str]) -> None:
        """Write the trace to a file."""
        Path(file).write_text(self.to_chrome_trace())


def _line(kind: str, name: str, events: list[Event]) -> Line:
    seconds = sum(e.seconds for e in events)
    filled = sum(e.filled * e.seconds for e in events) / seconds if seconds else 1.0
    counted = [e for e in events if e.active is not None]
    time = sum(e.seconds for e in counted)
    active = sum(e.active * e.seconds for e in counted if e.active is not None) / time if time else None
    return Line(
        kind, name, len(events), seconds, max(e.seconds for e in events), sum(e.bytes for e in events),
        max(e.lanes for e in events), filled, active,
    )  # fmt: skip


def _trace(events: Iterable[Event]) -> Iterable[dict[str, Any]]:
    for e in events:
        more = {
            "grid": e.grid, "block": e.block, "threads": e.threads, "bytes": e.bytes, "lanes": e.lanes,
            "filled": e.filled, "active": e.active,
        }  # fmt: skip
        yield {
            "name": e.name,
            "cat": e.kind,
            "ph": "X",
            "ts": 1e6 * e.start,
            "dur": 1e6 * e.seconds,
            "pid": os.getpid(),
            "tid": e.thread,
            "args": more if e.kind == "launch" else {"bytes": e.bytes, "active": e.active},
        }

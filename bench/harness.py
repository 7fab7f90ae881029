"""Comparing peers fairly: right before fast, interleaved, medians, and nothing left out of the table.

Machines change their speed while a benchmark runs, so the peers take turns, round by round, and ratios are
between medians of the same rounds. A peer that is not installed is listed as missing, and one whose result is
wrong as wrong, without a time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

ROUNDS = 7
WARM_UP = 1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A peer that is ready to be measured.

    Parameters
    ----------
    sample
        Takes one measurement and returns it in seconds.
    check
        Runs the peer once and says what is wrong with its result, None when nothing is.
    compile_seconds
        How long compiling took, which no sample has in it.
    lanes
        The width that weft has chosen, and whether threads by themselves are tried, too.
    """

    sample: Callable[[], float]
    check: Callable[[], str | None] = lambda: None
    compile_seconds: float | None = None
    lanes: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """One side of a comparison; `prepare` raises ImportError when the peer is not installed."""

    name: str
    prepare: Callable[[], Prepared]


class Status(StrEnum):
    """What became of a peer."""

    MEASURED = "measured"
    MISSING = "missing"
    WRONG = "wrong"
    FAILED = "failed"


@dataclass(slots=True)
class Measurement:
    """What a peer's rounds gave, in seconds, or why there are none."""

    peer: str
    status: Status
    detail: str = ""
    seconds: list[float] = field(default_factory=list)
    compile_seconds: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)


@dataclass(slots=True)
class Comparison:
    """All peers at one task; ratios are to the first."""

    title: str
    measurements: list[Measurement]

    def median(self, peer: str) -> float | None:
        """Return a peer's median in seconds, None when it was not measured."""
        for measurement in self.measurements:
            if measurement.peer == peer and measurement.status is Status.MEASURED:
                return measurement.median
        return None

    def ratio(self, peer: str) -> float | None:
        """Return how many times as long as the first peer another one takes."""
        own, first = self.median(peer), self.median(self.measurements[0].peer)
        return own / first if own is not None and first else None


def timed(action: Callable[[], object], repeat: int = 1) -> Callable[[], float]:
    """Return a sampler that runs the action so many times and gives the mean time of one run."""

    def sample() -> float:
        begin = time.perf_counter()
        for _ in range(repeat):
            action()
        return (time.perf_counter() - begin) / repeat

    return sample


_PAGE = 4096
_APART = 576
"""Arrays begin at different lines of their pages, so that none seems to overlap a store to another."""


def placed(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return arguments whose arrays are copies, each at the same place of its pages in every call."""
    return tuple(
        _copy_at(a, _APART * i % _PAGE) if isinstance(a, np.ndarray) else a for i, a in enumerate(arguments)
    )


def _copy_at(array: np.ndarray, offset: int) -> np.ndarray:
    """Return a copy that begins so many bytes into a page."""
    memory = np.zeros(array.nbytes + 2 * _PAGE, np.uint8)
    begin = -memory.ctypes.data % _PAGE + offset
    copied = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copied[...] = array
    return copied


def compare(title: str, peers: Sequence[Peer], rounds: int = ROUNDS, warm_up: int = WARM_UP) -> Comparison:
    """Measure the peers in turn, after their results have been checked and they have run warm."""
    measurements, samplers = [], []
    for peer in peers:
        measurement, sampler = _prepare(peer, warm_up)
        measurements.append(measurement)
        samplers.append(sampler)
    for _ in range(rounds):
        for measurement, sampler in zip(measurements, samplers, strict=True):
            if sampler:
                measurement.seconds.append(sampler())
    return Comparison(title, measurements)


def _prepare(peer: Peer, warm_up: int) -> tuple[Measurement, Callable[[], float] | None]:
    try:
        prepared = peer.prepare()
        complaint = prepared.check()
        if complaint:
            return Measurement(peer.name, Status.WRONG, complaint), None
        for _ in range(warm_up):
            prepared.sample()
    except ImportError as error:
        return Measurement(peer.name, Status.MISSING, str(error)), None
    except Exception as error:
        # A peer that breaks must not take the others' figures with it; the table shows what it said.
        return Measurement(peer.name, Status.FAILED, f"{type(error).__name__}: {error}"), None
    measurement = Measurement(
        peer.name, Status.MEASURED, prepared.lanes, compile_seconds=prepared.compile_seconds
    )
    return measurement, prepared.sample

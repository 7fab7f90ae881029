"""``tune="measure"``: of several versions of a function or kernel the one that is fastest on the user's own arrays.

Each runs on copies of the arguments of the first call, in turns; the least time of each counts. Which one won is kept
in the compile cache, for the function, its types, the extents of its arrays, the machine and the number of threads, so
that the next process does not measure. On a terminal a bar shows how far it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from weft.diag.errors import SignatureError
from weft.machine.targets import Isa
from weft.options import MAX_WIDTH
from weft.runtime.cache import CacheEntry, default_cache
from weft.runtime.settings import get_num_threads
from weft.tiled_arrays import TiledArray

MEASURE = "measure"

SECONDS = 0.2
"""What the measurement of one version takes, if one run is not longer."""

_BAR = 20


class Winners(Struct, frozen=True):
    """Which versions of a function were fastest, in the compile cache.

    Parameters
    ----------
    key
        Of the function, its types and options; None where nothing is kept.
    """

    key: str | None

    def at(self, place: str) -> str | None:
        """The name of the version that was fastest there; None where that was not measured."""
        return self._known().get(place)

    def put(self, place: str, name: str) -> None:
        """Keep it."""
        cache = default_cache()
        if cache is not None and self.key is not None:
            cache.put(self.key, CacheEntry(b"", {**self._known(), place: name}))

    def _known(self) -> dict[str, str]:
        cache = default_cache()
        entry = cache.get(self.key) if cache is not None and self.key is not None else None
        return dict(entry.metadata) if entry is not None else {}


def require_tune(tune: str | None, applies: bool, hint: str) -> bool:
    """Whether to measure; `applies` says if there is anything to choose, and `hint` what the option may be.

    Raises
    ------
    SignatureError
        It is none of them.
    """
    if tune is not None and (tune != MEASURE or not applies):
        raise SignatureError(f"tune={tune!r}", hint=hint)
    return tune is not None


def widths_to_try(isa: Isa) -> list[int | None]:
    """What weft chooses by itself, one lane, and half a register of 32-bit values to eight of them."""
    register = isa.lanes(32)
    wide = (max(2, register // 2), *(registers * register for registers in (1, 2, 4, 8)))
    return [None, 1, *dict.fromkeys(w for w in wide if w <= MAX_WIDTH)]


def place_of(args: Sequence[Any], *more: object) -> str:
    """What a measurement is for, beside what code depends on: threads, extents of arrays, and `more`."""
    return " ".join(map(str, (get_num_threads(), list(_extents(args)), *more)))


def fastest(name: str, versions: Sequence[Callable[[Sequence[Any]], object]], args: Sequence[Any]) -> int:
    """Run each version of `name` on copies, and return the number of the one that took least time in some run.

    All run on the same memory, which has the arguments' contents again each time: where arrays lie to each other, and
    what of them is in which cache, is worth more than what versions differ by. Of one thread its own time counts, which
    other programs do not lengthen.
    """
    least = [float("inf")] * len(versions)
    spent, rounds, enough = 0.0, 0, SECONDS * len(versions)
    clock = time.thread_time if get_num_threads() == 1 else time.perf_counter
    copies = [_copied(a) for a in args]
    while rounds < 3 or spent < enough:
        for k, run in enumerate(versions):
            _show(
                name, min(1.0, max(spent / enough, (rounds + k / len(versions)) / 3) if rounds < 3 else 1.0)
            )
            copies = [_restored(a, copy) for a, copy in zip(args, copies, strict=True)]
            begin = clock()
            run(copies)
            taken = clock() - begin
            # The first run compiles, finds the pages and fills the caches.
            if rounds:
                least[k] = min(least[k], taken)
                spent += taken
        rounds += 1
    _show(name, None)
    return least.index(min(least))


def _show(name: str, part: float | None) -> None:
    """Show a bar on a terminal, None to take it away."""
    if not sys.stderr.isatty():
        return
    line = "" if part is None else f"{name}: measuring [{'#' * int(part * _BAR):{_BAR}}]"
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _copied(value: Any) -> Any:
    if isinstance(value, TiledArray):
        return value.copy() if value.memory.flags.writeable else value
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable else value
    if isinstance(value, np.void):
        return value.copy()
    if isinstance(value, tuple):
        items = [_copied(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _restored(value: Any, copy: Any) -> Any:
    """A copy with the contents of the value again; another one, where that cannot be written."""
    if isinstance(value, TiledArray) and copy is not value:
        np.copyto(copy.memory, value.memory)
        return copy
    if isinstance(value, np.ndarray) and copy is not value and not np.may_share_memory(value, copy):
        np.copyto(copy, value)
        return copy
    return _copied(value)


def _extents(args: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    for value in args:
        if isinstance(value, (np.ndarray, TiledArray)):
            yield value.shape
        elif isinstance(value, tuple):
            yield from _extents(value)

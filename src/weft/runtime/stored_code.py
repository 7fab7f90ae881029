"""Object code of a function for one tuple of types: from the cache, or made when it is first wanted.

The one way in which every door builds, keeps, loads and links code.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from weft.diag.errors import CompileError, UnresolvedError
from weft.runtime.cache import CacheEntry, ObjectCache
from weft.runtime.interrupts import interrupts
from weft.runtime.watching import WATCHERS, tell
from weft.target.jit import LoadedCode, load_object

# Had once: to look it up takes a lock that forks take, too, and who compiles would wait for it.
_log = logging.getLogger("weft.cache")

Facts = dict[str, Any]
"""What has to be known to use code again, as JSON values; ``entry`` is the symbol that is called."""


class StoredCode:
    """Code that is kept.

    Parameters
    ----------
    cache, key
        Where it is kept and under which key; nowhere without a key.
    describe
        Says what is known of the code; compiles it, if need be, up to LLVM's part.
    emit
        Makes the object code.
    symbols
        Addresses of what the code calls, from what is known of it; None where something is no longer installed, and the
        code is to be made again.
    text
        The module that the code is made of, to find where it calls what nobody defines.
    start
        Says what `first_facts` are, and compiles no more than that takes; everything by default.

    Attributes
    ----------
    from_cache
        Whether the code is from the cache.
    """

    __slots__ = (
        "_cache",
        "_describe",
        "_emit",
        "_entry",
        "_key",
        "_start",
        "_symbols",
        "_text",
        "from_cache",
    )

    def __init__(
        self,
        cache: ObjectCache | None,
        key: str | None,
        describe: Callable[[], Facts],
        emit: Callable[[], bytes],
        symbols: Callable[[Mapping[str, Any]], dict[str, int] | None],
        text: Callable[[], str],
        start: Callable[[], Facts] | None = None,
    ) -> None:
        self._cache = cache if key is not None else None
        self._key = key or ""
        self._describe = describe
        self._emit = emit
        self._symbols = symbols
        self._text = text
        self._start = start or describe
        self._entry = self._cache.get(self._key) if self._cache is not None else None
        self.from_cache = self._entry is not None and bool(self._entry.code)

    @property
    def first_facts(self) -> Mapping[str, Any]:
        """What is known of the code soon, and says whether it is wanted; or more."""
        if self._entry is None:
            with self._only_maker():
                if self._entry is None:
                    self._entry = CacheEntry(b"", self._start())
                    if any(self._entry.metadata.values()):
                        self._keep(self._entry)
        assert self._entry is not None
        return self._entry.metadata

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the code; without making it, as it may not be wanted."""
        if not _is_whole(self._entry):
            with self._only_maker():
                if not _is_whole(self._entry):
                    self._keep(CacheEntry(b"", self._describe()))
        assert self._entry is not None
        return self._entry.metadata

    def load(self) -> LoadedCode:
        """The code, linked; made where it is not kept, or cannot be linked here any more.

        Raises
        ------
        UnresolvedError
            It calls what nobody defines; the error says where.
        """
        start = time.perf_counter()
        code = self._loaded(start)
        if code is not None:
            return code
        with self._only_maker():
            code = self._loaded(start)
            if code is not None:
                return code
            self.from_cache = False
            entry = CacheEntry(self._emit(), self._describe())
            _told("compile", entry, start)
            self._keep(entry)
        try:
            return self._linked(entry)
        except UnresolvedError as error:
            from weft.target.places import place_of

            raise error.at(place_of(self._text(), error.symbols)) from None

    def _loaded(self, start: float) -> LoadedCode | None:
        """The code that is kept; None where there is none that can be linked here."""
        if self._entry is None or not self._entry.code:
            return None
        try:
            code = self._linked(self._entry)
        except (CompileError, KeyError):
            # What it was linked with has changed.
            return None
        _told("load", self._entry, start)
        return code

    @contextlib.contextmanager
    def _only_maker(self) -> Iterator[None]:
        """Keep other processes from making the code, once none of them does; one of them may have, by then."""
        if self._cache is None:
            yield
            return
        with self._cache.making(self._key):
            known = self._cache.get(self._key)
            if known is not None and (known.code or not _is_whole(self._entry)):
                self._entry, self.from_cache = known, bool(known.code)
            yield

    def object_code(self) -> bytes:
        """The code itself, made where it is not kept; not linked, so it may call what nobody defines."""
        if self._entry is None or not self._entry.code:
            with self._only_maker():
                if self._entry is None or not self._entry.code:
                    self.from_cache = False
                    self._keep(CacheEntry(self._emit(), self._describe()))
        assert self._entry is not None
        return self._entry.code

    def _keep(self, entry: CacheEntry) -> None:
        self._entry = entry
        if self._cache is not None:
            self._cache.put(self._key, entry)

    def _linked(self, entry: CacheEntry) -> LoadedCode:
        symbols = self._symbols(entry.metadata)
        if symbols is None:
            raise CompileError("a vector math library that the code calls is not installed")
        code = load_object(entry.code, [entry.metadata["entry"]], symbols)
        interrupts().cover(code)
        return code


def _is_whole(entry: CacheEntry | None) -> bool:
    """Whether all is known of the code that has to be known to use it."""
    return entry is not None and "entry" in entry.metadata


def _told(kind: str, entry: CacheEntry, start: float) -> None:
    """Tell who looks on, and the log, of code that was made or found."""
    name = entry.metadata["entry"].partition(".")[0]
    if WATCHERS:
        tell(kind, name, start)
    if _log.isEnabledFor(logging.DEBUG):
        found = "is there, and loaded" if kind == "load" else "is not there, and made"
        _log.debug("%s %s in %.1f ms", name, found, 1e3 * (time.perf_counter() - start))

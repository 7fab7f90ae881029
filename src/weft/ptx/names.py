"""Names in nested scopes, where a declaration may be a whole series of names."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Names(Generic[T]):
    """What the names of the open scopes stand for.

    A series such as ``%r<1000>`` is kept as its beginning and its number, so it costs no more than one name.
    """

    __slots__ = ("_known", "_scopes")

    def __init__(self) -> None:
        self._scopes: list[tuple[dict[str, T], dict[str, tuple[int, T]]]] = [({}, {})]
        self._known: dict[str, T | None] = {}

    def open(self) -> None:
        """Begin a scope."""
        self._scopes.append(({}, {}))

    def close(self) -> None:
        """End the innermost scope."""
        self._scopes.pop()
        self._known.clear()

    @property
    def depth(self) -> int:
        """How many scopes are open."""
        return len(self._scopes)

    def declare(self, name: str, meaning: T, count: int | None = None) -> None:
        """Add a name to the innermost scope, or `name`0 to `name`(count - 1)."""
        single, series = self._scopes[-1]
        if count is None:
            single[name] = meaning
            if name in self._known:
                self._known[name] = meaning
        else:
            series[name] = (count, meaning)
            self._known.clear()

    def here(self, name: str) -> T | None:
        """What the innermost scope calls so, or None."""
        return _lookup(name, self._scopes[-1:])

    def series_here(self, name: str) -> bool:
        """Whether the innermost scope has a series of this beginning."""
        return name in self._scopes[-1][1]

    def find(self, name: str) -> T | None:
        """What a name stands for, or None where nothing is called so."""
        try:
            return self._known[name]
        except KeyError:
            meaning = self._known[name] = _lookup(name, self._scopes)
            return meaning


def _lookup(name: str, scopes: list[tuple[dict[str, T], dict[str, tuple[int, T]]]]) -> T | None:
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    for single, series in reversed(scopes):
        if name in single:
            return single[name]
        if not series:
            continue
        # %r12 may be number 12 of %r, or number 2 of %r1.
        for cut in range(len(digits)):
            known = series.get(head + digits[:cut])
            if (
                known is not None
                and int(digits[cut:]) < known[0]
                and (digits[cut] != "0" or cut == len(digits) - 1)
            ):
                return known[1]
    return None

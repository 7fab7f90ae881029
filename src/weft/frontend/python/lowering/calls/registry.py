"""The table from callable objects to the functions that lower their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import Typed

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Arguments:
    """The evaluated arguments of a call."""

    __slots__ = ("key", "keywords", "name", "values")

    def __init__(
        self, name: str, values: list[Typed], keywords: dict[str, Typed], key: tuple[object, ...] = ()
    ) -> None:
        self.name = name
        self.values = values
        self.keywords = keywords
        self.key = key
        """Identifies the call in the source, for calls that make an object once."""

    def bind(self, *names: str, optional: int = 0) -> tuple[Typed, ...]:
        """The arguments in the order of parameter `names`, the last `optional` of which may be missing."""
        given = [*self.values, *(self.keywords[n] for n in names[len(self.values) :] if n in self.keywords)]
        unknown = [n for n in self.keywords if n not in names[len(self.values) :]]
        if unknown:
            raise TypingError(f"{self.name}() takes no argument '{unknown[0]}'")
        if not len(names) - optional <= len(given) <= len(names):
            wanted = f"{len(names) - optional} to {len(names)}" if optional else str(len(names))
            raise TypingError(
                f"{self.name}() takes {wanted} arguments ({', '.join(names)}), not {len(given)}"
            )
        return tuple(given)


CallHandler = Callable[["Lowering", Arguments], Typed]
CALLS: dict[object, CallHandler] = {}
"""By the callable itself; a name of `cuda` by its `CudaName`."""
ATTRIBUTES: dict[str, Callable[[Lowering], Typed]] = {}
"""Names of `cuda` that are values, by path."""
MethodHandler = Callable[["Lowering", Typed, Arguments], Typed]
METHODS: dict[str, MethodHandler] = {}
"""The methods of arrays, by name; the array comes before the arguments."""
_H = TypeVar("_H", bound=CallHandler)
_M = TypeVar("_M", bound=MethodHandler)


def call(*objects: object) -> Callable[[_H], _H]:
    """Enter a function into the table of calls."""

    def enter(handler: _H) -> _H:
        CALLS.update(dict.fromkeys(objects, handler))
        return handler

    return enter


def method(*names: str) -> Callable[[_M], _M]:
    """Enter a function into the table of methods."""

    def enter(handler: _M) -> _M:
        METHODS.update(dict.fromkeys(names, handler))
        return handler

    return enter

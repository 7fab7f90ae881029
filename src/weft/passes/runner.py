"""The one runner of passes: order, switches, requirements, time, and whoever looks on.

Watchers are told of each pass that changed something, once it is done: they verify and keep programs
(`weft.passes.stages`), or print them (`Printer`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TextIO

from msgspec import Struct, field

from weft.diag.errors import PassError
from weft.ir.writer import write_module
from weft.passes.declared import Pass, Unit

_log = logging.getLogger("weft.passes")


class Watcher(Protocol):
    """Is told of each pass that changed something."""

    def __call__(self, done: Pass[Any], unit: Any) -> None:
        """The pass is done with the unit."""
        ...


class Runner(Struct):
    """Runs passes.

    Parameters
    ----------
    watchers
        Whoever is told of each pass.
    left_out
        Optional passes that do not run, by name.
    strict
        Whether what passes require and provide is looked at, before and behind each.

    Attributes
    ----------
    seconds
        The time that each pass took, those that it ran itself included.
    """

    watchers: tuple[Watcher, ...] = ()
    left_out: frozenset[str] = frozenset()
    strict: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, passes: Iterable[Pass[Any]], unit: Any) -> None:
        """Run the passes on the unit, in their order.

        Raises
        ------
        PassError
            A pass is not given what it requires, or does not keep its promise.
        """
        for each in passes:
            if (each.optional and each.name in self.left_out) or not each.applies(unit):
                continue
            if self.strict:
                require(each, unit)
            begin = time.perf_counter()
            changed = each.run(unit)
            seconds = time.perf_counter() - begin
            self.seconds[each.name] = self.seconds.get(each.name, 0.0) + seconds
            if _log.isEnabledFor(logging.DEBUG):
                what = "" if changed is not False else ", nothing to do"
                _log.debug("%s of %s: %.2f ms%s", each.name, unit.function.name, 1e3 * seconds, what)
            if self.strict:
                _confirm(each, unit)
            if changed is not False:
                self.tell(each, unit)

    def tell(self, done: Pass[Any], unit: Any) -> None:
        """Tell the watchers of a pass."""
        for watcher in self.watchers:
            watcher(done, unit)

    def watched_by(self, *watchers: Watcher) -> Runner:
        """The same runner, seen by others instead; it takes the same time."""
        return Runner(watchers, self.left_out, self.strict, self.seconds)


def require(wanted: Pass[Any], unit: Any) -> None:
    """Raise `PassError` where the unit is not what the pass requires."""
    for fact in wanted.requires:
        if not fact.holds(unit):
            raise PassError(f"'{wanted.name}' needs a program that is {fact.name}: {fact.words}")


def _confirm(done: Pass[Any], unit: Any) -> None:
    for fact in done.provides:
        if not fact.holds(unit):
            raise PassError(f"'{done.name}' left a program that is not {fact.name}: {fact.words}")


class Printer(Struct, frozen=True):
    """Prints the program behind some passes.

    Parameters
    ----------
    names
        The passes, ``all`` for each.
    stream
        Where to.
    """

    names: Sequence[str]
    stream: TextIO

    def __call__(self, done: Pass[Any], unit: Unit) -> None:
        if "all" in self.names or done.flag in self.names or done.name in self.names:
            print(f"; behind '{done.name}' of @{unit.function.name}", file=self.stream)
            print(write_module(unit.module), file=self.stream)

"""Objects whose calls machine code makes once it knows them (`weft.runtime.dispatch`)."""

from __future__ import annotations

from typing import Any

from weft.diag.call_site import located
from weft.runtime.dispatch import calls, is_loaded
from weft.runtime.dispatch_records import Record


class Dispatched:
    """An object that is called: by its method `_call` in Python, or by machine code where there is a record.

    A subclass has a ``__call__`` that calls `_call`, until machine code takes its place.
    """

    __slots__ = ("_records", "_table", "_tries")
    _parameters = 0
    _most_tries = 8
    """How many calls of other arguments may become known to machine code."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._table = self._tries = 0

    def _may_remember(self) -> bool:
        """Whether a call that Python has made may become known; the first of a process does not."""
        if self._tries >= self._most_tries:
            return False
        self._tries += 1
        return self._tries > 1 or is_loaded()

    def _remember(self, record: Record | None, cls: type) -> None:
        """Let machine code make calls that a record is for, of all objects of a class that have one."""
        if record is not None and not any(map(record.equals, self._records.values())):
            self._add(record)
            take_over(cls)

    def _add(self, record: Record) -> None:
        """Have a record, which machine code looks at first, once."""
        if record.address in self._records:
            return
        self._records[record.address] = record
        self._table = record.before(self._table)

    @located
    def _finish(self, record: int, words: bytes, *args: Any) -> Any:
        """What a call by machine code gives that has left these words."""
        finish = self._records[record].finish
        assert finish is not None
        return finish(words, args)


def take_over(cls: type) -> None:
    """Let machine code make the calls of all objects of a class that have records, if there is such code."""
    known = calls()
    if known is not None:
        known.take_over_once(cls)

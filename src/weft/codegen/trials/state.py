"""What trials keep between launches: words of a global variable, and code that reads and writes them.

A word is an ``i64``; those of times that pairs add up, of shares and of what is expected are floats (F64). All words
are 0 in the beginning, which means a trial, the model's choice, and nothing run so far.
"""

from __future__ import annotations

from enum import IntEnum

from weft.ir import Builder, Value
from weft.ir.builder import const_float, const_int
from weft.ir.types import F64, I64, Type


class Word(IntEnum):
    """Words of the state. Those of each version, of two, begin at `TIMES`, `GROUPS` and `SUMS`."""

    SETTLED = 0
    """Whether a version has been chosen, or is until the next pair, so that no trial goes on."""
    CHOSEN = 1
    """The version that runs what no trial does."""
    TURN = 2
    """The version whose piece is next, or goes on."""
    PIECE = 3
    """How many times the groups that belong together are a piece; 0 means 1."""
    TIMES = 4
    """Nanoseconds that each version has taken for its groups of a launch."""
    GROUPS = 6
    """How many groups of a launch each version has run."""
    SUMS = 8
    """Nanoseconds of each version for the same number of groups, of all launches of a pair (F64)."""
    SHARES = 10
    """What the shares of the pairs of a trial add up to (F64)."""
    COUNT = 11
    """Pairs of a trial, with the first."""
    LOST = 12
    """Nanoseconds that a trial has lost to the slower version (F64)."""
    LEFT = 13
    """Cycles until the next trial, or pair."""
    EXPECTED = 14
    """Cycles that a group took behind the last trial (F64); 0 means not known."""
    TRIALS = 15
    """Whether there has been a trial."""
    LAST = 16
    """Groups of the last launch that had several pieces."""
    WHOLE = 17
    """Whether that launch was compared as a whole."""
    LENGTH = 18
    """Nanoseconds that the last piece of a trial took."""
    KNOWN = 19
    """The shares of trials, half as much of each as of the one behind it (F64)."""
    KNOWN_PAIRS = 20
    """As many pairs (F64)."""


WORDS = len(Word) + 3
"""How many there are: three words have one for each version."""


class TrialState:
    """Code that reads and writes the state, where a builder stands."""

    __slots__ = ("_builder", "_place")

    def __init__(self, builder: Builder, place: Value) -> None:
        self._builder, self._place = builder, place

    def word(self, word: int, more: Value | None = None, type: Type = I64) -> Value:
        """A word, or of several the one that `more` says."""
        return self._builder.load(type, self._at(word, more), align=8)

    def number(self, word: int) -> Value:
        """A count as a float."""
        return self._builder.cast("uitofp", self.word(word), F64)

    def put(self, word: int, value: Value, more: Value | None = None) -> None:
        self._builder.store(value, self._at(word, more), align=8)

    def clear_launch(self) -> None:
        """Forget what both versions have run of a launch."""
        for word in (Word.TIMES, Word.GROUPS):
            for k in range(2):
                self.put(word + k, const_int(0))

    def clear_pair(self) -> None:
        """Forget what both versions have taken in a pair."""
        for k in range(2):
            self.put(Word.SUMS + k, const_float(0.0, F64))

    def _at(self, word: int, more: Value | None) -> Value:
        index: Value = const_int(word)
        if more is not None:
            index = self._builder.binary("add", index, more)
        return self._builder.gep(I64, self._place, (index,))

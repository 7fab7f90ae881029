"""Gating functions as decision diagrams.

A *gate* says which of several things happens to a thread, in terms of the decisions it meets on its way: `NEVER`
(Tu and Padua's ∅: not this way), a `Leaf` (one of the things), or a `Gamma`, a decision with a gate for each way to
go on. A decision is the terminator of a block, or a loop: over which of its exit edges the thread leaves it.

Gates are kept unique by a `GateTable` and so compared by identity; a decision that decides nothing is not there:
``γ(p, R, R) = R``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator

from msgspec import Struct, field

from weft.graph.loops import Loop

Edge = tuple[int, int]
Decision = int | Loop


class Leaf(Struct, frozen=True, eq=False):
    """The end of a decision: `outcome` happens."""

    outcome: Hashable


class Gamma(Struct, frozen=True, eq=False):
    """A decision, and for each edge over which it can be left the gate from there, in branch order."""

    decision: Decision
    arms: tuple[tuple[Edge, Gate], ...]


Gate = Leaf | Gamma

NEVER = Leaf("∅")
"""What happens happens to other threads only."""


class GateTable(Struct):
    """Makes gates, each only once, and computes with them."""

    _leaves: dict[Hashable, Leaf] = field(default_factory=dict)
    _gammas: dict[tuple[Decision, tuple[tuple[Edge, Gate], ...]], Gamma] = field(default_factory=dict)
    _thin: dict[Gate, Gate] = field(default_factory=dict)

    def leaf(self, outcome: Hashable) -> Leaf:
        found = self._leaves.get(outcome)
        if found is None:
            found = self._leaves[outcome] = Leaf(outcome)
        return found

    def gamma(self, decision: Decision, arms: Iterable[tuple[Edge, Gate]]) -> Gate:
        """A decision, unless all arms are the same."""
        arms = tuple(arms)
        first = arms[0][1]
        if all(gate is first for _, gate in arms):
            return first
        key = (decision, arms)
        found = self._gammas.get(key)
        if found is None:
            found = self._gammas[key] = Gamma(decision, arms)
        return found

    def thin(self, gate: Gate) -> Gate:
        """The gate among threads to which one of its outcomes happens: without arms that are `NEVER`.

        A decision is gone when but one arm is left, or when the others have become equal: the threads that are
        still there have all gone the same way, or it made no difference.
        """
        thin = self._thin
        for part in parts(gate, thin):
            if isinstance(part, Leaf):
                thin[part] = part
                continue
            arms = [(edge, thin[arm]) for edge, arm in part.arms]
            left = {arm for _, arm in arms if arm is not NEVER}
            thin[part] = left.pop() if len(left) == 1 else self.gamma(part.decision, arms)
        return thin[gate]

    def replace(self, gate: Gate, outcome: Callable[[Hashable], Gate]) -> Gate:
        """The gate with another gate for each outcome, and reduced again."""
        done: dict[Gate, Gate] = {NEVER: NEVER}
        for part in parts(gate, done):
            if isinstance(part, Leaf):
                done[part] = outcome(part.outcome)
            else:
                done[part] = self.gamma(part.decision, [(edge, done[arm]) for edge, arm in part.arms])
        return done[gate]


def parts(gate: Gate, known: Container[Gate] = ()) -> Iterator[Gate]:
    """Every gate within `gate` that is not `known`, each once, those within another before it."""
    seen: set[Gate] = set()
    work: list[tuple[Gate, bool]] = [(gate, False)]
    while work:
        part, ready = work.pop()
        if ready:
            yield part
        elif part not in seen and part not in known:
            seen.add(part)
            work.append((part, True))
            if isinstance(part, Gamma):
                work.extend((arm, False) for _, arm in reversed(part.arms))


def outcomes(gate: Gate) -> list[Hashable]:
    """Everything that may happen, in branch order."""
    return [part.outcome for part in parts(gate) if isinstance(part, Leaf) and part is not NEVER]

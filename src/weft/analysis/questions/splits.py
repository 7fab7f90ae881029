"""Loads whose threads would get their value from several inserted loads.

Above a join of arms the threads that ask for a value may be told apart by the arm they come from::

    loop:   if (p)  ...                  asks for the threads with p && c, and for those with c alone
            if (c)  x = a[i]

Each thread does one inserted load for the one it does no more. A lane group has threads of both kinds: it did one
load for all of them, and would do one for each kind if the inserted loads stand on different edges, or read different
places. Such loads are found here, to be left alone by the policies that promise no more issued loads
(Fukuhara and Takimoto, §5.2, ask for all threads at once).
"""

from __future__ import annotations

from weft.analysis.questions.graph import Asked, State
from weft.analysis.questions.solution import Solution
from weft.ir import BasicBlock, Instruction


def loads_served_twice(solution: Solution) -> set[Instruction]:
    """The loads that are replaced for which a lane group may do several inserted loads."""
    demanded = solution.demanded()
    inserted = _inserted(solution, demanded)
    split = {state for state in demanded if _is_split(state, inserted, solution)}
    if not split:
        return set()
    return {load for load in solution.replaced if not split.isdisjoint(solution.demanded((load,)))}


Inserted = dict[State, dict[BasicBlock, int]]
"""Per state and predecessor the inserted loads that the value may come from, a bit each."""


def _inserted(solution: Solution, states: list[State]) -> Inserted:
    """A least fixed point over the states: what is inserted for a state, or for those it asks."""
    bits: dict[object, int] = {}
    found: Inserted = {}
    users: dict[State, list[tuple[State, BasicBlock]]] = {}
    for state, insertions in solution.insertions(states).items():
        found[state] = {
            source: 1 << bits.setdefault(insertion, len(bits)) for source, insertion in insertions.items()
        }
        for source, answer in solution.graph.sources[state]:
            if source not in insertions and isinstance(answer, Asked):
                users.setdefault(answer.state, []).append((state, source))
    pending = [state for state in states if found[state]]
    while pending:
        state = pending.pop()
        value = _union(found[state])
        for user, source in users.get(state, ()):
            known = found[user].get(source, 0)
            if value | known != known:
                found[user][source] = value | known
                pending.append(user)
    return found


def _union(parts: dict[BasicBlock, int]) -> int:
    total = 0
    for part in parts.values():
        total |= part
    return total


def _is_split(state: State, inserted: Inserted, solution: Solution) -> bool:
    """Whether threads of one lane group that come by different edges have their values from different loads."""
    regions = solution.graph.regions
    return len(
        {
            bits for source, bits in inserted[state].items()
            if bits and not regions.edge_in_region(source, state.block)
        }
    ) > 1  # fmt: skip

"""Short loops that LLVM writes out, so that nothing is left of counting in them.

    for c in range(10):
        a[r, c] -= f * a[col, c]

An innermost loop whose rounds are known, as are those of the loops around it, is written out where all of them together
are short. Its counter is a number then, and places are constant distances from one. With more registers to a value the
rounds are longer: in wide lane groups the loop stays, and what all lanes share is computed once more in each round.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import counted_loop, known_iterations
from weft.graph.loops import Loop, LoopForest
from weft.ir.cfg_view import CFGView

LARGEST = 200
"""Instructions of all rounds. Eliminating in rows of ten doubles, five of a round and as many that lanes share, LLVM
writes out one register and two (80 and 160), and no longer four (260)."""


def loops_of_known_rounds(view: CFGView, loops: LoopForest) -> dict[int, int]:
    """How many rounds innermost loops have, by their headers, where that is known of them and of all loops around.

    Other loops around are searches and walks, in which threads wait for what they look up. Barnes-Hut, with its loop
    over four children, takes 1.2 times as long in half as many lanes (AVX2).
    """
    found: dict[int, int] = {}
    for loop in loops.loops:
        if loop.children:
            continue
        rounds = _known_rounds(view, loop)
        around = loop.parent
        while around is not None and rounds is not None:
            if _known_rounds(view, around) is None:
                rounds = None
            around = around.parent
        if rounds is not None:
            found[loop.header] = rounds
    return found


def _known_rounds(view: CFGView, loop: Loop) -> int | None:
    counted = counted_loop(view, loop)
    return None if isinstance(counted, str) else known_iterations(counted)

"""Loops that a compiler has unrolled, with what is left in code of its own, are one loop again.

`weft.transform.loops.unrolled.undo` is the transform; `sums` and `terms` say what its blocks compute, `shapes` finds
the loops, `counts` knows how often they run.
"""

"""What is said of a memory access by what widening made of it."""

from __future__ import annotations

MEMORY_REMARKS = {
    "gather": "this load is a gather: its addresses are not neighbours",
    "table": "this load looks bytes up in a table, which is held in registers",
    "scatter": "this store is a scatter: its addresses are not neighbours",
    "neighbours": "this {op} is a vector access where its addresses turn out to be neighbours, else lane by lane",
    "interleaved": "this {op} is made by wide accesses and shuffles, with its neighbours",
    "own rows": "this {op} is made in pieces of each lane's row, with its neighbours",
    "structures": "this {op} is made in pieces of its structures, with its neighbours",
    "runs": "this {op} is made by an access for each row of the threads that run together",
    "chunks": "this {op} is made in contiguous pieces, which are shuffled between memory and lanes",
    "tile ahead": "this {op} is of a row of the work-group's tile: the row of the next work-group is asked for ahead",
    "next places": "where this {op} may look next is asked for ahead, where that is far away",
    "read ahead": "this {op} is far from where it was an iteration before: what later ones load is asked for ahead",
    "combined": "lanes combine their values before this atomic operation on one address",
    "elements side by side": "this local array is laid out element by element across the lanes",
}

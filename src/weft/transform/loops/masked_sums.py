"""Sums and extrema of what a loop looks up run in lanes of LLVM's vectorizer, the last ones under a mask (AVX-512).

    for k: j = list[k]; total += a[j < 0 ? j + n : j]

Rows of sparse matrices and lists of neighbours have a few elements, each row another number of them. What is left over
behind four or eight iterations at a time runs one by one then, as often as not, and for how many times nobody foresees.
LLVM's vectorizer is told of eight lanes, of which the last ones do not run (``predicate``). Indices are asked for
their signs in lanes, in 32 bits where they and the number of elements have no more::

    sext j + (j < 0 ? n : 0)                                        sext (j + (j < 0 ? trunc n : 0))

Precondition: a loop-closed function of one thread, without predicates, shadows and guards. Postcondition: the same;
loops that `~weft.transform.loops.sums_in_fours.sums_of` finds, of floats and integers, are marked if they do nothing
that has no form in lanes. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.diag.source import SourceSpan
from weft.graph.loops import Loop, loop_forest
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import mark_masked
from weft.ir.types import F32, F64, I8, I16, I32, I64, IntType
from weft.transform.loops.folds import Fold
from weft.transform.loops.sums_in_fours import Sums, sums_of

LANES = 8
"""A register of doubles, half of one of floats. Measured on Emerald Rapids: rows of 3 to 150 floats took 1.0 to 1.6
times as long in 16."""

_ONE_BY_ONE = frozenset(("udiv", "sdiv", "urem", "srem", "frem"))
_OF_FLOATS = "fabs", "sqrt", "fma", "fmuladd", "minnum", "maxnum"
_OF_INTEGERS = "smin", "smax", "umin", "umax", "abs"
_IN_LANES = tuple(f"llvm.{name}." for name in (*_OF_FLOATS, *_OF_INTEGERS))


def add_under_masks(function: Function, spared: Callable[[Loop, CFGView], bool]) -> list[SourceSpan | None]:
    """Mark such loops, but for those that are `spared`; where they are."""
    view = cfg_of(function)
    made: list[SourceSpan | None] = []
    for loop in loop_forest(view.cfg).loops:
        found = None if spared(loop, view) else sums_of(loop, view, integers=True)
        if found is None or not has_lanes(found):
            continue
        ranges = ranges_of(function, view)
        for question, number in found.questions.items():
            _ask_in_short(question, number, ranges)
        mark_masked(found.loop.latch.terminator, LANES)
        made.append(span_of(found.loop.header.terminator))
    return made


def has_lanes(found: Sums) -> bool:
    """Whether LLVM's vectorizer takes the loop: of what it is to vectorize, and does not, it tells the user."""
    inside = set(found.loop.blocks)
    if any(user.block not in inside for user in found.loop.counter.phi.instruction_users()):
        return False
    if not all(map(_is_known, found.sums)):
        return False
    return all(is_in_lanes(i) for block in found.loop.blocks for i in block.instructions)


def is_in_lanes(i: Instruction) -> bool:
    """Whether LLVM has lanes of what an instruction does."""
    return i.op not in _ONE_BY_ONE and (i.op != "call" or (i.callee_name or "").startswith(_IN_LANES))


def _is_known(one: Fold) -> bool:
    """Whether LLVM knows a fold: integers of usual lengths, floats with all promises where they are chosen."""
    type, chosen = one.phi.type, one.result
    if isinstance(type, IntType):
        return type in (I8, I16, I32, I64)
    free = chosen.op != "select" or "fast" in chosen.flags or {"nnan", "nsz"} <= set(chosen.flags)
    return type in (F32, F64) and free


def _ask_in_short(question: Instruction, number: Value, ranges: Ranges) -> None:
    """Compute places in 32 bits, where what is added to negative indices has no more."""
    if isinstance(number, Instruction) and number.op == "sext":
        number = number.operands[0]
    if number.type is not I32:
        return
    for chosen in list(question.instruction_users()):
        if chosen.op != "select" or chosen.type is not I64 or chosen.operands[0] is not question:
            continue
        more, nothing = chosen.operands[1:]
        assert chosen.block is not None
        known = ranges.at(more, chosen.block)
        if nothing != const_int(0) or known is None or known.lo < 0 or known.hi >= 1 << 31:
            continue
        for place, base in _places(chosen, number):
            builder = Builder(before=place)
            builder.loc = place.loc
            few = builder.select(question, builder.cast("trunc", more, I32), const_int(0, I32))
            index: Value = builder.cast("sext", builder.binary("add", number, few, ("nsw",)), I64)
            if base is not None:
                index = builder.gep(place.source_type, base, (index,))
            place.replace_all_uses(index)
            place.erase()


def _places(chosen: Instruction, number: Value) -> list[tuple[Instruction, Value | None]]:
    """What is `number` behind what is chosen: sums, and places behind such a place, with what both lead from."""
    found: list[tuple[Instruction, Value | None]] = []
    for user in chosen.instruction_users():
        if user.op == "add" and any(_is_long(v, number) for v in user.operands):
            found.append((user, None))
        elif user.op == "getelementptr" and list(user.operands[1:]) == [chosen]:
            found += [
                (place, user.operands[0])
                for place in user.instruction_users()
                if place.op == "getelementptr"
                and place.operands[0] is user
                and place.source_type == user.source_type
                and len(place.operands) == 2
                and _is_long(place.operands[1], number)
            ]
    return found


def _is_long(value: Value, number: Value) -> bool:
    return isinstance(value, Instruction) and value.op == "sext" and value.operands[0] is number
